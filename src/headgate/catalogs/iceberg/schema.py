"""Schemas as JSON: walking them, giving fresh field ids, comparing them."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from headgate.model.errors import IllegalArgument

Json = dict[str, Any]


def fields_of(type: Any, prefix: str = "") -> Iterator[tuple[str, Json]]:
    """Every field below a type with its dotted name: struct fields, list elements, map keys and values."""
    if not isinstance(type, dict):
        return
    match type.get("type"):
        case "struct":
            for field in type["fields"]:
                name = f"{prefix}.{field['name']}" if prefix else field["name"]
                yield name, field
                yield from fields_of(field["type"], name)
        case "list":
            name = f"{prefix}.element"
            yield name, {"id": type["element-id"], "name": "element", "type": type["element"]}
            yield from fields_of(type["element"], name)
        case "map":
            for part in ("key", "value"):
                name = f"{prefix}.{part}"
                yield name, {"id": type[f"{part}-id"], "name": part, "type": type[part]}
                yield from fields_of(type[part], name)


def highest_id(schema: Json) -> int:
    return max((field["id"] for _, field in fields_of(schema)), default=0)


def fresh(schema: Json, first: int = 1) -> tuple[Json, dict[int, int], int]:
    """The schema with new ids, what each old id became, and the highest id given.

    All fields of a struct get theirs before what is nested in them, as Iceberg does when it makes a table.
    """
    count = itertools.count(first)
    became: dict[int, int] = {}

    def give(old: int) -> int:
        became[old] = next(count)
        return became[old]

    new = _renumbered(schema, give)
    new["schema-id"] = 0
    ids = schema.get("identifier-field-ids")
    if ids:
        new["identifier-field-ids"] = [became[id] for id in ids]
    return new, became, next(count) - 1


def _renumbered(type: Any, give: Callable[[int], int]) -> Any:
    if not isinstance(type, dict):
        return type
    match type.get("type"):
        case "struct":
            fields = [{**field, "id": give(field["id"])} for field in type["fields"]]
            return {**type, "fields": [{**f, "type": _renumbered(f["type"], give)} for f in fields]}
        case "list":
            element = give(type["element-id"])
            return {**type, "element-id": element, "element": _renumbered(type["element"], give)}
        case "map":
            key, value = give(type["key-id"]), give(type["value-id"])
            return {
                **type,
                "key-id": key,
                "value-id": value,
                "key": _renumbered(type["key"], give),
                "value": _renumbered(type["value"], give),
            }
        case other:
            raise IllegalArgument(f"'{str(other)[:40]}' is not a nested type", hint="use struct, list or map")


def same(one: Json, other: Json) -> bool:
    """Whether two schemas differ in nothing but their id."""

    def bare(schema: Json) -> tuple[Any, list[int]]:
        return schema.get("fields"), sorted(schema.get("identifier-field-ids") or [])

    return bare(one) == bare(other)


def checked(schema: Any) -> Json:
    """A schema that a client sent: a struct with unique ids and names and known shapes."""
    if not isinstance(schema, dict) or not isinstance(schema.get("fields"), list):
        raise IllegalArgument("the schema is not a struct with fields")
    struct: Json = {**schema, "type": "struct"}
    try:
        seen = [(name, field["id"], field["name"], field["type"]) for name, field in fields_of(struct)]
    except (KeyError, TypeError) as error:
        raise IllegalArgument(f"the schema has a field without {error}") from None
    ids = [id for _, id, _, _ in seen]
    names = [name for name, _, _, _ in seen]
    if not all(isinstance(id, int) and not isinstance(id, bool) for id in ids) or len(set(ids)) != len(ids):
        raise IllegalArgument("the schema uses a field id twice")
    if not all(isinstance(name, str) and name for _, _, name, _ in seen) or len(set(names)) != len(names):
        raise IllegalArgument("the schema uses a column name twice")
    return struct
