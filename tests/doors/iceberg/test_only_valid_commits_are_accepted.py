"""A commit is accepted only if the table it makes is valid by Iceberg's specification and can be loaded again."""

import copy
import json
import time
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.table.metadata import TableMetadataUtil

from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.iceberg.conftest import ICE, SCHEMA, create, failed

TABLE = f"{ICE}/namespaces/s/tables/t"
GRAVITINO = "/api/metalakes/lake/catalogs/cat/schemas/s/tables/t"
NOW = int(time.time() * 1000)
HUGE = 2**64 + 1

ID, NAME = SCHEMA["fields"]
SNAPSHOT: dict[str, Any] = {
    "snapshot-id": 1,
    "sequence-number": 1,
    "timestamp-ms": NOW,
    "manifest-list": "/nowhere/snap-1.avro",
    "summary": {"operation": "append"},
    "schema-id": 0,
}


def snapshot(**more: Any) -> dict[str, Any]:
    return {**SNAPSHOT, **{key.replace("_", "-"): value for key, value in more.items()}}


def appended(**more: Any) -> list[dict[str, Any]]:
    one = snapshot(**more)
    main = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch"}
    return [{"action": "add-snapshot", "snapshot": one}, {**main, "snapshot-id": one["snapshot-id"]}]


def reshaped(*fields: Any, **more: Any) -> list[dict[str, Any]]:
    return [
        {"action": "add-schema", "schema": {"type": "struct", "fields": list(fields), **more}},
        {"action": "set-current-schema", "schema-id": -1},
    ]


def laid_out(*fields: Any) -> list[dict[str, Any]]:
    return [
        {"action": "add-spec", "spec": {"spec-id": 1, "fields": list(fields)}},
        {"action": "set-default-spec", "spec-id": -1},
    ]


def sorted_by(**field: Any) -> list[dict[str, Any]]:
    one = {"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}
    order = {"order-id": 1, "fields": [{**one, **{k.replace("_", "-"): v for k, v in field.items()}}]}
    return [
        {"action": "add-sort-order", "sort-order": order},
        {"action": "set-default-sort-order", "sort-order-id": -1},
    ]


def part(**more: Any) -> dict[str, Any]:
    one = {"source-id": 1, "field-id": 1000, "name": "id_bucket", "transform": "bucket[4]"}
    return {**one, **{key.replace("_", "-"): value for key, value in more.items()}}


BLOB = {"type": "apache-datasketches-theta-v1", "snapshot-id": 1, "sequence-number": 1, "fields": [1]}
STATISTICS = {
    "snapshot-id": 1,
    "statistics-path": "/nowhere/x",
    "file-size-in-bytes": 1,
    "file-footer-size-in-bytes": 1,
    "blob-metadata": [BLOB],
}
NEW = {"id": 3, "name": "n", "type": "int", "required": False}


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in value.items() if k != key}


BAD: dict[str, list[Any]] = {
    # snapshots
    "no manifest list": [{"action": "add-snapshot", "snapshot": without(SNAPSHOT, "manifest-list")}],
    "empty manifest list": appended(manifest_list=""),
    "manifest list is a number": appended(manifest_list=1),
    "no summary": [{"action": "add-snapshot", "snapshot": without(SNAPSHOT, "summary")}],
    "no operation": appended(summary={"a": "b"}),
    "unknown operation": appended(summary={"operation": "guess"}),
    "summary of numbers": appended(summary={"operation": "append", "added-files": 1}),
    "no sequence number": [{"action": "add-snapshot", "snapshot": without(SNAPSHOT, "sequence-number")}],
    "sequence number is a text": appended(sequence_number="1"),
    "negative sequence number": appended(sequence_number=-1),
    "snapshot id over 64 bits": appended(snapshot_id=HUGE),
    "snapshot id is a fraction": appended(snapshot_id=1.5),
    "timestamp over 64 bits": appended(timestamp_ms=HUGE),
    "timestamp in the far future": appended(timestamp_ms=NOW * 2),
    "timestamp is a text": appended(timestamp_ms="now"),
    "unknown schema": appended(schema_id=9),
    "its own parent": appended(parent_snapshot_id=1),
    "snapshot is a list": [{"action": "add-snapshot", "snapshot": [1]}],
    # schemas
    "long becomes string": [*appended(), *reshaped({**ID, "type": "string"}, NAME)],
    "string becomes struct": [*appended(), *reshaped(ID, {**NAME, "type": {"type": "struct", "fields": []}})],
    "field id taken over": [*appended(), *reshaped(ID, {**NEW, "id": 2, "type": "double"})],
    "unknown type": reshaped(ID, NAME, {**NEW, "type": "text"}),
    "type is a number": reshaped(ID, NAME, {**NEW, "type": 7}),
    "type of a later format": reshaped(ID, NAME, {**NEW, "type": "timestamp_ns"}),
    "default of a later format": reshaped(ID, NAME, {**NEW, "initial-default": 1}),
    "required is missing": reshaped(ID, NAME, without(NEW, "required")),
    "required is a text": reshaped(ID, NAME, {**NEW, "required": "yes"}),
    "id over 64 bits": reshaped(ID, NAME, {**NEW, "id": HUGE}),
    "id is reserved": reshaped(ID, NAME, {**NEW, "id": 2**31 - 2}),
    "id is true": reshaped(ID, NAME, {**NEW, "id": True}),
    "doc is a number": reshaped(ID, NAME, {**NEW, "doc": 1}),
    "field is a text": reshaped(ID, "name"),
    "list without element": reshaped(ID, NAME, {**NEW, "type": {"type": "list", "element-id": 4}}),
    "decimal of 99 digits": reshaped(ID, NAME, {**NEW, "type": "decimal(99, 2)"}),
    "identifier of nothing": reshaped(ID, NAME, **{"identifier-field-ids": [9]}),
    "identifier is unhashable": reshaped(ID, NAME, **{"identifier-field-ids": [[1]]}),
    "identifier may be null": reshaped(ID, NAME, **{"identifier-field-ids": [1]}),
    "identifiers are a number": reshaped(ID, NAME, **{"identifier-field-ids": 1}),
    "schema is null": [{"action": "add-schema", "schema": None}],
    "schema id is a text": [{"action": "set-current-schema", "schema-id": "0"}],
    # layout
    "unknown transform": laid_out(part(transform="guess[4]")),
    "bucket of none": laid_out(part(transform="bucket[0]")),
    "transform of the wrong type": laid_out(part(transform="year")),
    "partition of nothing": laid_out(part(source_id=9)),
    "partition id too low": laid_out(part(field_id=5)),
    "partition id over 64 bits": laid_out(part(field_id=HUGE)),
    "partition id twice": laid_out(part(), part(name="b", transform="bucket[8]")),
    "partition name twice": laid_out(part(), part(field_id=1001, transform="bucket[8]")),
    "partition named as a column": laid_out(part(name="name")),
    "partition name is missing": laid_out(without(part(), "name")),
    "spec is a text": [{"action": "add-spec", "spec": "x"}],
    "spec fields are a text": [{"action": "add-spec", "spec": {"fields": "x"}}],
    "sort direction": sorted_by(direction="up"),
    "sort nulls": sorted_by(null_order="first"),
    "sort by nothing": sorted_by(source_id=9),
    "sort order is null": [{"action": "add-sort-order", "sort-order": None}],
    "source of the layout is dropped": [*laid_out(part()), *reshaped(NAME)],
    # references, statistics, keys
    "reference to nothing": [
        {"action": "set-snapshot-ref", "ref-name": "b", "type": "branch", "snapshot-id": 9}
    ],
    "reference of no kind": [*appended(), {**appended()[1], "ref-name": "b", "type": "x"}],
    "negative age": [*appended(), {**appended()[1], "max-ref-age-ms": -1}],
    "age is a text": [*appended(), {**appended()[1], "max-ref-age-ms": "1"}],
    "tag keeps snapshots": [
        *appended(),
        {**appended()[1], "ref-name": "x", "type": "tag", "min-snapshots-to-keep": 1},
    ],
    "reference name is a list": [{"action": "remove-snapshot-ref", "ref-name": ["main"]}],
    "statistics without size": [
        {"action": "set-statistics", "statistics": without(STATISTICS, "file-size-in-bytes")}
    ],
    "statistics without blobs": [
        {"action": "set-statistics", "statistics": without(STATISTICS, "blob-metadata")}
    ],
    "blob without fields": [
        {"action": "set-statistics", "statistics": {**STATISTICS, "blob-metadata": [without(BLOB, "fields")]}}
    ],
    "partition statistics without path": [
        {"action": "set-partition-statistics", "partition-statistics": {"snapshot-id": 1}}
    ],
    "key of a later format": [
        {"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": "eA=="}}
    ],
    # the table itself
    "uuid is no uuid": [{"action": "assign-uuid", "uuid": "x"}],
    "uuid is a number": [{"action": "assign-uuid", "uuid": 7}],
    "uuid of another": [{"action": "assign-uuid", "uuid": str(uuid.UUID(int=7))}],
    "format version is true": [{"action": "upgrade-format-version", "format-version": True}],
    "format version is a text": [{"action": "upgrade-format-version", "format-version": "3"}],
    "location is null": [{"action": "set-location", "location": None}],
    "property is null": [{"action": "set-properties", "updates": {"a": None}}],
    "properties are a list": [{"action": "set-properties", "updates": ["a"]}],
    "name mapping of nothing": [
        {"action": "set-properties", "updates": {"schema.name-mapping.default": "[{"}}
    ],
    "removals are a number": [{"action": "remove-properties", "removals": 5}],
    "schema ids are a text": [{"action": "remove-schemas", "schema-ids": "0"}],
    "snapshot ids are unhashable": [{"action": "remove-snapshots", "snapshot-ids": [{}]}],
    "action is a list": [{"action": ["set-properties"]}],
}


def pointer(api: Api) -> Any:
    answer = api("admin", "GET", TABLE)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    TableMetadataUtil.parse_obj(found["metadata"])
    assert api("admin", "GET", GRAVITINO).status_code == 200
    return found


def commit(api: Api, updates: Any, requirements: Any = ()) -> Any:
    location = api("admin", "GET", TABLE).json()["metadata"]["location"]
    body = json.dumps({"requirements": list(requirements), "updates": updates}).replace("/nowhere", location)
    return api("admin", "POST", TABLE, content=body.encode(), headers={"Content-Type": "application/json"})


@pytest.mark.slow
@pytest.mark.parametrize("updates", BAD.values(), ids=BAD.keys())
def test_what_no_client_could_load_is_refused_and_nothing_is_changed(api: Api, updates: Any) -> None:
    assert create(api).status_code == 200
    before = pointer(api)
    # One after the other, so that what is wrong only over former rows meets some.
    if updates[:2] == appended():
        assert commit(api, appended()).status_code == 200
        before, updates = pointer(api), updates[2:] or updates
    assert failed(commit(api, updates)) == (400, "IllegalArgumentException")
    assert pointer(api) == before


@pytest.mark.parametrize(
    "requirement",
    [
        {"type": "assert-table-uuid", "uuid": 7},
        {"type": "assert-table-uuid"},
        {"type": "assert-ref-snapshot-id", "ref": ["main"], "snapshot-id": None},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": "x"},
        {"type": "assert-current-schema-id", "current-schema-id": HUGE},
        {"type": "assert-current-schema-id", "current-schema-id": {}},
        {"type": ["assert-create"]},
        {"type": "assert-nothing"},
        {},
    ],
)
def test_requirements_that_mean_nothing_are_refused(api: Api, requirement: Any) -> None:
    assert create(api).status_code == 200
    before = pointer(api)
    answer = commit(api, [{"action": "set-properties", "updates": {"a": "1"}}], [requirement])
    assert failed(answer) == (400, "IllegalArgumentException")
    assert pointer(api) == before


@pytest.mark.parametrize(
    "body",
    [
        {"schema": {"type": "struct", "fields": [{**ID, "type": "text"}]}},
        {"schema": {"type": "struct", "fields": [without(ID, "required")]}},
        {"schema": {**SCHEMA, "identifier-field-ids": [9]}},
        {"schema": {**SCHEMA, "identifier-field-ids": [[1]]}},
        {"schema": {**SCHEMA, "identifier-field-ids": 1}},
        {"schema": {"type": "struct", "fields": [{**ID, "id": HUGE}]}},
        {"partition-spec": {"fields": ["x"]}},
        {"partition-spec": {"fields": [part(transform="year")]}},
        {"write-order": {"fields": [{"source-id": 1}]}},
        {"write-order": {"fields": 5}},
        {"properties": {"schema.name-mapping.default": "{"}},
        {"properties": {"format-version": "9"}},
    ],
)
def test_neither_is_such_a_table_created_or_staged(api: Api, body: Any) -> None:
    for staged in (False, True):
        sent = json.dumps({"name": "t", "schema": SCHEMA, "stage-create": staged, **body}).encode()
        answer = api("admin", "POST", f"{ICE}/namespaces/s/tables", content=sent)
        assert failed(answer) == (400, "IllegalArgumentException")
    assert failed(api("admin", "GET", TABLE))[0] == 404


GOOD: dict[str, list[Any]] = {
    "append": appended(),
    "wider types": [*appended(), *reshaped(ID, NAME, NEW), *reshaped(ID, NAME, {**NEW, "type": "long"})],
    "drop and add": [*reshaped(ID), *reshaped(ID, {**NEW, "name": "name"})],
    "layout": [*laid_out(part()), *sorted_by()],
    "tag": [*appended(), {**appended()[1], "ref-name": "x", "type": "tag", "max-ref-age-ms": 5}],
    "statistics": [*appended(), {"action": "set-statistics", "statistics": STATISTICS}],
    "an old clock": appended(timestamp_ms=5),
    "format 3": [
        {"action": "upgrade-format-version", "format-version": 3},
        *reshaped(ID, NAME, {**NEW, "type": "timestamp_ns"}),
        *appended(first_row_id=0, added_rows=3),
    ],
    "replaced by a table of other types": [
        {"action": "remove-snapshot-ref", "ref-name": "main"},
        *reshaped({**ID, "type": "string"}, NAME),
        *appended(snapshot_id=2, sequence_number=2),
    ],
}


@pytest.mark.parametrize("updates", GOOD.values(), ids=GOOD.keys())
def test_what_the_specification_allows_is_accepted(api: Api, updates: Any) -> None:
    assert create(api).status_code == 200
    if updates is GOOD["replaced by a table of other types"]:
        assert commit(api, appended()).status_code == 200
    answer = commit(api, updates)
    assert answer.status_code == 200, answer.text
    pointer(api)


def test_a_former_field_id_is_not_given_to_another_column(api: Api) -> None:
    assert create(api).status_code == 200
    assert commit(api, reshaped(ID)).status_code == 200
    assert failed(commit(api, reshaped(ID, {**NEW, "id": 2})))[0] == 400
    assert commit(api, reshaped(ID, NAME)).status_code == 200, "the very column may come back"


def test_a_replaced_table_does_not_go_back_to_rows_of_other_types(api: Api) -> None:
    assert create(api).status_code == 200
    assert commit(api, appended()).status_code == 200
    assert commit(api, GOOD["replaced by a table of other types"]).status_code == 200
    assert failed(commit(api, appended()[1:]))[0] == 400


# -- whatever anybody sends -----------------------------------------------------------------------------------------

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, 2, -1, 1000, NOW, "", "main", "long", "string", "identity", "bucket[4]"]),
    st.text(max_size=5),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(
        st.sampled_from(["id", "name", "type", "fields", "operation"]), st.text(max_size=3), max_size=2
    ),
)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [way] if way else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        found += places(one, (*way, key))
    return found


@st.composite
def mutated(draw: st.DrawFn) -> list[Any]:
    """Updates that mean something, with some of their values replaced or taken out."""
    several = draw(st.lists(st.sampled_from([*GOOD.values(), *BAD.values()]), min_size=1, max_size=3))
    updates = copy.deepcopy([update for each in several for update in each])
    for _ in range(draw(st.integers(0, 3))):
        deep = [way for way in places(updates) if len(way) > 1]
        if not deep:
            break
        *way, last = draw(st.sampled_from(deep))
        at: Any = updates
        for step in way:
            at = at[step]
        if draw(st.booleans()) and isinstance(at, dict):
            del at[last]
        else:
            at[last] = draw(VALUES)
    return updates


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(several=st.lists(mutated(), min_size=1, max_size=3))
def test_whatever_is_accepted_loads_and_whatever_is_refused_changes_nothing(
    api: Api, steward: Steward, several: list[list[Any]]
) -> None:
    api("admin", "DELETE", TABLE)
    assert create(api).status_code == 200
    before = pointer(api)
    for updates in several:
        answer = commit(api, updates)
        assert answer.status_code in (200, 400, 409), answer.text
        after = pointer(api)
        if answer.status_code == 200:
            assert after["metadata-location"] == answer.json()["metadata-location"]
            node = steward.kernel.authority().find(ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "t")))
            assert node is not None
            assert steward.shapes.of(steward.kernel.authority(), node) is not None, "policies can be decided"
        else:
            assert after == before
        before = after
