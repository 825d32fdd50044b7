"""A residual keeps of a file exactly the rows that the client's filter keeps, and is *true* only where that is all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from pyiceberg.catalog.rest.scan_planning import RESTFileScanTask
from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import bind, expression_evaluator
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    DoubleType,
    FloatType,
    LongType,
    StringType,
    TimestampType,
)

from headgate.planning import ManifestIndex, Plan, PlanRequest, Veil
from headgate.planning.filters.residual import LONGEST
from tests.planning.forge import Forge, ForgedFile, ForgedManifest, ForgedSnapshot, plan, simple_schema
from tests.planning.strategies import SMALL, RandomFilter, RandomTable, filters, tables
from tests.planning.test_plans_miss_no_file import forged, matching_rows


def residuals(made: Plan) -> dict[str, Any]:
    tasks = json.loads(b"{" + made.body() + b"}")["file-scan-tasks"]
    return {task["data-file"]["file-path"]: task["residual-filter"] for task in tasks}


def parsed(made: Plan) -> dict[str, BooleanExpression]:
    """The residuals as pyiceberg's client reads them; it reads no NULL among partition values."""
    tasks = json.loads(b"{" + made.body() + b"}")["file-scan-tasks"]
    without = [{**task, "data-file": {**task["data-file"], "partition": []}} for task in tasks]
    read = [RESTFileScanTask.model_validate_json(json.dumps(task)) for task in without]
    return {task.data_file.file_path: task.residual_filter or AlwaysTrue() for task in read}


def kept(schema: Schema, file: ForgedFile, residual: BooleanExpression) -> int:
    if isinstance(residual, AlwaysTrue | AlwaysFalse):
        return len(file.rows) if isinstance(residual, AlwaysTrue) else 0
    matches = expression_evaluator(schema, residual, True)
    ids = [field.field_id for field in schema.fields]
    return sum(bool(matches(Record(*(row.get(i) for i in ids)))) for row in file.rows)


@SMALL
@given(tables(), filters)
def test_what_a_residual_keeps_is_what_the_filter_keeps(table: RandomTable, chosen: RandomFilter) -> None:
    with forged(table) as (forge, metadata):
        made = plan(metadata, PlanRequest(filter=chosen.json), io=forge.io, index=ManifestIndex())
        files = {file.path: file for file in table.files}
        for path, residual in parsed(made).items():
            bind(table.schema, residual, True)
            wanted = matching_rows(table, files[path], chosen)
            if residual == AlwaysTrue():
                assert wanted == len(files[path].rows)
            elif 12 in chosen.columns:
                # Bytes are sent back as something that keeps every row: Java's client reads them as text.
                assert kept(table.schema, files[path], residual) >= wanted
            else:
                assert kept(table.schema, files[path], residual) == wanted


@SMALL
@given(tables(), filters)
def test_a_residual_of_a_page_is_that_of_the_whole_plan(table: RandomTable, chosen: RandomFilter) -> None:
    with forged(table) as (forge, metadata):
        request = PlanRequest(filter=chosen.json)
        made = plan(metadata, request, io=forge.io, index=ManifestIndex())
        whole = json.loads(b"{" + made.body() + b"}")["file-scan-tasks"]
        single = [
            json.loads(b"{" + made.body(n, n + 1) + b"}")["file-scan-tasks"][0]
            for n in range(made.file_count)
        ]
        assert [task["residual-filter"] for task in single] == [task["residual-filter"] for task in whole]
        with_statistics = PlanRequest(filter=chosen.json, stats_fields=("a",))
        again = plan(metadata, with_statistics, io=forge.io, index=ManifestIndex())
        assert residuals(again) == residuals(made)


SCHEMA = simple_schema(
    ("id", LongType()),
    ("region", StringType()),
    ("ts", TimestampType()),
    ("share", DoubleType()),
    ("ratio", FloatType()),
    ("raw", BinaryType()),
)
IDENTITY = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region"), spec_id=0)


def planned(
    folder: Path, spec: PartitionSpec, partitions: list[tuple[Any, ...]], request: PlanRequest, **more: Any
) -> Plan:
    folder.mkdir(exist_ok=True)
    forge = Forge(folder, [SCHEMA], [spec])
    files = tuple(
        ForgedFile(f"s3://lake/{n}", ({1: n},), partition=each, metrics="none")
        for n, each in enumerate(partitions)
    )
    metadata = forge.table(ForgedSnapshot((ForgedManifest(files, summaries=False),)))
    return plan(metadata, request, io=forge.io, index=ManifestIndex(), **more)


def of(kind: str, term: str, value: Any = None) -> dict[str, Any]:
    return {"type": kind, "term": term} | ({} if value is None else {"value": value})


def both(left: Any, right: Any) -> dict[str, Any]:
    return {"type": "and", "left": left, "right": right}


def test_without_a_partition_the_residual_is_the_filter(tmp_path: Path) -> None:
    wanted = both(of("eq", "id", 3), {"type": "in", "term": "region", "values": ["EU", "US"]})
    made = planned(tmp_path, PartitionSpec(), [()], PlanRequest(filter=wanted))
    assert residuals(made) == {"s3://lake/0": wanted}


def test_what_an_identity_partition_decides_is_gone(tmp_path: Path) -> None:
    wanted = both(of("eq", "region", "EU"), of("gt", "id", 3))
    made = planned(tmp_path, IDENTITY, [("EU",), ("US",)], PlanRequest(filter=wanted))
    assert residuals(made) == {"s3://lake/0": of("gt", "id", 3)}
    only = planned(tmp_path / "only", IDENTITY, [("EU",)], PlanRequest(filter=of("eq", "region", "EU")))
    assert residuals(only) == {"s3://lake/0": True}


def test_each_file_is_held_against_the_spec_it_was_written_with(tmp_path: Path) -> None:
    forge = Forge(tmp_path, [SCHEMA], [PartitionSpec(spec_id=0), PartitionSpec(*IDENTITY.fields, spec_id=1)])
    old = ForgedFile("s3://lake/old", ({2: "EU"}, {2: "US"}), metrics="none")
    new = ForgedFile("s3://lake/new", ({2: "EU"},), partition=("EU",), spec_id=1, metrics="none")
    metadata = forge.table(
        ForgedSnapshot((ForgedManifest((old,), spec_id=0), ForgedManifest((new,), spec_id=1)))
    )
    request = PlanRequest(filter=of("eq", "region", "EU"))
    made = plan(metadata, request, io=forge.io, index=ManifestIndex())
    assert residuals(made) == {"s3://lake/old": of("eq", "region", "EU"), "s3://lake/new": True}


def test_null_partitions_are_left_where_engines_disagree(tmp_path: Path) -> None:
    unequal = of("not-eq", "region", "EU")
    made = planned(tmp_path / "a", IDENTITY, [(None,), ("US",), ("EU",)], PlanRequest(filter=unequal))
    assert residuals(made) == {"s3://lake/0": unequal, "s3://lake/1": True}
    null = planned(tmp_path / "b", IDENTITY, [(None,), ("US",)], PlanRequest(filter=of("is-null", "region")))
    assert residuals(null) == {"s3://lake/0": True}
    smaller = planned(
        tmp_path / "c", IDENTITY, [(None,), ("US",)], PlanRequest(filter=of("lt", "region", "Z"))
    )
    assert residuals(smaller) == {"s3://lake/1": True}


def test_nan_partitions_are_left_where_engines_disagree(tmp_path: Path) -> None:
    spec = PartitionSpec(PartitionField(4, 1000, IdentityTransform(), "share"), spec_id=0)
    partitions: list[tuple[Any, ...]] = [(float("nan"),), (2.0,), (0.5,)]
    for kind in ("gt", "gt-eq"):
        more = of(kind, "share", 1)
        made = planned(tmp_path / kind, spec, partitions, PlanRequest(filter=more))
        assert residuals(made) == {"s3://lake/0": more, "s3://lake/1": True}
    nan = planned(tmp_path / "nan", spec, partitions, PlanRequest(filter=of("is-nan", "share")))
    assert residuals(nan) == {"s3://lake/0": True}


def test_a_literal_that_engines_may_round_decides_nothing(tmp_path: Path) -> None:
    spec = PartitionSpec(PartitionField(5, 1000, IdentityTransform(), "ratio"), spec_id=0)
    wanted = of("eq", "ratio", 0.1)
    made = planned(tmp_path, spec, [(0.1,), (0.5,)], PlanRequest(filter=wanted))
    assert residuals(made) == {"s3://lake/0": wanted}


def test_a_time_is_decided_where_the_whole_partition_lies_within(tmp_path: Path) -> None:
    spec = PartitionSpec(PartitionField(3, 1000, DayTransform(), "day"), spec_id=0)
    late = of("gt-eq", "ts", "2020-01-02T12:00:00")
    partitions = [(18262,), (18263,), (18264,)]
    made = planned(tmp_path, spec, partitions, PlanRequest(filter=late))
    assert residuals(made) == {"s3://lake/1": late, "s3://lake/2": True}
    early = of("lt", "ts", "1969-12-30T00:00:00")
    old = planned(tmp_path / "old", spec, [(-5,)], PlanRequest(filter=early))
    assert residuals(old) == {"s3://lake/0": early}, "early writers rounded such times up"


@pytest.mark.parametrize(
    ("transform", "value"),
    [(BucketTransform(4), 2), (TruncateTransform(2), "EU")],
    ids=["bucket", "truncate"],
)
def test_a_transform_that_does_not_decide_leaves_the_predicate(
    tmp_path: Path, transform: Any, value: Any
) -> None:
    spec = PartitionSpec(PartitionField(2, 1000, transform, "p"), spec_id=0)
    names = [
        name
        for name in ("EUR", "EUX", "EUB", "EUZ", "EUQ")
        if transform.transform(StringType())(name) == value
    ]
    wanted = of("eq", "region", names[0])
    made = planned(tmp_path, spec, [(value,)], PlanRequest(filter=wanted))
    assert residuals(made) == {"s3://lake/0": wanted}


def test_columns_are_named_as_the_client_named_them(tmp_path: Path) -> None:
    by_id = {"type": "gt", "left": {"type": "reference", "id": 1}, "right": {"type": "literal", "value": 3}}
    not_upper = {"type": "not", "child": of("lt", "ID", 9)}
    request = PlanRequest(filter=both(by_id, not_upper), case_sensitive=False)
    made = planned(tmp_path, PartitionSpec(), [()], request)
    assert residuals(made) == {"s3://lake/0": both(of("gt", "id", 3), of("gt-eq", "ID", 9))}


def test_a_transform_in_the_filter_comes_back_as_it_was_sent(tmp_path: Path) -> None:
    term = {"type": "transform", "transform": "bucket[4]", "term": "id"}
    wanted = {"type": "eq", "term": term, "value": 1}
    made = planned(tmp_path, PartitionSpec(), [()], PlanRequest(filter=wanted))
    assert residuals(made) == {"s3://lake/0": wanted}


ANY_RAW = {"type": "or", "left": of("is-null", "raw"), "right": of("not-null", "raw")}


def test_bytes_come_back_as_what_every_client_can_read(tmp_path: Path) -> None:
    made = planned(tmp_path, PartitionSpec(), [()], PlanRequest(filter=of("eq", "raw", "0AFF")))
    assert residuals(made) == {"s3://lake/0": ANY_RAW}


def test_a_masked_column_is_neither_decided_nor_skipped_by(tmp_path: Path) -> None:
    veil = Veil(masked_field_ids=frozenset({2}))
    request = PlanRequest(filter=of("eq", "region", "EU"))
    made = planned(tmp_path, IDENTITY, [("EU",), ("US",)], request, veil=veil)
    any_region = {"type": "or", "left": of("is-null", "region"), "right": of("not-null", "region")}
    assert residuals(made) == {"s3://lake/0": any_region, "s3://lake/1": any_region}


def test_the_policys_filter_is_in_no_residual(tmp_path: Path) -> None:
    veil = Veil(row_filter=both(of("eq", "region", "EU"), of("gt", "id", 100)), exact=True)
    made = planned(tmp_path, IDENTITY, [("EU",)], PlanRequest(filter=of("lt", "id", 7)), veil=veil)
    assert residuals(made) == {"s3://lake/0": of("lt", "id", 7)}
    whole = planned(tmp_path / "whole", IDENTITY, [("EU",)], PlanRequest(), veil=veil)
    assert residuals(whole) == {"s3://lake/0": True}


def test_a_long_filter_is_not_repeated_beside_every_file(tmp_path: Path) -> None:
    many = {"type": "in", "term": "id", "values": list(range(10_000))}
    made = planned(tmp_path, PartitionSpec(), [()], PlanRequest(filter=many))
    (residual,) = residuals(made).values()
    assert residual == {"type": "or", "left": of("is-null", "id"), "right": of("not-null", "id")}
    assert len(json.dumps(residual)) < LONGEST


def test_a_scan_without_a_filter_evaluates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("a residual was looked for")

    monkeypatch.setattr("headgate.planning.filters.residual.Residuals._chosen", never)
    made = planned(tmp_path, IDENTITY, [("EU",), (None,)], PlanRequest())
    assert residuals(made) == {"s3://lake/0": True, "s3://lake/1": True}
