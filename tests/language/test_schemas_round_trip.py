"""Promise: Iceberg's schema JSON is read and written without loss, and names are never guessed."""

import pytest
from hypothesis import given
from pyiceberg.schema import Schema as PySchema
from tests.language.strategies import schemas

from headgate.model.schema import Schema, SchemaError

FULL = {
    "type": "struct", "schema-id": 3, "identifier-field-ids": [1],
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long", "doc": "the key"},
        {"id": 2, "name": "d", "required": False, "type": "decimal(38, 10)"},
        {"id": 3, "name": "f", "required": False, "type": "fixed[16]"},
        {"id": 4, "name": "t", "required": False, "type": "timestamptz_ns", "initial-default": None},
        {"id": 5, "name": "v", "required": False, "type": "variant"},
        {"id": 6, "name": "g", "required": False, "type": "geometry(srid:3857)"},
        {"id": 7, "name": "a.b", "required": False, "type": "string", "write-default": "x"},
        {"id": 8, "name": "s", "required": False, "type": {"type": "struct", "fields": [
            {"id": 9, "name": "l", "required": True, "type": {
                "type": "list", "element-id": 10, "element": "int", "element-required": False}},
            {"id": 11, "name": "m", "required": False, "type": {
                "type": "map", "key-id": 12, "key": "string", "value-id": 13, "value": "uuid", "value-required": True}},
        ]}},
    ],
}  # fmt: skip


def test_every_type_and_attribute_survives() -> None:
    schema = Schema.from_json(FULL)
    again = schema.to_json()
    expected = {**FULL, "fields": [{k: v for k, v in f.items() if v is not None} for f in FULL["fields"]]}  # type: ignore[attr-defined]
    assert again == expected
    assert Schema.from_json(again) == schema


@given(schemas)
def test_pyiceberg_reads_what_is_written(schema: Schema) -> None:
    read = PySchema.model_validate(schema.to_json())
    assert {f.field_id: f.name for f in read.fields} == {f.id: f.name for f in schema.fields}
    assert Schema.from_json(schema.to_json()) == schema


def test_fields_are_found_by_id_path_and_dotted_name() -> None:
    schema = Schema.from_json(FULL)
    assert schema.by_id[13].path == ("s", "m", "value")
    assert schema.by_id[9].ids == (8, 9)
    assert schema.by_id[9].nullable
    assert not schema.by_id[1].nullable
    assert schema.by_id[12].in_map_key
    dotted = schema.named("a.b")
    assert dotted is not None
    assert dotted.field.id == 7
    assert ("a", "b") not in schema.by_path
    assert schema.named("nothing") is None


def test_a_dotted_name_that_could_mean_two_fields_is_refused() -> None:
    inner = {"type": "struct", "fields": [{"id": 3, "name": "b", "required": False, "type": "int"}]}
    schema = Schema.from_json({"fields": [
        {"id": 1, "name": "a.b", "required": False, "type": "int"}, {"id": 2, "name": "a", "required": False, "type": inner},
    ]})  # fmt: skip
    with pytest.raises(SchemaError, match="could mean any of the fields 1, 3"):
        schema.named("a.b")
    assert schema.by_path[("a", "b")].field.id == 3


@pytest.mark.parametrize(
    "fields",
    [
        [{"id": 1, "name": "a", "required": True, "type": "money"}],
        [{"id": 1, "name": "a", "required": "yes", "type": "int"}],
        [{"id": 1, "name": "", "required": True, "type": "int"}],
        [{"id": 1, "name": "a", "required": True}],
        [{"id": 1, "name": "a", "required": True, "type": "decimal(50, 2)"}],
        [{"id": 1, "name": "a", "required": True, "type": "int"}] * 2,
        [{"id": 1, "name": "a", "required": True, "type": "int"}, {"id": 2, "name": "a", "required": True, "type": "int"}],
        None,
    ],
)  # fmt: skip
def test_a_malformed_schema_is_refused(fields: object) -> None:
    with pytest.raises(SchemaError):
        Schema.from_json({"fields": fields})
