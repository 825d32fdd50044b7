"""Iceberg schemas as frozen values, read from and written to Iceberg's schema JSON."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec

SIMPLE_TYPES: Final = frozenset(
    {
        "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz",
        "timestamp_ns", "timestamptz_ns", "string", "uuid", "binary", "variant", "unknown",
    }
)  # fmt: skip
_DECIMAL: Final = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")
_FIXED: Final = re.compile(r"fixed\[(\d{1,9})\]")
_GEO: Final = re.compile(r"(geometry|geography)(\([^()]*\))?")


class SchemaError(ValueError):
    """A schema, or a name looked up in one, that cannot be used; says which part and why."""


_DOTTED: Final = "i\u0307"


def folded(name: str) -> str:
    """A name in the one spelling in which names are the same that some engine takes for the same.

    To upper case first: so do Java's comparisons, for which an i with or without its dot is no other letter, as in Turkish.
    """
    return name.upper().casefold().replace(_DOTTED, "i")


class Simple(msgspec.Struct, frozen=True):
    """A type without parameters that matter here; geometry and geography keep theirs in the name."""

    name: str

    def __str__(self) -> str:
        return self.name


class DecimalType(msgspec.Struct, frozen=True):
    """An exact number of `precision` digits, `scale` of them after the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


class FixedType(msgspec.Struct, frozen=True):
    """Exactly `length` bytes."""

    length: int

    def __str__(self) -> str:
        return f"fixed[{self.length}]"


class StructType(msgspec.Struct, frozen=True):
    """Named fields side by side."""

    fields: tuple["Field", ...]

    def __str__(self) -> str:
        return "struct<" + ", ".join(f"{f.name}: {f.type}" for f in self.fields) + ">"


class ListType(msgspec.Struct, frozen=True):
    """Elements of one type."""

    element: "Field"

    def __str__(self) -> str:
        return f"list<{self.element.type}>"


class MapType(msgspec.Struct, frozen=True):
    """Keys to values; a key is always required."""

    key: "Field"
    value: "Field"

    def __str__(self) -> str:
        return f"map<{self.key.type}, {self.value.type}>"


Type = Simple | DecimalType | FixedType | StructType | ListType | MapType


class Field(msgspec.Struct, frozen=True):
    """One field: a column, a struct's member, a list's element or a map's key or value."""

    id: int
    name: str
    type: Type
    required: bool = False
    doc: str | None = None
    initial_default: Any = None
    write_default: Any = None


BOOLEAN: Final = Simple("boolean")
INT: Final = Simple("int")
LONG: Final = Simple("long")
FLOAT: Final = Simple("float")
DOUBLE: Final = Simple("double")
DATE: Final = Simple("date")
TIME: Final = Simple("time")
TIMESTAMP: Final = Simple("timestamp")
TIMESTAMPTZ: Final = Simple("timestamptz")
TIMESTAMP_NS: Final = Simple("timestamp_ns")
TIMESTAMPTZ_NS: Final = Simple("timestamptz_ns")
STRING: Final = Simple("string")
UUID: Final = Simple("uuid")
BINARY: Final = Simple("binary")
VARIANT: Final = Simple("variant")
UNKNOWN: Final = Simple("unknown")


class Located(msgspec.Struct, frozen=True):
    """A field together with the way to it from the root of its schema."""

    field: Field
    path: tuple[str, ...]
    ids: tuple[int, ...]
    nullable: bool
    """Whether the field or any struct around it may be NULL."""
    inside: str | None = None
    """`element`, `key` or `value` where a list or map lies on the way; None for plain struct paths."""
    in_map_key: bool = False


@dataclass(frozen=True)
class Schema:
    """A table's schema; `schema_id` and `identifier_field_ids` as in Iceberg's metadata."""

    fields: tuple[Field, ...]
    schema_id: int = 0
    identifier_field_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        seen: set[int] = set()
        paths: set[tuple[str, ...]] = set()
        for located in self.walk():
            if located.field.id in seen:
                raise SchemaError(f"field id {located.field.id} occurs twice; ids are unique in a schema")
            if located.path in paths:
                raise SchemaError(f"two fields are named {'.'.join(located.path)!r}")
            seen.add(located.field.id)
            paths.add(located.path)

    def walk(self) -> Iterator[Located]:
        """Every field at every depth, parents first."""
        for field in self.fields:
            yield from _walk(field, (), (), nullable=False, inside=None, in_map_key=False)

    @cached_property
    def by_id(self) -> Mapping[int, Located]:
        """All fields by field id."""
        return {located.field.id: located for located in self.walk()}

    @cached_property
    def by_path(self) -> Mapping[tuple[str, ...], Located]:
        """All fields by their path, one part per level."""
        return {located.path: located for located in self.walk()}

    @cached_property
    def _by_dotted(self) -> Mapping[str, tuple[Located, ...]]:
        index: dict[str, tuple[Located, ...]] = {}
        for located in self.walk():
            dotted = ".".join(located.path)
            index[dotted] = (*index.get(dotted, ()), located)
        return index

    def find(self, field_id: int) -> Located | None:
        """The field with this id, or None."""
        return self.by_id.get(field_id)

    def named(self, dotted: str) -> Located | None:
        """The field with this dotted name, or None.

        A column whose own name holds a dot is found by that name; where the name could also mean a nested field,
        it is ambiguous and refused rather than guessed.
        """
        found = self._by_dotted.get(dotted, ())
        if len(found) > 1:
            ids = ", ".join(str(located.field.id) for located in found)
            raise SchemaError(
                f"the name {dotted!r} could mean any of the fields {ids}; use a path or a field id"
            )
        return found[0] if found else None

    def to_json(self) -> dict[str, Any]:
        """Iceberg's JSON of this schema."""
        out: dict[str, Any] = {"type": "struct", "schema-id": self.schema_id}
        if self.identifier_field_ids:
            out["identifier-field-ids"] = list(self.identifier_field_ids)
        out["fields"] = [_field_to_json(f) for f in self.fields]
        return out

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Schema":
        """Read Iceberg's schema JSON; whatever is malformed or of an unknown type is refused."""
        try:
            if data.get("type", "struct") != "struct":
                raise SchemaError("a schema is of type struct")
            return Schema(
                tuple(_field_from_json(f) for f in data["fields"]),
                _number(data.get("schema-id", 0)),
                tuple(_number(i) for i in data.get("identifier-field-ids") or ()),
            )
        except (KeyError, TypeError, AttributeError) as e:
            raise SchemaError(f"not an Iceberg schema: {type(e).__name__} {e}") from e


def parse_simple_type(text: str) -> Type:
    """The type that Iceberg writes as this string."""
    if text in SIMPLE_TYPES or _GEO.fullmatch(text):
        return Simple(text)
    if match := _DECIMAL.fullmatch(text):
        precision, scale = int(match[1]), int(match[2])
        if not 1 <= precision <= 38 or scale > precision:
            raise SchemaError(f"{text}: precision is 1 to 38, scale at most the precision")
        return DecimalType(precision, scale)
    if match := _FIXED.fullmatch(text):
        return FixedType(int(match[1]))
    raise SchemaError(f"unknown type {text!r}")


def _walk(
    field: Field,
    path: tuple[str, ...],
    ids: tuple[int, ...],
    *,
    nullable: bool,
    inside: str | None,
    in_map_key: bool,
) -> Iterator[Located]:
    path, ids, nullable = (*path, field.name), (*ids, field.id), nullable or not field.required
    yield Located(field, path, ids, nullable, inside, in_map_key)
    match field.type:
        case StructType(fields):
            children = [(f, inside, in_map_key) for f in fields]
        case ListType(element):
            children = [(element, "element", in_map_key)]
        case MapType(key, value):
            children = [(key, "key", True), (value, "value", in_map_key)]
        case _:
            return
    for child, where, keyed in children:
        yield from _walk(child, path, ids, nullable=nullable, inside=where, in_map_key=keyed)


def _type_from_json(data: Any) -> Type:
    if isinstance(data, str):
        return parse_simple_type(data)
    match data["type"]:
        case "struct":
            return StructType(tuple(_field_from_json(f) for f in data["fields"]))
        case "list":
            element = _type_from_json(data["element"])
            return ListType(
                Field(_number(data["element-id"]), "element", element, _flag(data["element-required"]))
            )
        case "map":
            value = _type_from_json(data["value"])
            return MapType(
                Field(_number(data["key-id"]), "key", _type_from_json(data["key"]), True),
                Field(_number(data["value-id"]), "value", value, _flag(data["value-required"])),
            )
        case other:
            raise SchemaError(f"unknown type {other!r}")


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise SchemaError(f"required flags are true or false, not {value!r}")
    return value


def _number(value: Any) -> int:
    try:
        return int(value)
    except (ValueError, OverflowError):
        # Not repeated: it may come out of somebody else's document.
        raise SchemaError("an id is a whole number") from None


def _field_from_json(data: Mapping[str, Any]) -> Field:
    name = data["name"]
    if not isinstance(name, str) or not name:
        raise SchemaError(f"field {data['id']}: a name is a non-empty string")
    return Field(
        _number(data["id"]),
        name,
        _type_from_json(data["type"]),
        _flag(data["required"]),
        data.get("doc"),
        data.get("initial-default"),
        data.get("write-default"),
    )


def _type_to_json(type_: Type) -> Any:
    match type_:
        case StructType(fields):
            return {"type": "struct", "fields": [_field_to_json(f) for f in fields]}
        case ListType(element):
            return {
                "type": "list",
                "element-id": element.id,
                "element": _type_to_json(element.type),
                "element-required": element.required,
            }
        case MapType(key, value):
            return {
                "type": "map",
                "key-id": key.id,
                "key": _type_to_json(key.type),
                "value-id": value.id,
                "value": _type_to_json(value.type),
                "value-required": value.required,
            }
        case _:
            return str(type_)


def _field_to_json(field: Field) -> dict[str, Any]:
    out: dict[str, Any] = {
        "id": field.id,
        "name": field.name,
        "required": field.required,
        "type": _type_to_json(field.type),
    }
    if field.doc is not None:
        out["doc"] = field.doc
    if field.initial_default is not None:
        out["initial-default"] = field.initial_default
    if field.write_default is not None:
        out["write-default"] = field.write_default
    return out
