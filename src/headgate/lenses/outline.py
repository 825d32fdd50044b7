"""What a lens leaves of a table's description: schema, partition specs, sort orders and properties.

INVARIANT: everything here is a function of what the lens shows. Ids that count a table's changes (schema ids, spec ids,
partition field ids, order ids) are given anew in a canonical order, so that no gap tells of a hidden one. Field ids of
visible columns stay what they are, because data files carry them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from headgate.model.schema import Schema

Json = dict[str, Any]

SCHEMA_ID: Final = 0
UNPARTITIONED: Final = 0
_FIRST_PARTITION_FIELD: Final = 1000
NAME_MAPPING: Final = "schema.name-mapping.default"
_PROPERTIES: Final = ("comment",)
_PREFIXES: Final = ("read.split.",)


@dataclass(frozen=True)
class Outline:
    """What a lens leaves of a table's shape: the schema as it is seen, and the fields whose values must show nowhere."""

    schema: Schema
    blind: frozenset[int]
    """Hidden and masked fields, with everything inside them."""

    def shows(self, id: int) -> bool:
        """Whether a column is shown as it is; one that is gone from the schema is not."""
        return id in self.schema.by_id and id not in self.blind


@dataclass(frozen=True)
class GovernedSpecs:
    """A table's partition specs as a lens shows them. One that is made from a blind column becomes the spec without fields."""

    listed: tuple[Json, ...]
    """All of them, in canonical order; the first has no fields."""
    by_original: Mapping[int, Json]
    """The governed spec of each of the table's own spec ids."""
    field_ids: Mapping[int, Mapping[int, int]]
    """By the table's own spec id: the governed id of each partition field."""

    @cached_property
    def visible(self) -> frozenset[int]:
        """The table's own ids of specs whose partition values are shown."""
        return frozenset(id for id, spec in self.by_original.items() if spec["fields"])

    @property
    def last_field(self) -> int:
        ids = [field["field-id"] for spec in self.listed for field in spec["fields"]]
        return max(ids, default=_FIRST_PARTITION_FIELD - 1)


def governed_specs(document: Json, outline: Outline) -> GovernedSpecs:
    """The partition specs of a table's document as a lens shows them."""
    raw = document.get("partition-specs") or [{"spec-id": 0, "fields": document.get("partition-spec", [])}]
    shown = {
        spec["spec-id"]: tuple((f["source-id"], f["transform"], f["name"]) for f in spec["fields"])
        for spec in raw
        if spec["fields"] and _shows_all(spec["fields"], outline)
    }
    ids = {
        field: _FIRST_PARTITION_FIELD + n
        for n, field in enumerate(sorted({field for fields in shown.values() for field in fields}))
    }
    listed: list[Json] = [{"spec-id": UNPARTITIONED, "fields": []}]
    by_fields: dict[tuple[Any, ...], Json] = {}
    for fields in sorted(set(shown.values())):
        spec = {"spec-id": len(listed), "fields": [_partition_field(field, ids[field]) for field in fields]}
        by_fields[fields] = spec
        listed.append(spec)
    field_ids: dict[int, Mapping[int, int]] = {}
    for spec in raw:
        fields = shown.get(spec["spec-id"], ())
        own = [f.get("field-id", _FIRST_PARTITION_FIELD + n) for n, f in enumerate(spec["fields"])]
        field_ids[spec["spec-id"]] = dict(zip(own, (ids[field] for field in fields), strict=False))
    by_original = {spec["spec-id"]: by_fields.get(shown.get(spec["spec-id"], ()), listed[0]) for spec in raw}
    return GovernedSpecs(tuple(listed), by_original, field_ids)


def governed_orders(document: Json, outline: Outline) -> tuple[list[Json], int]:
    """The sort orders that are made of visible columns only, behind the unsorted one; and which of them is the default."""
    keys = ("source-id", "transform", "direction", "null-order")
    shown = {
        order["order-id"]: tuple(tuple(field[key] for key in keys) for field in order["fields"])
        for order in document.get("sort-orders") or []
        if order["fields"] and _shows_all(order["fields"], outline)
    }
    distinct = sorted(set(shown.values()))
    orders: list[Json] = [{"order-id": 0, "fields": []}]
    for fields in distinct:
        named = [dict(zip(keys, field, strict=True)) for field in fields]
        orders.append({"order-id": len(orders), "fields": named})
    default = shown.get(document.get("default-sort-order-id", 0))
    return orders, 0 if default is None else distinct.index(default) + 1


def governed_properties(properties: Mapping[str, str], outline: Outline) -> dict[str, str]:
    """The few properties that readers need and that tell nothing of what is hidden."""
    return {
        key: value for key, value in properties.items() if key in _PROPERTIES or key.startswith(_PREFIXES)
    }


def governed_schema(outline: Outline) -> Json:
    """The schema as it is seen."""
    return {**outline.schema.to_json(), "schema-id": SCHEMA_ID}


def _partition_field(field: tuple[int, str, str], id: int) -> Json:
    source, transform, name = field
    return {"source-id": source, "field-id": id, "name": name, "transform": transform}


def _shows_all(fields: Sequence[Json], outline: Outline) -> bool:
    """Whether every field is made of one column that is shown; the third format version may name several."""
    return all("source-id" in field and outline.shows(field["source-id"]) for field in fields)
