"""The columns of a table that can hold personal data: texts and whole numbers at any depth, each as Spark SQL."""

import itertools
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

MOST_ELEMENTS: Final = 20
"""So many elements of each list or map are looked at."""

_TEXTS: Final = re.compile(r"string|(?:var)?char\(\d+\)|long|integer|decimal\(\d+,0\)")
_NONE: Final = "CAST(array() AS ARRAY<STRING>)"


class LeafColumn(msgspec.Struct, frozen=True):
    """A column or nested field that is looked at."""

    path: tuple[str, ...]
    """The names on the way to it, without `element`, `key` and `value`."""
    column: tuple[str, ...]
    """What a tag can stand on: itself, or the list or map that it lies in."""
    sql: str
    """Its values in one row, as an array of texts; NULL if there are none."""


def leaves(schema: dict[str, Any]) -> list[LeafColumn]:
    """All of a table, by Spark's JSON of its schema."""
    return list(_struct(schema, "", (), None, itertools.count()))


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _struct(
    schema: dict[str, Any],
    above: str,
    path: tuple[str, ...],
    anchor: tuple[str, ...] | None,
    numbers: "itertools.count[int]",
) -> Iterator[LeafColumn]:
    for field in schema["fields"]:
        sql = f"{above}.{quoted(field['name'])}" if above else quoted(field["name"])
        yield from _leaves(field["type"], sql, (*path, field["name"]), anchor, numbers)


def _leaves(
    type_: Any,
    sql: str,
    path: tuple[str, ...],
    anchor: tuple[str, ...] | None,
    numbers: "itertools.count[int]",
) -> Iterator[LeafColumn]:
    if isinstance(type_, str):
        if _TEXTS.fullmatch(type_):
            yield LeafColumn(path, anchor or path, f"array(CAST({sql} AS STRING))")
        return
    match type_["type"]:
        case "struct":
            yield from _struct(type_, sql, path, anchor, numbers)
        case "array":
            yield from _elements(type_["elementType"], sql, path, anchor, numbers)
        case "map":
            yield from _elements(type_["keyType"], f"map_keys({sql})", path, anchor, numbers)
            yield from _elements(type_["valueType"], f"map_values({sql})", path, anchor, numbers)


def _elements(
    type_: Any,
    sql: str,
    path: tuple[str, ...],
    anchor: tuple[str, ...] | None,
    numbers: "itertools.count[int]",
) -> Iterator[LeafColumn]:
    variable = f"x{next(numbers)}"
    for leaf in _leaves(type_, variable, path, anchor or path, numbers):
        each = f"{variable} -> coalesce({leaf.sql}, {_NONE})"
        yield LeafColumn(
            leaf.path, leaf.column, f"flatten(transform(slice({sql}, 1, {MOST_ELEMENTS}), {each}))"
        )
