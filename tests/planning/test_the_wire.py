"""What is sent: each field as clients parse it, row ids inherited, and requests read as clients word them."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest.scan_planning import RESTFileScanTask
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from headgate.planning import (
    InvalidFilterError,
    InvalidRequestError,
    ManifestIndex,
    PlanRequest,
    UnknownColumnError,
)
from tests.planning.forge import (
    DELETED,
    Forge,
    ForgedFile,
    ForgedManifest,
    ForgedSnapshot,
    plan,
    simple_schema,
)

SCHEMA = simple_schema(
    ("id", LongType()),
    ("name", StringType()),
    ("day", DateType()),
    ("ts", TimestampType()),
    ("tz", TimestamptzType()),
    ("price", DecimalType(9, 2)),
    ("flag", BooleanType()),
    ("ratio", FloatType()),
    ("share", DoubleType()),
)


def answer(forge: Forge, metadata: dict[str, Any], request: PlanRequest) -> dict[str, Any]:
    return dict(json.loads(b"{" + plan(metadata, request, io=forge.io, index=ManifestIndex()).body() + b"}"))


def one_file(
    folder: Path, file: ForgedFile, spec: PartitionSpec | None = None, schema: Schema = SCHEMA
) -> Any:
    forge = Forge(folder, [schema], [spec or PartitionSpec()])
    return forge, forge.table(ForgedSnapshot((ForgedManifest((file,)),)))


def test_a_file_scan_task_has_every_field_clients_need(tmp_path: Path) -> None:
    forge, metadata = one_file(
        tmp_path, ForgedFile("s3://lake/a.parquet", ({1: 7, 2: "x"},), split_offsets=(4, 900))
    )
    assert answer(forge, metadata, PlanRequest()) == {
        "file-scan-tasks": [
            {
                "data-file": {
                    "spec-id": 0,
                    "content": "data",
                    "file-path": "s3://lake/a.parquet",
                    "file-format": "parquet",
                    "partition": [],
                    "file-size-in-bytes": 1001,
                    "record-count": 1,
                    "split-offsets": [4, 900],
                    "sort-order-id": 0,
                },
                "residual-filter": True,
            }
        ],
        "delete-files": [],
    }


def test_pyiceberg_reads_the_tasks(tmp_path: Path) -> None:
    forge, metadata = one_file(tmp_path, ForgedFile("s3://lake/a.parquet", ({1: 7, 2: "x"},)))
    request = PlanRequest(stats_fields=("id", "name"))
    task = answer(forge, metadata, request)["file-scan-tasks"][0]
    parsed = RESTFileScanTask.model_validate(task).data_file
    assert (parsed.file_path, parsed.record_count) == ("s3://lake/a.parquet", 1)
    assert parsed.lower_bounds is not None
    assert bytes.fromhex(task["data-file"]["lower-bounds"]["values"][1]) == b"x"


def test_statistics_come_only_for_the_columns_asked_for(tmp_path: Path) -> None:
    rows = ({1: 7, 2: None, 8: 0.5}, {1: -1, 2: None, 8: float("nan")})
    forge, metadata = one_file(tmp_path, ForgedFile("s3://lake/a.parquet", rows))
    file = answer(forge, metadata, PlanRequest(stats_fields=("ratio", "id", "name")))["file-scan-tasks"][0][
        "data-file"
    ]
    assert file["value-counts"] == {"keys": [8, 1, 2], "values": [2, 2, 2]}
    assert file["null-value-counts"] == {"keys": [8, 1, 2], "values": [0, 0, 2]}
    assert file["nan-value-counts"] == {"keys": [8], "values": [1]}
    assert file["lower-bounds"] == {"keys": [8, 1], "values": ["0000003F", "FFFFFFFFFFFFFFFF"]}
    assert file["upper-bounds"] == {"keys": [8, 1], "values": ["0000003F", "0700000000000000"]}
    assert "lower-bounds" not in answer(forge, metadata, PlanRequest())["file-scan-tasks"][0]["data-file"]


def test_statistics_of_files_that_differ_are_each_files_own(tmp_path: Path) -> None:
    forge = Forge(tmp_path, [SCHEMA])
    files = (
        ForgedFile("s3://lake/a", ({1: 7},), metrics="none"),
        ForgedFile("s3://lake/b", ({1: 7, 2: "long enough"},)),
        ForgedFile("s3://lake/c", ({2: "z"},)),
    )
    metadata = forge.table(ForgedSnapshot((ForgedManifest(files),)))
    tasks = answer(forge, metadata, PlanRequest(stats_fields=("id", "name")))["file-scan-tasks"]
    assert "lower-bounds" not in tasks[0]["data-file"], "whatever others have, it has none"
    keys = [task["data-file"]["lower-bounds"]["keys"] for task in tasks[1:]]
    values = [task["data-file"]["lower-bounds"]["values"] for task in tasks[1:]]
    assert keys == [[1, 2], [2]]
    assert values == [["0700000000000000", b"long enough".hex().upper()], [b"z".hex().upper()]]


def test_partition_values_are_in_icebergs_json_form(tmp_path: Path) -> None:
    columns = [
        (3, IdentityTransform(), 0, "1970-01-01"),
        (3, YearTransform(), 52, 52),
        (4, DayTransform(), 19_000, "2022-01-08"),
        (4, HourTransform(), 7, 7),
        (4, IdentityTransform(), 1_500_000, "1970-01-01T00:00:01.500000"),
        (5, IdentityTransform(), 0, "1970-01-01T00:00:00.000000+00:00"),
        (6, IdentityTransform(), Decimal("14.20"), "14.20"),
        (7, IdentityTransform(), True, True),
        (2, IdentityTransform(), 'a"b\\ü', 'a"b\\ü'),
        (2, BucketTransform(num_buckets=4), 3, 3),
        (1, IdentityTransform(), None, None),
        (8, IdentityTransform(), 0.5, 0.5),
        (1, VoidTransform(), None, None),
    ]
    fields = [PartitionField(s, 1000 + n, t, f"p{n}") for n, (s, t, _, _) in enumerate(columns)]
    file = ForgedFile("s3://lake/a", ({1: 1},), tuple(value for *_, value, _ in columns))
    forge, metadata = one_file(tmp_path, file, PartitionSpec(*fields, spec_id=0))
    sent = answer(forge, metadata, PlanRequest())["file-scan-tasks"][0]["data-file"]["partition"]
    assert sent == [expected for *_, expected in columns]


def test_paths_are_escaped(tmp_path: Path) -> None:
    path = 's3://lake/k="v"\\\n\x01é.parquet'
    forge, metadata = one_file(tmp_path, ForgedFile(path, ({1: 1},)))
    assert answer(forge, metadata, PlanRequest())["file-scan-tasks"][0]["data-file"]["file-path"] == path


def test_row_ids_are_inherited_past_deleted_and_numbered_files(tmp_path: Path) -> None:
    forge = Forge(tmp_path, [SCHEMA], version=3)
    rows = ({1: 1}, {1: 2})
    files = (
        ForgedFile("s3://lake/a", rows),
        ForgedFile("s3://lake/gone", rows, status=DELETED),
        ForgedFile("s3://lake/b", rows, first_row_id=7),
        ForgedFile("s3://lake/c", rows),
    )
    manifests = (
        ForgedManifest(files, first_row_id=1_000),
        ForgedManifest((ForgedFile("s3://lake/d", rows),)),
    )
    tasks = answer(forge, forge.table(ForgedSnapshot(manifests)), PlanRequest())["file-scan-tasks"]
    ids = {task["data-file"]["file-path"][-1]: task["data-file"].get("first-row-id") for task in tasks}
    assert ids == {"a": 1_000, "b": 7, "c": 1_002, "d": None}


def test_names_are_matched_by_case_only_where_asked(tmp_path: Path) -> None:
    forge, metadata = one_file(tmp_path, ForgedFile("s3://lake/a", ({1: 1},)))
    request = PlanRequest(
        filter={"type": "eq", "term": "ID", "value": 5}, case_sensitive=False, select=("ID", "Name")
    )
    assert answer(forge, metadata, request)["file-scan-tasks"] == []
    with pytest.raises(UnknownColumnError, match="ID"):
        answer(forge, metadata, PlanRequest(filter=request.filter))


@pytest.mark.parametrize(
    "filter_",
    [
        {"type": "eq", "term": "day", "value": 0},
        {"type": "eq", "term": "day", "value": "1970-01-01"},
        {"type": "eq", "left": "day", "right": {"type": "literal", "value": 0, "data-type": "date"}},
        {"type": "gt", "left": {"type": "literal", "value": 1}, "right": {"type": "reference", "id": 3}},
        {"type": "eq", "term": "ts", "value": 3_600_000_000},
        {"type": "eq", "term": "tz", "value": "1970-01-01T00:00:00+00:00"},
        {"type": "in", "term": "price", "values": ["1.50", 3]},
        {"type": "eq", "term": "flag", "value": True},
        {"type": "eq", "term": "ratio", "value": 0.1},
    ],
)
def test_literals_are_read_as_java_and_python_send_them(tmp_path: Path, filter_: Any) -> None:
    forge = Forge(tmp_path, [SCHEMA])
    hit = {3: 0, 4: 3_600_000_000, 5: 0, 6: Decimal("1.50"), 7: True, 8: 0.10000000149011612}
    miss = {3: 5, 4: 0, 5: 99, 6: Decimal("9.99"), 7: False, 8: 7.0}
    files = (ForgedFile("s3://lake/hit", (hit,)), ForgedFile("s3://lake/miss", (miss,)))
    metadata = forge.table(ForgedSnapshot((ForgedManifest(files),)))
    tasks = answer(forge, metadata, PlanRequest(filter=filter_))["file-scan-tasks"]
    assert [task["data-file"]["file-path"] for task in tasks] == ["s3://lake/hit"]


@pytest.mark.parametrize(
    "filter_",
    [
        "id = 5",
        {"type": "like", "term": "id", "value": 5},
        {"type": "eq", "term": "id"},
        {"type": "eq", "value": 5},
        {"type": "eq", "term": "id", "left": "id", "right": 5, "value": 5},
        {"type": "eq", "term": "id", "value": "five"},
        {"type": "eq", "term": "id", "value": 1.5},
        {"type": "eq", "term": "price", "value": "1.505"},
        {"type": "in", "term": "id", "values": 5},
        {"type": "eq", "term": "id", "value": None},
        {"type": "eq", "term": 1.5, "value": 5},
        {"type": "and", "left": True},
        {"type": "eq", "term": "ratio", "value": "NaN"},
    ],
)
def test_a_malformed_filter_is_refused(tmp_path: Path, filter_: Any) -> None:
    forge, metadata = one_file(tmp_path, ForgedFile("s3://lake/a", ({1: 1},)))
    with pytest.raises(InvalidFilterError):
        answer(forge, metadata, PlanRequest(filter=filter_))


def test_a_filter_too_deep_is_refused(tmp_path: Path) -> None:
    forge, metadata = one_file(tmp_path, ForgedFile("s3://lake/a", ({1: 1},)))
    node: Any = {"type": "is-null", "term": "id"}
    for _ in range(300):
        node = {"type": "not", "child": node}
    with pytest.raises(InvalidFilterError, match="deeper"):
        answer(forge, metadata, PlanRequest(filter=node))


@pytest.mark.parametrize("count", [3, 5_000])
def test_large_sets_keep_every_file_that_may_match(tmp_path: Path, count: int) -> None:
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"), spec_id=0)
    forge = Forge(tmp_path, [SCHEMA], [spec])
    files = tuple(
        ForgedFile(f"s3://lake/{n}", ({1: n, 2: str(n)},), (str(n),)) for n in (0, 2, count, 10 * count)
    )
    metadata = forge.table(ForgedSnapshot((ForgedManifest(files),)))
    wanted = list(range(1, count + 1))
    for filter_ in (
        {"type": "in", "term": "id", "values": wanted},
        {"type": "in", "term": "name", "values": [str(n) for n in wanted]},
    ):
        tasks = answer(forge, metadata, PlanRequest(filter=filter_))["file-scan-tasks"]
        assert [task["data-file"]["record-count"] for task in tasks] == [1, 1]
        assert {task["data-file"]["file-path"] for task in tasks} == {"s3://lake/2", f"s3://lake/{count}"}


@pytest.mark.parametrize("term", ["nonsense", {"type": "reference", "id": 77}])
def test_a_filter_on_an_unknown_column_names_it(tmp_path: Path, term: Any) -> None:
    forge, metadata = one_file(tmp_path, ForgedFile("s3://lake/a", ({1: 1},)))
    with pytest.raises(UnknownColumnError, match=r"nonsense|77"):
        answer(forge, metadata, PlanRequest(filter={"type": "eq", "term": term, "value": 1}))


def test_null_checks_inside_an_optional_struct_prune_nothing(tmp_path: Path) -> None:
    from pyiceberg.types import NestedField

    struct = StructType(NestedField(2, "b", LongType(), required=True))
    schema = Schema(NestedField(1, "a", struct, required=False), schema_id=0)
    forge, metadata = one_file(tmp_path, ForgedFile("s3://lake/a", records=1, raw_metrics={}), schema=schema)
    for kind in ("is-null", "not-null"):
        request = PlanRequest(filter={"type": kind, "term": "a.b"})
        assert len(answer(forge, metadata, request)["file-scan-tasks"]) == 1


def test_a_request_is_parsed_as_the_protocol_words_it() -> None:
    body = b'{"snapshot-id": 5, "select": ["a"], "case-sensitive": false, "min-rows-requested": 3, "stats-fields": []}'
    assert PlanRequest.from_json(body) == PlanRequest(
        snapshot_id=5, select=("a",), case_sensitive=False, min_rows_requested=3, stats_fields=()
    )


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"snapshot-id": "x"}',
        b'{"start-snapshot-id": 1}',
        b'{"snapshot-id": 1, "start-snapshot-id": 1, "end-snapshot-id": 2}',
        b'{"min-rows-requested": -1}',
        b'{"snapshot-id": 1, "ref": "main"}',
        b'{"filter": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_a_contradictory_request_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequestError):
        PlanRequest.from_json(body)
