"""Ids for the columns of tables whose system gives none: kept by Headgate, so that tags and policies outlive a rename.

A name that stays keeps its id. One column that took the place of one other was renamed. Where more than that has changed
at once nobody can tell which column became which: the table counts as made again, and what was said of a name that is
gone denies until an owner takes it off.
"""

import itertools
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headgate.catalogs.iceberg.describing.known_columns import known_columns
from headgate.catalogs.iceberg.describing.types import to_iceberg
from headgate.model import tables as t
from headgate.model.errors import IllegalArgument
from headgate.model.past import NOTHING_BEFORE, KnownColumn, Past

Json = dict[str, Any]

_NARROW = {"byte": "int", "short": "int"}


class _Ambiguous(Exception):
    """It cannot be told which column became which."""


def numbered(
    columns: Sequence[t.TableColumn], past: Past, made: str, kept: Mapping[str, int] | None = None
) -> tuple[Json, int, str]:
    """An Iceberg schema of these columns, the highest id ever given, and the uuid of the table.

    `made` tells a table from a later one of its name. `kept` has the ids of columns, if it is known which is which.
    """
    if past.uuid.startswith(f"{made}."):
        try:
            return (*_schema(columns, past, kept), past.uuid)
        except _Ambiguous:
            pass
    return (*_schema(columns, NOTHING_BEFORE, None), f"{made}.{uuid.uuid4().hex[:16]}")


def numbered_document(schema: Json, last: int) -> Json:
    """What of an Iceberg document policies need: the columns, and the highest id ever given."""
    return {"schemas": [schema], "current-schema-id": 0, "last-column-id": last}


def numbered_columns(schema: Json, last: int) -> tuple[KnownColumn, ...]:
    """The columns of such a schema, as they are kept in mind."""
    return known_columns(numbered_document(schema, last))[0]


def _schema(columns: Sequence[t.TableColumn], past: Past, kept: Mapping[str, int] | None) -> tuple[Json, int]:
    given = itertools.count(past.last + 1)
    highest = past.last

    def fresh() -> int:
        nonlocal highest
        highest = next(given)
        return highest

    names = [column.name for column in columns]
    if len(set(names)) != len(names):
        raise IllegalArgument("the table uses a column name twice")
    ids = _ids(names, 0, past, fresh) if kept is None else _taken(names, kept, fresh)
    fields = [
        {
            "id": ids[column.name],
            "name": column.name,
            "required": not column.nullable,
            "type": _type(column.type, ids[column.name], past, fresh),
        }
        for column in columns
    ]
    return {"type": "struct", "schema-id": 0, "fields": fields}, highest


def _taken(names: Sequence[str], kept: Mapping[str, int], fresh: Callable[[], int]) -> dict[str, int]:
    return {name: kept[name] if name in kept else fresh() for name in names}


def _ids(names: Sequence[str], above: int, past: Past, fresh: Callable[[], int]) -> dict[str, int]:
    """The ids of the fields in one field; 0 is the table itself."""
    here = [column for column in past.columns if column.above == above]
    present = {column.path[-1]: column.id for column in here if column.present}
    found = {name: present[name] for name in names if name in present}
    gone = {name: id for name, id in present.items() if name not in found}
    new = [name for name in names if name not in found]
    for name in new:
        # What had this name before and goes by no other any more has got it back, or was announced to get it.
        back = [c.id for c in here if c.path[-1] == name and c.id in gone.values()]
        if back:
            found[name] = back[-1]
    left = {name: id for name, id in gone.items() if id not in found.values()}
    rest = [name for name in new if name not in found]
    if left and new:
        places = list(present)
        if len(gone) != 1 or len(new) != 1 or places.index(next(iter(gone))) != list(names).index(new[0]):
            raise _Ambiguous
        found[rest[0]] = next(iter(left.values()))
        rest = []
    for name in rest:
        once = [c.id for c in here if c.path[-1] == name and c.id not in found.values()]
        found[name] = once[-1] if once else fresh()
    return found


def _type(type: t.DataType, id: int, past: Past, fresh: Callable[[], int]) -> Any:
    """A type in Iceberg's words, for policies; a type that Iceberg lacks is unknown to them."""
    match type:
        case t.StructDataType(fields):
            ids = _ids([field.name for field in fields], id, past, fresh)
            return {
                "type": "struct",
                "fields": [
                    {
                        "id": ids[field.name],
                        "name": field.name,
                        "required": not field.nullable,
                        "type": _type(field.type, ids[field.name], past, fresh),
                    }
                    for field in fields
                ],
            }
        case t.ListDataType(element, contains_null):
            ids = _ids(["element"], id, past, fresh)
            inner = _type(element, ids["element"], past, fresh)
            return {
                "type": "list",
                "element-id": ids["element"],
                "element": inner,
                "element-required": not contains_null,
            }
        case t.MapDataType(key, value, contains_null):
            ids = _ids(["key", "value"], id, past, fresh)
            return {
                "type": "map",
                "key-id": ids["key"],
                "key": _type(key, ids["key"], past, fresh),
                "value-id": ids["value"],
                "value": _type(value, ids["value"], past, fresh),
                "value-required": not contains_null,
            }
        case str():
            return _primitive(type)
    return "unknown"


def _primitive(text: str) -> str:
    word = text.strip().lower()
    if word.startswith("char("):
        return "string"
    try:
        return _NARROW.get(word) or str(to_iceberg(text, lambda: 0))
    except IllegalArgument:
        return "unknown"
