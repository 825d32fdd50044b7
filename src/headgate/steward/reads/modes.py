"""The ways in which a restricted view can be enforced, as a catalog's properties name them."""

from typing import Final

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip


class CatalogMode(msgspec.Struct, frozen=True):
    """A property of a catalog that decides how much readers of a part may learn of the rest.

    INVARIANT: a mode is its ranking: there is none whose values are not in order, and none that `tells_more` leaves out.
    """

    property: str
    ranked: tuple[str, ...]
    """All values, the most careful first."""
    default: str
    """What is meant where nothing is said."""

    def __post_init__(self) -> None:
        if self.default not in self.ranked or len(set(self.ranked)) != len(self.ranked):
            raise ValueError(f"{self.property}: rank every value once, the default included")

    def rank(self, properties: dict[str, str]) -> int:
        """How much is told. A value that nobody knows counts as telling nothing, so that any other tells more."""
        value = properties.get(self.property, self.default)
        return self.ranked.index(value) if value in self.ranked else -1


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

MODES: Final = (
    # Whoever the metalake names as an engine gets the table itself from a catalog that delegates.
    CatalogMode(PROPERTY, (REFUSE, MATERIALISE, DELEGATE), MATERIALISE),
    CatalogMode(ORIGINALS, (COPY, NAME, STATISTICS), NAME),
    CatalogMode(LAZY, (OFF, PARTITIONS, STATISTICS), PARTITIONS),
)


def tells_more(before: dict[str, str], after: dict[str, str]) -> bool:
    """Whether readers of a part could learn more of the rest than before. Who sees a part does not choose that."""
    return any(mode.rank(after) > mode.rank(before) for mode in MODES)


def check_mode(properties: dict[str, str]) -> None:
    """Refuse a catalog that asks for what nobody knows to do."""
    for mode in MODES:
        value = properties.get(mode.property, mode.default)
        if value not in mode.ranked:
            raise IllegalArgument(
                f"'{mode.property}' is '{clip(value)}'", hint=f"use {' or '.join(mode.ranked)}"
            )


_OF_METALAKES: Final = frozenset({TRUSTED})
"""Properties of metalakes, which are for those who may change every policy."""

_unranked = {
    value
    for name, value in list(globals().items())
    if name.isupper() and isinstance(value, str) and value.startswith("headgate.")
} - {*_OF_METALAKES, *(mode.property for mode in MODES)}
if _unranked:
    raise ImportError(f"rank the values of {', '.join(sorted(_unranked))} among the modes")
