"""Rows as they are seen through a lens: the reference that every other way of enforcing it must agree with."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headgate.decide.policies.lens import Lens
from headgate.language.evaluate import by_field_id, keeps
from headgate.language.masks.mask import ColumnMask
from headgate.language.masks.python import Secrets, apply
from headgate.model.schema import Field, ListType, MapType, Schema, StructType

Row = Mapping[str, Any]


def seen(
    lens: Lens, schema: Schema, rows: Iterable[Row], secrets: Secrets | None = None
) -> Iterator[dict[str, Any]]:
    """The rows that the filter keeps, on their original values; then masked; without what is hidden."""
    shown = lens.shown(schema).fields
    for row in rows:
        cells = by_field_id(schema, row)
        if keeps(lens.rows, cells):
            for mask in lens.masks:
                _masked(cells, mask, mask.column.ids, secrets)
            yield {field.name: _named(field, cells.get(field.id)) for field in shown}


def _masked(cells: dict[int, Any], mask: ColumnMask, way: tuple[int, ...], secrets: Secrets | None) -> None:
    first, rest = way[0], way[1:]
    if rest:
        inner = cells.get(first)
        if inner is not None:
            _masked(inner, mask, rest, secrets)
    else:
        cells[first] = apply(mask, cells.get(first), secrets)


def _named(field: Field, value: Any) -> Any:
    if value is None:
        return None
    match field.type:
        case StructType(fields):
            return {f.name: _named(f, value.get(f.id)) for f in fields}
        case ListType(element):
            return [_named(element, v) for v in value]
        case MapType(key, item):
            return {_named(key, k): _named(item, v) for k, v in value.items()}
    return value
