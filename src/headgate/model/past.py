"""What is known of a table's columns besides what its document tells: other servers forget, or make a table again."""

import msgspec

Path = tuple[str, ...]


class KnownColumn(msgspec.Struct, frozen=True, array_like=True):
    """A column, or the field of a struct, list or map, under a name that it has or had."""

    id: int
    above: int
    """The field it lies in; 0 for the table itself."""
    path: Path
    present: bool
    """Whether it was there when the table was last seen."""


class ReplacedColumn(msgspec.Struct, frozen=True):
    """A column of a table that had this name before and was another one."""

    id: int
    """INVARIANT: below zero, so that it is no field id of any table."""
    path: Path
    present: bool
    """Whether the table still had it when it was replaced."""


class Past(msgspec.Struct, frozen=True):
    """Empty for tables that are kept here: their documents tell everything."""

    columns: tuple[KnownColumn, ...] = ()
    last: int = 0
    """The highest field id that was ever seen."""
    replaced: tuple[ReplacedColumn, ...] = ()
    uuid: str = ""
    """The table that is known under this name now."""
    version: int = 0


NOTHING_BEFORE = Past()
