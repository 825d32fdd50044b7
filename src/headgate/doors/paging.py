"""Lists in parts: the same way for every door."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

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
    if not size.isdigit() or not 1 <= int(size) <= MOST:
        raise IllegalArgument(f"the size of a page must be a number from 1 to {MOST}")
    rest: Sequence[T] = items
    if token:
        try:
            after = base64.urlsafe_b64decode(token.encode()).decode()
        except (binascii.Error, ValueError):
            raise IllegalArgument("the page token is not one this server gave") from None
        rest = [item for item in items if key(item) > after]
    given = list(rest[: int(size)])
    more = len(rest) > len(given)
    return given, base64.urlsafe_b64encode(key(given[-1]).encode()).decode() if more else None
