"""Schema evolution as Iceberg's specification allows it: a field id means one column for ever, and types only widen."""

from collections.abc import Mapping, Sequence
from typing import Final

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip
from headgate.model.schema import (
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    TIMESTAMP,
    TIMESTAMP_NS,
    UNKNOWN,
    DecimalType,
    ListType,
    Located,
    MapType,
    Schema,
    StructType,
    Type,
)

_WIDER: Final = {(INT, LONG), (FLOAT, DOUBLE)}
_WIDER_SINCE_3: Final = {(DATE, TIMESTAMP), (DATE, TIMESTAMP_NS)}
_DATES_STAY: Final = frozenset({"year", "month", "day", "void"})
"""Transforms that give the same for a date and for the timestamp it becomes."""


def ids_are_kept(after: Schema, known: Sequence[Schema], last: int) -> None:
    """Refuse a field id that belonged to another column; `last` is the highest id that was ever given."""
    ever: dict[int, set[tuple[int | None, str]]] = {}
    for schema in known:
        for located in schema.walk():
            ever.setdefault(located.field.id, set()).add(_place(located))
    current = known[-1].by_id if known else {}
    for located in after.walk():
        id = located.field.id
        if id not in ever:
            if id <= last:
                raise IllegalArgument(
                    f"field id {id} was used before", hint=f"give new columns ids above {last}"
                )
        elif id not in current and _place(located) not in ever[id]:
            raise IllegalArgument(f"field id {id} belonged to another column", hint="give it a new id")


def rows_stay_readable(
    before: Schema, known: Sequence[Schema], after: Schema, version: int, layouts: Mapping[int, set[str]]
) -> None:
    """Refuse a schema that does not fit the rows that are there.

    `layouts` has the transforms of partition fields by the column they are made from.
    """
    for located in after.walk():
        field = located.field
        was = before.find(field.id) or _latest(known, field.id)
        name = clip(".".join(located.path))
        if was is None:
            new_here = len(located.ids) < 2 or before.find(located.ids[-2]) is not None
            if field.required and field.initial_default is None and new_here and located.inside is None:
                raise IllegalArgument(
                    f"new column '{name}' is required, but the rows that are there have no value for it",
                    hint="make it optional, or give it an initial-default",
                )
            continue
        if was.ids[:-1] != located.ids[:-1]:
            raise IllegalArgument(f"column '{name}' cannot move into or out of another")
        if not promotes(was.field.type, field.type, version):
            raise IllegalArgument(
                f"column '{name}' cannot change from {_word(was.field.type)} to {_word(field.type)}",
                hint="types only widen",
            )
        if was.field.type == DATE != field.type and not layouts.get(field.id, set()) <= _DATES_STAY:
            raise IllegalArgument(f"column '{name}' partitions the table and cannot change its type")
        if field.required and not was.field.required and before.find(field.id) is not None:
            raise IllegalArgument(f"column '{name}' cannot become required, as rows may lack it")


def promotes(before: Type, after: Type, version: int) -> bool:
    """Whether a type may become the other. Nested types stay what they are; their fields are compared by themselves."""
    nested = (StructType, ListType, MapType)
    if isinstance(before, nested) or isinstance(after, nested):
        return type(before) is type(after) or (version >= 3 and before == UNKNOWN)
    if before == after or (before, after) in _WIDER:
        return True
    if version >= 3 and (before == UNKNOWN or (before, after) in _WIDER_SINCE_3):
        return True
    if isinstance(before, DecimalType) and isinstance(after, DecimalType):
        return before.scale == after.scale and before.precision <= after.precision
    return False


def _latest(known: Sequence[Schema], id: int) -> Located | None:
    return next((found for schema in reversed(known) if (found := schema.find(id)) is not None), None)


def _place(located: Located) -> tuple[int | None, str]:
    return (located.ids[-2] if len(located.ids) > 1 else None), located.field.name


def _word(type: Type) -> str:
    match type:
        case StructType():
            return "a struct"
        case ListType():
            return "a list"
        case MapType():
            return "a map"
    return clip(str(type), 40)
