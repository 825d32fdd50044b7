"""What arrives with a request, before any door looks at it: headers that mean one thing, a body of bounded size."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from headgate.model.errors import IllegalArgument

Receive = Callable[[], Awaitable[dict[str, Any]]]

SMALL_BODY: Final = 64 * 1024
"""Bytes of a body that are read before the caller has proved who they are."""
MAX_BODY: Final = 16 * 1024 * 1024

_SINGLE: Final = frozenset(
    {
        "authorization",
        "content-length",
        "content-type",
        "filesetdataoperation",
        "host",
        "idempotency-key",
        "transfer-encoding",
        "x-client-version",
        "x-gravitino-active-roles",
    }
)
_OURS: Final = "headgate-"


def headers_of(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers by name in lower case.

    INVARIANT: a header that says who calls or what they mean is there once; of two, a proxy might look at the other one
    than Headgate does. Lists that were sent in several lines are put together.
    """
    found: dict[str, str] = {}
    for name, value in raw:
        key = name.decode("latin-1").lower()
        if key not in found:
            found[key] = value.decode("latin-1")
        elif key in _SINGLE or key.startswith(_OURS):
            raise IllegalArgument(f"the request has the header '{key}' more than once", hint="send it once")
        else:
            found[key] += ", " + value.decode("latin-1")
    return found


def number(text: str, what: str, most: int = 10**18) -> int:
    """A number that a client wrote, in plain digits."""
    if not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) > most:
        raise IllegalArgument(f"{what} must be a number up to {most}")
    return int(text)


class Body:
    """The body of one request, read no further than it is asked for."""

    def __init__(self, headers: dict[str, str], receive: Receive) -> None:
        self._receive = receive
        self._parts: list[bytes] = []
        self._total = 0
        self._chunked = "transfer-encoding" in headers
        length = headers.get("content-length")
        self._declared = 0 if length is None else number(length, "header Content-Length")
        self._ended = False

    async def read(self, most: int) -> bytes | None:
        """All of it; or None if it is larger than `most`, and then it can be asked for again with a larger one."""
        if self._declared > most:
            return None
        while not self._ended:
            if self._total > most:
                return None
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise IllegalArgument("the client went away")
            part = message.get("body", b"")
            self._total += len(part)
            self._parts.append(part)
            self._ended = not message.get("more_body")
        return b"".join(self._parts) if self._total <= most else None

    @property
    def left(self) -> bool:
        """Whether so much of it may be left on the connection that the connection is of no more use."""
        return not self._ended and (self._chunked or self._declared > SMALL_BODY)


def too_large(most: int) -> IllegalArgument:
    return IllegalArgument(f"the request body is larger than {most} bytes", hint="send less at once")
