"""Lists of another system, page by page: bounded in names, pages, size and time, whatever it answers."""

import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from headgate.catalogs.openings import RAISE_LARGEST
from headgate.model.errors import Damaged

MOST_NAMES: Final = 100_000
"""What one list may hold: each gets a row here."""
_MOST_PAGES: Final = 10_000
_LONGEST: Final = 60.0
"""Seconds that all pages of a list may take."""
MOST_EMPTY: Final = 10
"""Pages of a list without any name, one after the other."""

Ask = Callable[[str], tuple[list[Any], str | None]]
"""Asks for the page of a token, "" for the first: what it lists, and the token of the next one if there is any."""


def every(ask: Ask, named: str, largest: int, *, most_empty: int = MOST_EMPTY) -> list[Any]:
    """All pages of a list; together they are no larger than one answer may be."""
    found: list[Any] = []
    tokens: set[str] = set()
    token: str | None = ""
    pages = empty = size = 0
    ends = time.monotonic() + _LONGEST
    while token is not None:
        listed, token = ask(token)
        found += listed
        size += len(msgspec.json.encode(listed, enc_hook=str))
        pages, empty = pages + 1, 0 if listed else empty + 1
        if len(found) > MOST_NAMES:
            raise Damaged(
                f"{named} lists more than {MOST_NAMES} names in one place",
                hint="spread them over several schemas there",
            )
        if size > largest:
            raise Damaged(f"{named} lists more than {largest // (1024 * 1024)} MiB", hint=RAISE_LARGEST)
        if pages > _MOST_PAGES or empty > most_empty or token in tokens or time.monotonic() > ends:
            raise Damaged(f"the list of {named} has no end")
        if token is not None:
            tokens.add(token)
    return found
