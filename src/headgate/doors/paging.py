"""Lists in parts: the same way for every door."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from headgate.doors.arrival import number
from headgate.model.errors import IllegalArgument

T = TypeVar("T")

MOST: Final = 10_000


def page(
    items: Sequence[T], key: Callable[[T], str], size: str, token: str | None
) -> tuple[list[T], str | None]:
    """The part of a list after `token`, and the token of the next part.

    `items` are sorted by `key`. The token names the last entry given, so entries that come or go in between neither
    repeat nor skip others.
    """
    most = number(size, "the size of a page", MOST)
    if most == 0:
        raise IllegalArgument("the size of a page must be at least 1")
    rest: Sequence[T] = items
    if token:
        try:
            after = base64.urlsafe_b64decode(token.encode()).decode()
        except (binascii.Error, ValueError):
            raise IllegalArgument("the page token is not one this server gave") from None
        rest = [item for item in items if key(item) > after]
    given = list(rest[:most])
    more = len(rest) > len(given)
    return given, base64.urlsafe_b64encode(key(given[-1]).encode()).decode() if more else None
