"""The columns that a table's document tells of, under all names that it knows."""

import hashlib
from typing import Any, Final

import orjson

from headgate.model.past import KnownColumn
from headgate.model.schema import Schema, SchemaError

Json = dict[str, Any]

HIGHEST: Final = 1_000_000
"""No table has given out more field ids; a document that says so is not believed."""


def known_columns(metadata: Json) -> tuple[tuple[KnownColumn, ...], int]:
    """Every column of every schema, those of the current one last, and the highest id that was given.

    None of a document that cannot be read: nobody sees its table through a policy either.
    """
    try:
        current, last, listed = _parts(metadata)
        schemas = sorted(
            (Schema.from_json(schema) for schema in listed), key=lambda schema: schema.schema_id == current
        )
        found = {
            (at.field.id, at.ids[-2] if len(at.ids) > 1 else 0, at.path): schema.schema_id == current
            for schema in schemas
            for at in schema.walk()
        }
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, SchemaError):
        return (), 0
    if not isinstance(last, int) or not all(
        0 < id <= HIGHEST for id in (last or 1, *(id for id, _, _ in found))
    ):
        return (), 0
    columns = [KnownColumn(*key, present) for key, present in found.items()]
    return tuple(sorted(columns, key=lambda column: column.present)), last


def columns_digest(metadata: Json) -> bytes:
    """Changes with anything that `known_columns` reads."""
    try:
        return hashlib.blake2b(orjson.dumps(_parts(metadata)), digest_size=16).digest()
    except (KeyError, IndexError, TypeError, AttributeError):
        return b""


def _parts(metadata: Json) -> tuple[Any, Any, Any]:
    schemas = metadata.get("schemas") or [metadata["schema"]]
    return (
        metadata.get("current-schema-id", schemas[0].get("schema-id", 0)),
        metadata.get("last-column-id"),
        schemas,
    )
