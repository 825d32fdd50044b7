"""Idempotency keys: a request that is sent again with the key it had is answered again, not done again."""

import hashlib
import inspect
import re
import time
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, Final

import msgspec

from headgate.doors.iceberg import errors
from headgate.doors.iceberg.errors import Unprocessable
from headgate.doors.routing import Answer, DoorCall, Handler
from headgate.model.errors import HeadgateError, IllegalArgument, Unavailable
from headgate.model.records import KeptAnswer

LIFETIME: Final = timedelta(minutes=30)
UNDER_WAY: Final = timedelta(seconds=60)
"""How long a request may take before its key is free again, as it is after the process that did it was killed."""
PATIENCE: Final = 30.0
"""Seconds that a request waits for the answer of the same one sent before."""
_FAILED: Final = 400
_NOT_KEPT: Final = frozenset({401, 403, 404})
"""Refusals are of their moment: nothing was done, and who is permitted later may send the request again."""

_KEY: Final = re.compile(r"[\w\-.:]{8,128}", re.ASCII)


Replay = Callable[[DoorCall, bool], Any]
"""How a request that is sent again is answered: asks today's permits for all that it does, and answers what today's
caller would get. The second argument tells whether it was done; if it failed, only the permits matter."""


def once(replay: Replay) -> Callable[[Handler], Handler]:
    """Do what a request asks once for each idempotency key, whichever process it is sent to.

    INVARIANT: a key is good for the caller it was made for, on the same route, for the same body. What is kept is that
    it was done, or how it failed: no metadata, no credential. Who sends it again gets what they may get today.
    """
    # INVARIANT: a handler that is done once and does not say how it is replayed does not start.
    if not callable(replay) or len(inspect.signature(replay).parameters) != 2:
        raise TypeError(f"{getattr(replay, '__name__', replay)} is done once, but has no replay")

    def decorate(handler: Handler) -> Handler:
        @wraps(handler)
        def idempotent(call: DoorCall) -> Answer:
            key = call.headers.get("idempotency-key")
            if key is None:
                return _answer(handler, call)
            name = _name(call, handler.__name__, key)
            while (kept := _kept(call, name)) is None:
                if call.steward.repeats.begin(name, _request(call), UNDER_WAY):
                    return _first(handler, call, name)
            return _replayed(kept, replay(call, kept.status < _FAILED))

        return idempotent

    return decorate


def permitted(call: DoorCall, done: bool) -> None:
    """The replay of a request whose route asks for all that it does, and whose answer has no body."""


def done_before(handler: str) -> Callable[[DoorCall], Answer | None]:
    """For what is gone: the answer to the request that dropped it, if this is the same one sent again.

    Asked only for a caller who would be permitted to drop it if it were still there.
    """

    def find(call: DoorCall) -> Answer | None:
        key = call.headers.get("idempotency-key")
        kept = None if key is None else _kept(call, _name(call, handler, key))
        return None if kept is None else _replayed(kept, None)

    return find


def _name(call: DoorCall, handler: str, key: str) -> str:
    if not _KEY.fullmatch(key):
        raise IllegalArgument("the Idempotency-Key cannot be used", hint="send a UUID")
    return _digest(call.caller.user, handler, repr(sorted(call.params.items())), key)


def _request(call: DoorCall) -> str:
    return _digest(call.raw, repr(sorted(call.query.items())))


def _kept(call: DoorCall, name: str) -> KeptAnswer | None:
    """What came of it before; a request that is under way is waited for."""
    deadline = time.monotonic() + PATIENCE
    while (kept := call.steward.repeats.find(name)) is not None:
        if kept.request != _request(call):
            raise Unprocessable(
                "the Idempotency-Key was used for another request", hint="take a new key for a new request"
            )
        if not call.steward.repeats.is_under_way(kept):
            return kept
        if time.monotonic() > deadline:
            raise Unavailable("the same request is still under way", hint="retry in a moment")
        time.sleep(0.02)
    return None


def _replayed(kept: KeptAnswer, body: Any) -> Answer:
    answer = kept.body or None if kept.status >= _FAILED else body
    return Answer(answer, kept.status, {"Idempotency-Replayed": "true"})


def _first(handler: Handler, call: DoorCall, name: str) -> Answer:
    repeats, kept = call.steward.repeats, False
    try:
        failure = b""
        try:
            answer = _answer(handler, call)
        except HeadgateError as error:
            answer = errors.error(error)
            if answer.status in _NOT_KEPT or answer.status >= 500:
                raise
            failure = msgspec.json.encode(answer.body)
        repeats.keep(name, KeptAnswer(_request(call), answer.status, failure), LIFETIME)
        kept = True
        return answer
    finally:
        if not kept:
            repeats.give_up(name)


def _answer(handler: Handler, call: DoorCall) -> Answer:
    result = handler(call)
    return result if isinstance(result, Answer) else Answer(result)


def _digest(*parts: str | bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()
