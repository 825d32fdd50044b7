"""What Iceberg's table specification allows: checks of what clients send before it becomes a part of a document.

Each check refuses with the place and the reason. A check looks at what a commit touches; the rest of a document was
checked when it came.
"""

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError as Malformed
from pyiceberg.exceptions import ValidationError as Invalid
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.name_mapping import parse_mapping_from_json
from pyiceberg.transforms import UnknownTransform, VoidTransform, parse_transform
from pyiceberg.types import NestedField, PrimitiveType

from headgate.catalogs.iceberg import faults
from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip
from headgate.model.schema import DOUBLE, FLOAT, ListType, MapType, Schema, SchemaError, StructType

Json = dict[str, Any]

LARGEST: Final = 2**63 - 1
FIRST_PARTITION_ID: Final = 1000
NAME_MAPPING: Final = "schema.name-mapping.default"
READ_BY: Final = frozenset({NAME_MAPPING})
"""Properties that change what readers read from the same files, as a change of the schema does."""

_DEEPEST: Final = 128
_MOST_FIELD_ID: Final = 2**31 - 1 - 200
"""Ids above are reserved for Iceberg's own columns."""
_SINCE_3: Final = re.compile(r"(timestamp(tz)?_ns|unknown|variant|geometry.*|geography.*)", re.DOTALL)
_OPERATIONS: Final = ("append", "replace", "overwrite", "delete")
_UNREADABLE: Final = (Malformed, Invalid, ValueError, TypeError, KeyError, NotImplementedError)


# -- plain values ---------------------------------------------------------------------------------------------------


def plain(value: Any) -> None:
    """Refuse numbers that do not fit 64 bits, and what is nested too deeply to be read by anyone."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > _DEEPEST:
            raise IllegalArgument(f"the request is nested more than {_DEEPEST} levels deep")
        if isinstance(one, dict):
            waiting += [(inner, depth + 1) for inner in one.values()]
        elif isinstance(one, list):
            waiting += [(inner, depth + 1) for inner in one]
        elif isinstance(one, int) and not -LARGEST - 1 <= one <= LARGEST:
            raise IllegalArgument("a number does not fit 64 bits")


def number(value: Any, what: str, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST:
        raise IllegalArgument(f"{what} is not a whole number from {least} on")
    return value


def text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise IllegalArgument(f"{what} is not a text")
    return value


def texts(values: Any, what: str = "properties") -> dict[str, str]:
    if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
        raise IllegalArgument(f"{what} are a map from text to text")
    return values


def entry(value: Any, what: str) -> Json:
    if not isinstance(value, dict):
        raise IllegalArgument(f"{what} is not an object")
    return value


def entries(value: Any, what: str) -> list[Json]:
    if not isinstance(value, list):
        raise IllegalArgument(f"{what} is not a list")
    return [entry(one, f"an entry of {what}") for one in value]


# -- schemas --------------------------------------------------------------------------------------------------------


def schema(sent: Json, version: int) -> Schema:
    """Refuse a schema that not every reader of this format version can read."""
    _fields({**sent, "type": "struct"}, version)
    number(sent.get("schema-id", 0), "schema-id", -1)
    try:
        read = Schema.from_json(sent)
    except (SchemaError, KeyError, TypeError, AttributeError) as error:
        raise IllegalArgument(f"the schema cannot be used: {clip(str(error), 200)}") from None
    wanted = sent.get("identifier-field-ids") or []
    if not isinstance(wanted, list):
        raise IllegalArgument("identifier-field-ids are not a list")
    for id in wanted:
        _identifier(read, number(id, "an identifier field id"))
    return read


def _fields(type: Any, version: int) -> None:
    if isinstance(type, str):
        _primitive(type, version)
        return
    match entry(type, "a type").get("type"):
        case "struct":
            for field in entries(type.get("fields"), "the fields of a struct"):
                _field(field, field.get("required"), version)
        case "list":
            element = {"id": type.get("element-id"), "name": "element", "type": type.get("element")}
            _field(element, type.get("element-required"), version)
        case "map":
            for part, required in (("key", True), ("value", type.get("value-required"))):
                inner = {"id": type.get(f"{part}-id"), "name": part, "type": type.get(part)}
                _field(inner, required, version)
        case _:
            raise IllegalArgument("a nested type is not known", hint="use struct, list or map")


def _field(field: Json, required: Any, version: int) -> None:
    name = clip(text(field.get("name"), "the name of a field"))
    if number(field.get("id"), f"the id of field '{name}'") > _MOST_FIELD_ID:
        raise IllegalArgument(f"the id of field '{name}' is reserved")
    if not isinstance(required, bool):
        raise IllegalArgument(f"field '{name}' does not say whether it is required")
    if field.get("doc") is not None and not isinstance(field["doc"], str):
        raise IllegalArgument(f"the doc of field '{name}' is not a text")
    defaults = [key for key in ("initial-default", "write-default") if field.get(key) is not None]
    if defaults and version < 3:
        raise IllegalArgument(f"field '{name}' has a default, which needs format version 3")
    _fields(field.get("type"), version)


def _primitive(type: str, version: int) -> None:
    if version < 3 and _SINCE_3.fullmatch(type):
        raise IllegalArgument(f"type '{clip(type, 40)}' needs format version 3")
    try:
        primitive(type)
    except _UNREADABLE:
        raise IllegalArgument(f"type '{clip(type, 40)}' is not known") from None


@functools.lru_cache(maxsize=1000)
def primitive(type: str) -> PrimitiveType:
    """A type by its name: only what pyiceberg reads, as this server reads with it."""
    found = NestedField.model_validate({"id": 1, "name": "a", "type": type, "required": False}).field_type
    if not isinstance(found, PrimitiveType):
        raise TypeError(type)
    return found


def _identifier(read: Schema, id: int) -> None:
    found = read.find(id)
    if found is None:
        raise IllegalArgument(f"identifier field {id} is not in the schema")
    inexact = found.field.type in (FLOAT, DOUBLE) or isinstance(
        found.field.type, StructType | ListType | MapType
    )
    if found.inside or found.nullable or inexact:
        raise IllegalArgument(f"identifier field {id} is not a required column of an exact, simple type")


# -- how rows are laid out ------------------------------------------------------------------------------------------


def spec(fields: list[Json], read: Schema, version: int) -> None:
    """Refuse a partition spec that does not fit the schema."""
    names = [text(field.get("name"), "the name of a partition field") for field in fields]
    ids = [
        number(field.get("field-id"), "the id of a partition field", FIRST_PARTITION_ID) for field in fields
    ]
    if len(set(names)) != len(names):
        raise IllegalArgument("the partition spec uses a name twice")
    if len(set(ids)) != len(ids):
        raise IllegalArgument("the partition spec uses a field id twice")
    if version == 1 and ids != list(range(FIRST_PARTITION_ID, FIRST_PARTITION_ID + len(ids))):
        raise IllegalArgument("partition field ids are not sequential, as format version 1 needs them")
    for field in fields:
        transformed(field, read, "partition field")
    if len({(field["source-id"], field["transform"]) for field in fields}) != len(fields):
        raise IllegalArgument("the partition spec does the same with a column twice")
    named_apart(fields, read)


def named_apart(fields: list[Json], read: Schema) -> None:
    """A partition field may have the name of a column only if it is made from that column."""
    for field in fields:
        column = read.by_path.get((field["name"],))
        if column is not None and column.field.id != field["source-id"]:
            raise IllegalArgument(f"partition field '{clip(field['name'])}' has the name of another column")


def order(fields: list[Json], read: Schema) -> None:
    """Refuse a sort order that does not fit the schema."""
    for field in fields:
        transformed(field, read, "sort field")
        if field.get("direction") not in ("asc", "desc"):
            raise IllegalArgument("the direction of a sort field is asc or desc")
        if field.get("null-order") not in ("nulls-first", "nulls-last"):
            raise IllegalArgument("the null-order of a sort field is nulls-first or nulls-last")


def transformed(field: Json, read: Schema, what: str) -> None:
    """Refuse a transform that is not known, or that the column it is made from cannot have."""
    source = number(field.get("source-id"), f"the source-id of a {what}")
    name = text(field.get("transform"), f"the transform of a {what}")
    try:
        transform = parse_transform(name)
        if isinstance(transform, UnknownTransform) or str(transform) != name.lower():
            raise ValueError(name)
        width = re.search(r"\[(\d+)\]", name)
        if width and not 0 < int(width[1]) < 2**31:
            raise ValueError(name)
    except _UNREADABLE:
        raise IllegalArgument(f"the transform '{clip(name, 40)}' of a {what} is not known") from None
    if isinstance(transform, VoidTransform):
        return
    column = read.find(source)
    if column is None:
        raise IllegalArgument(
            f"Cannot find source column for {what}: {clip(str(field.get('name') or source))}"
        )
    if column.inside or isinstance(column.field.type, StructType | ListType | MapType):
        raise IllegalArgument(f"a {what} is made from a column that is not simple")
    if not transform.can_transform(primitive(str(column.field.type))):
        raise IllegalArgument(f"transform '{clip(name, 40)}' cannot be used on a {column.field.type}")


# -- snapshots and what belongs to them -----------------------------------------------------------------------------


def snapshot(sent: Json, version: int, schema_ids: set[int], latest: int) -> None:
    """Refuse a snapshot that a reader could not follow to its files."""
    number(sent.get("snapshot-id"), "snapshot-id")
    parent = sent.get("parent-snapshot-id")
    if parent is not None and number(parent, "parent-snapshot-id", -1) == sent["snapshot-id"]:
        raise IllegalArgument("a snapshot is its own parent")
    if number(sent.get("timestamp-ms"), "timestamp-ms of a snapshot") > latest:
        raise IllegalArgument("timestamp-ms of a snapshot lies in the future", hint="set your clock")
    text(sent.get("manifest-list"), "manifest-list of a snapshot")
    if "manifests" in sent and version > 1:
        raise IllegalArgument("a snapshot lists its manifests in its manifest list only")
    sequence = number(sent.get("sequence-number", 0 if version == 1 else None), "sequence-number")
    if version == 1 and sequence:
        raise IllegalArgument("a snapshot of format version 1 has no sequence-number")
    summary = sent.get("summary")
    asked = summary is not None or version > 1
    if asked and texts(summary, "the summary of a snapshot").get("operation") not in _OPERATIONS:
        raise IllegalArgument(
            "the summary of a snapshot names no operation", hint=f"use one of {', '.join(_OPERATIONS)}"
        )
    if sent.get("schema-id") is not None and number(sent["schema-id"], "schema-id") not in schema_ids:
        raise IllegalArgument("a snapshot names a schema that the table does not have")
    if version >= 3:
        number(sent.get("first-row-id"), "first-row-id")
        number(sent.get("added-rows"), "added-rows")
    if sent.get("key-id") is not None:
        text(sent["key-id"], "key-id of a snapshot")


def ref(sent: Json) -> None:
    """Refuse a branch or tag with what it cannot have."""
    number(sent.get("snapshot-id"), "snapshot-id of a reference")
    if sent.get("type") not in ("branch", "tag"):
        raise IllegalArgument("a snapshot reference is a branch or a tag")
    for key in ("max-ref-age-ms", "max-snapshot-age-ms", "min-snapshots-to-keep"):
        if sent.get(key) is not None:
            number(sent[key], key, 1)
            if sent["type"] == "tag" and key != "max-ref-age-ms":
                raise IllegalArgument(f"a tag has no {key}")


def statistics(sent: Json) -> None:
    """Refuse a statistics file that is not described in full."""
    partition_statistics(sent)
    number(sent.get("file-footer-size-in-bytes"), "file-footer-size-in-bytes")
    for blob in entries(sent.get("blob-metadata"), "blob-metadata"):
        text(blob.get("type"), "the type of a blob")
        number(blob.get("snapshot-id"), "snapshot-id of a blob")
        number(blob.get("sequence-number"), "sequence-number of a blob")
        if not isinstance(blob.get("fields"), list):
            raise IllegalArgument("the fields of a blob are not a list")
        for id in blob["fields"]:
            number(id, "a field id of a blob")
        if blob.get("properties") is not None:
            texts(blob["properties"], "the properties of a blob")


def partition_statistics(sent: Json) -> None:
    number(sent.get("snapshot-id"), "snapshot-id of statistics")
    text(sent.get("statistics-path"), "statistics-path")
    number(sent.get("file-size-in-bytes"), "file-size-in-bytes")


def encryption_key(sent: Json, version: int) -> None:
    if version < 3:
        raise IllegalArgument("encryption keys need format version 3")
    text(sent.get("key-id"), "key-id")
    text(sent.get("encrypted-key-metadata"), "encrypted-key-metadata")
    if sent.get("encrypted-by-id") is not None:
        text(sent["encrypted-by-id"], "encrypted-by-id")
    if sent.get("properties") is not None:
        texts(sent["properties"], "the properties of a key")


# -- whole documents ------------------------------------------------------------------------------------------------


def properties(values: Mapping[str, str]) -> None:
    """Refuse properties that would keep readers from reading."""
    mapping = values.get(NAME_MAPPING)
    if mapping is not None:
        try:
            parse_mapping_from_json(mapping)
        except _UNREADABLE:
            raise IllegalArgument(f"property '{NAME_MAPPING}' is not a name mapping") from None


def parsed(document: Json) -> None:
    """Refuse what pyiceberg does not read, telling where but never what: a document may hold anybody's secrets."""
    try:
        TableMetadataUtil.parse_obj(document)
    except (*_UNREADABLE, RecursionError) as error:
        raise IllegalArgument(f"Iceberg refuses the document: {faults.describe(error)}") from None
