"""Idempotency keys: a request that is sent again with the key it had is answered again, not done again."""

import hashlib
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Final

import msgspec

from headgate.doors.iceberg import errors
from headgate.doors.iceberg.errors import Unprocessable
from headgate.doors.routing import Answer, Call, Handler
from headgate.model.errors import HeadgateError, IllegalArgument, Unavailable
from headgate.store import answers
from headgate.store.answers import KeptAnswer
from headgate.store.database import stored_time

LIFETIME: Final = timedelta(minutes=30)
UNDER_WAY: Final = timedelta(seconds=60)
"""How long a request may take before its key is free again, as it is after the process that did it was killed."""
PATIENCE: Final = 30.0
"""Seconds that a request waits for the answer of the same one sent before."""
LARGEST: Final = 8 * 1024 * 1024
"""Larger answers are not kept: the request would be done again, and fail where its requirements no longer hold."""

_KEY: Final = re.compile(r"[\w\-.:]{8,128}", re.ASCII)


def once(handler: Handler) -> Handler:
    """Do what a request asks once for each idempotency key, whichever process it is sent to.

    INVARIANT: an answer is only given again to the caller it was made for, on the same route, for the same body, and
    only after the caller was permitted again.
    """

    @wraps(handler)
    def idempotent(call: Call) -> Answer:
        key = call.headers.get("idempotency-key")
        if key is None:
            return _answer(handler, call)
        name = _name(call, handler.__name__, key)
        while (again := _again(call, name)) is None:
            if answers.begin(call.steward.kernel.store, name, _request(call), _from_now(UNDER_WAY)):
                return _first(handler, call, name)
        return again

    return idempotent


def done_before(handler: str) -> Callable[[Call], Answer | None]:
    """For what is gone: the answer to the request that dropped it, if this is the same one sent again."""

    def find(call: Call) -> Answer | None:
        key = call.headers.get("idempotency-key")
        return None if key is None else _again(call, _name(call, handler, key))

    return find


def _name(call: Call, handler: str, key: str) -> str:
    if not _KEY.fullmatch(key):
        raise IllegalArgument("the Idempotency-Key cannot be used", hint="send a UUID")
    return _digest(call.caller.user, handler, repr(sorted(call.params.items())), key)


def _request(call: Call) -> str:
    return _digest(call.raw, repr(sorted(call.query.items())))


def _again(call: Call, name: str) -> Answer | None:
    """What was answered before; an answer that is under way is waited for."""
    deadline = time.monotonic() + PATIENCE
    while (kept := answers.find(call.steward.kernel.store, name)) is not None:
        if kept.request != _request(call):
            raise Unprocessable(
                "the Idempotency-Key was used for another request", hint="take a new key for a new request"
            )
        if kept.status != answers.UNDER_WAY:
            return Answer(kept.body or None, kept.status, {"Idempotency-Replayed": "true"})
        if time.monotonic() > deadline:
            raise Unavailable("the same request is still under way", hint="retry in a moment")
        time.sleep(0.02)
    return None


def _first(handler: Handler, call: Call, name: str) -> Answer:
    store, kept = call.steward.kernel.store, False
    try:
        try:
            answer = _answer(handler, call)
        except HeadgateError as error:
            answer = errors.error(error)
            if answer.status >= 500:
                raise
        body = b"" if answer.body is None else answer.body
        if not isinstance(body, bytes):
            body = msgspec.json.encode(body)
        if len(body) <= LARGEST:
            answers.keep(store, name, KeptAnswer(_request(call), answer.status, body), _from_now(LIFETIME))
            kept = True
        return Answer(body or None, answer.status, answer.headers)
    finally:
        if not kept:
            answers.give_up(store, name)


def _from_now(span: timedelta) -> str:
    return stored_time(datetime.now(UTC) + span)


def _answer(handler: Handler, call: Call) -> Answer:
    result = handler(call)
    return result if isinstance(result, Answer) else Answer(result)


def _digest(*parts: str | bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()
