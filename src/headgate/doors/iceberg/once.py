"""Idempotency keys: a request that is sent again with the key it had is answered again, not done again."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

LIFETIME: Final = timedelta(minutes=30)
LARGEST: Final = 8 * 1024 * 1024
"""Larger answers are not kept: the request would be done again, and fail where its requirements no longer hold."""

_KEY: Final = re.compile(r"[\w\-.:]{8,128}", re.ASCII)

_busy: set[str] = set()
_turn: Final = threading.Condition()


def once(handler: Handler) -> Handler:
    """Do what a request asks once for each idempotency key.

    INVARIANT: an answer is only given again to the caller it was made for, on the same route, for the same body, and
    only after the caller was permitted again.
    """

    @wraps(handler)
    def idempotent(call: Call) -> Answer:
        key = call.headers.get("idempotency-key")
        if key is None:
            return _answer(handler, call)
        name = _name(call, handler.__name__, key)
        with _alone(name):
            return _again(call, name) or _first(handler, call, name)

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
    kept = answers.find(call.steward.kernel.store, name)
    if kept is None:
        return None
    if kept.request != _request(call):
        raise Unprocessable(
            "the Idempotency-Key was used for another request", hint="take a new key for a new request"
        )
    return Answer(kept.body or None, kept.status, {"Idempotency-Replayed": "true"})


def _first(handler: Handler, call: Call, name: str) -> Answer:
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
        ends = (datetime.now(UTC) + LIFETIME).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        answers.keep(call.steward.kernel.store, name, KeptAnswer(_request(call), answer.status, body), ends)
    return Answer(body or None, answer.status, answer.headers)


def _answer(handler: Handler, call: Call) -> Answer:
    result = handler(call)
    return result if isinstance(result, Answer) else Answer(result)


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Let one request of a key at a time: the second waits for the answer of the first."""
    with _turn:
        if not _turn.wait_for(lambda: name not in _busy, timeout=30):
            raise Unavailable("the same request is still under way", hint="retry in a moment")
        _busy.add(name)
    try:
        yield
    finally:
        with _turn:
            _busy.discard(name)
            _turn.notify_all()


def _digest(*parts: str | bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()
