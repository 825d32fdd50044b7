"""The ways in which a restricted view can be enforced, as a catalog's properties name them."""

from typing import Final

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

MATERIALISE: Final = "materialise"
DELEGATE: Final = "delegate"
REFUSE: Final = "refuse"
PROPERTY: Final = "headgate.enforce"
"""On a catalog: what is done for those who see only a part of a table."""
ORIGINALS: Final = "headgate.originals"
"""On a catalog: which files of the table itself are named to readers: those whose partition proves that every row may be
seen, also those whose statistics prove it, or none. By statistics, readers learn which files hold hidden rows."""
NAME: Final = "name"
COPY: Final = "copy"
LAZY: Final = "headgate.lazy"
"""On a catalog: by what a reader's filter chooses which copies are made for it, if not all are there yet."""
PARTITIONS: Final = "partitions"
STATISTICS: Final = "statistics"
OFF: Final = "off"
TRUSTED: Final = "headgate.trusted-engines"
"""On a metalake: the users that `delegate` means, separated by commas."""


_KNOWN: Final = {
    PROPERTY: (MATERIALISE, DELEGATE, REFUSE),
    ORIGINALS: (NAME, STATISTICS, COPY),
    LAZY: (PARTITIONS, STATISTICS, OFF),
}
"""What each may be; the first is meant where nothing is said."""


_TELLS_LEAST: Final = {ORIGINALS: (COPY, NAME, STATISTICS), LAZY: (OFF, PARTITIONS, STATISTICS)}
"""The values of what decides how much readers may learn of the rest of a table, the most careful first."""


def tells_more(before: dict[str, str], after: dict[str, str]) -> bool:
    """Whether readers of a part could learn more of the rest than before. Restricted readers do not choose that."""

    def rank(key: str, properties: dict[str, str]) -> int:
        order = _TELLS_LEAST[key]
        mode = properties.get(key, _KNOWN[key][0])
        return order.index(mode) if mode in order else 0

    return any(rank(key, after) > rank(key, before) for key in _TELLS_LEAST)


def check_mode(properties: dict[str, str]) -> None:
    """Refuse a catalog that asks for what nobody knows to do."""
    for key, known in _KNOWN.items():
        mode = properties.get(key, known[0])
        if mode not in known:
            raise IllegalArgument(f"'{key}' is '{clip(mode)}'", hint=f"use {' or '.join(known)}")
