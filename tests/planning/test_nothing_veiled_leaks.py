"""Original values of hidden and masked columns leave a plan neither as data nor through the choice of files."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform, TruncateTransform
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType

from headgate.planning import ManifestIndex, Plan, PlanRequest, UnknownColumnError, Veil
from tests.planning.forge import (
    EQUALITY_DELETES,
    PATH_COLUMN,
    POSITION_COLUMN,
    POSITION_DELETES,
    Forge,
    ForgedFile,
    ForgedManifest,
    ForgedSnapshot,
    plan,
    simple_schema,
)
from tests.planning.strategies import SMALL, RandomFilter, RandomTable, filters, tables

SCHEMA = simple_schema(
    ("id", LongType()), ("ssn", StringType()), ("region", StringType()), ("age", IntegerType())
)
SSN, REGION, AGE = 2, 3, 4
SPEC = PartitionSpec(
    PartitionField(2, 1000, TruncateTransform(width=7), "ssn_trunc"),
    PartitionField(3, 1001, IdentityTransform(), "region"),
    PartitionField(2, 1002, IdentityTransform(), "ssn_plain"),
    PartitionField(4, 1003, BucketTransform(num_buckets=8), "age_bucket"),
    spec_id=0,
)
SECRETS = ("123-45-6789", "987-65-4321")


def secret_table(folder: Path) -> tuple[Forge, dict[str, Any]]:
    forge = Forge(folder, [SCHEMA], [SPEC])
    files = tuple(
        ForgedFile(
            f"s3://lake/t/{n}.parquet",
            ({1: n, SSN: secret, REGION: region, AGE: 40 + n},),
            (secret[:7], region, secret, n),
        )
        for n, (secret, region) in enumerate(zip(SECRETS, ("EU", "US"), strict=True))
    )
    deletes = ForgedFile(
        "s3://lake/t/d.parquet",
        partition=(SECRETS[0][:7], "EU", SECRETS[0], 0),
        content=POSITION_DELETES,
        records=1,
        sequence=9,
    )
    manifests = (ForgedManifest(files), ForgedManifest((deletes,), content=1, sequence=9))
    return forge, forge.table(ForgedSnapshot(manifests))


def leaks(made: Plan) -> list[str]:
    text = made.body().decode()
    forms = [form for s in SECRETS for form in (s, s[:7], s.encode().hex(), s.encode().hex().upper())]
    return [form for form in forms if form in text]


@pytest.mark.parametrize(
    "veil", [Veil(masked_field_ids=frozenset({SSN})), Veil(hidden_field_ids=frozenset({SSN}))]
)
def test_statistics_and_partition_values_of_a_veiled_column_are_not_sent(tmp_path: Path, veil: Veil) -> None:
    forge, metadata = secret_table(tmp_path)
    index = ManifestIndex()
    names = ("id", "region", "age") if veil.hidden_field_ids else ("id", "ssn", "region", "age")
    open_plan = plan(metadata, PlanRequest(stats_fields=("ssn",)), io=forge.io, index=index)
    assert leaks(open_plan), "without a veil the values are there, so the test can see them"
    made = plan(metadata, PlanRequest(stats_fields=names), io=forge.io, index=index, veil=veil)
    assert made.file_count == 2
    assert leaks(made) == []
    answer = json.loads(b"{" + made.body() + b"}")
    for task in answer["file-scan-tasks"]:
        file = task["data-file"]
        assert file["partition"][0] is None
        assert file["partition"][2] is None
        assert file["partition"][1] in ("EU", "US")
        for kind in ("column-sizes", "value-counts", "null-value-counts", "lower-bounds", "upper-bounds"):
            assert SSN not in file[kind]["keys"]
            assert REGION in file[kind]["keys"]
    assert [d["partition"] for d in answer["delete-files"]] == [[None, "EU", None, 0]]


def test_a_file_is_never_said_to_conform_under_a_mask_or_hidden_column(tmp_path: Path) -> None:
    forge, metadata = secret_table(tmp_path)
    for veil in (Veil(masked_field_ids=frozenset({AGE})), Veil(hidden_field_ids=frozenset({AGE}))):
        made = plan(metadata, PlanRequest(), io=forge.io, index=ManifestIndex(), veil=veil)
        assert made.nonconforming_count == made.file_count == 2
        assert not made.conforms


PROBES = [
    {"type": "eq", "term": "ssn", "value": SECRETS[0]},
    {"type": "not", "child": {"type": "not-eq", "term": "ssn", "value": SECRETS[0]}},
    {"type": "not", "child": {"type": "eq", "term": "ssn", "value": SECRETS[0]}},
    {"type": "starts-with", "term": "ssn", "value": "123"},
    {"type": "in", "left": {"type": "reference", "id": SSN}, "right": {"type": "literal", "values": ["x"]}},
    {"type": "is-null", "term": "ssn"},
    {"type": "not", "child": {"type": "or", "left": {"type": "not-null", "term": "ssn"}, "right": False}},
    {"type": "eq", "term": {"type": "transform", "transform": "bucket[4]", "term": "ssn"}, "value": 1},
]


@pytest.mark.parametrize("probe", PROBES)
def test_probing_a_masked_column_chooses_no_files(tmp_path: Path, probe: dict[str, Any]) -> None:
    forge, metadata = secret_table(tmp_path)
    veil = Veil(masked_field_ids=frozenset({SSN}))
    made = plan(metadata, PlanRequest(filter=probe), io=forge.io, index=ManifestIndex(), veil=veil)
    assert made.file_count == 2


def test_min_rows_does_not_stop_early_on_a_masked_predicate(tmp_path: Path) -> None:
    forge, metadata = secret_table(tmp_path)
    request = PlanRequest(filter=PROBES[0], min_rows_requested=1)
    veil = Veil(masked_field_ids=frozenset({SSN}))
    assert plan(metadata, request, io=forge.io, index=ManifestIndex(), veil=veil).file_count == 2


def test_a_hidden_column_is_as_unknown_as_one_that_does_not_exist(tmp_path: Path) -> None:
    forge, metadata = secret_table(tmp_path)
    veil = Veil(hidden_field_ids=frozenset({SSN}))
    for column in ("ssn", "nonsense"):
        probe = {"type": "not", "child": {"type": "eq", "term": column, "value": "x"}}
        for request in (
            PlanRequest(select=(column,)),
            PlanRequest(stats_fields=(column,)),
            PlanRequest(filter=probe),
        ):
            with pytest.raises(UnknownColumnError, match=column):
                plan(metadata, request, io=forge.io, index=ManifestIndex(), veil=veil)


def test_the_row_filter_prunes_on_original_values_even_of_a_hidden_column(tmp_path: Path) -> None:
    forge, metadata = secret_table(tmp_path)
    row_filter = {"type": "eq", "left": {"type": "reference", "id": SSN}, "right": SECRETS[1]}
    veil = Veil(hidden_field_ids=frozenset({SSN}), row_filter=row_filter)
    made = plan(metadata, PlanRequest(), io=forge.io, index=ManifestIndex(), veil=veil)
    assert [file.path for file in made.files()] == ["s3://lake/t/1.parquet"]


@SMALL
@given(tables(), filters, st.data())
def test_a_clients_predicate_on_veiled_columns_never_changes_the_plan(
    table: RandomTable, chosen: RandomFilter, data: st.DataObject
) -> None:
    """Files are what they would be if the veiled columns had any other values: those of the rest of the filter."""
    with tempfile.TemporaryDirectory() as folder:
        forge = Forge(Path(folder), table.schemas, table.specs, table.version)
        metadata = forge.table(table.snapshot)
        veil = Veil(masked_field_ids=chosen.columns)
        made = plan(metadata, PlanRequest(filter=chosen.json), io=forge.io, index=ManifestIndex(), veil=veil)
        assert {file.path for file in made.files()} == {file.path for file in table.files if file.rows}


def test_what_veils_a_struct_veils_its_fields(tmp_path: Path) -> None:
    person = StructType(NestedField(2, "ssn", StringType(), required=False))
    schema = Schema(NestedField(1, "person", person, required=False), schema_id=0)
    forge = Forge(tmp_path, [schema])
    files = tuple(
        ForgedFile(f"s3://lake/{n}", records=1, raw_metrics={
            "value_counts": {2: 1}, "lower_bounds": {2: secret.encode()}, "upper_bounds": {2: secret.encode()},
        })
        for n, secret in enumerate(SECRETS)
    )  # fmt: skip
    metadata = forge.table(ForgedSnapshot((ForgedManifest(files),)))
    request = PlanRequest(
        filter={"type": "eq", "term": "person.ssn", "value": SECRETS[0]}, stats_fields=("person.ssn",)
    )
    assert plan(metadata, request, io=forge.io, index=ManifestIndex()).file_count == 1
    made = plan(
        metadata, request, io=forge.io, index=ManifestIndex(), veil=Veil(masked_field_ids=frozenset({1}))
    )
    assert made.file_count == 2
    assert leaks(made) == []


def conforming(folder: Path, row_filter: Any, *manifests: ForgedManifest) -> list[bool]:
    forge = Forge(folder, [SCHEMA])
    metadata = forge.table(ForgedSnapshot(manifests))
    made = plan(
        metadata,
        PlanRequest(),
        io=forge.io,
        index=ManifestIndex(),
        veil=Veil(row_filter=row_filter, exact=True),
    )
    return [file.conforms for file in made.files()]


def data_manifest(*regions: str | None, metrics: str = "full") -> ForgedManifest:
    rows = tuple({1: n, REGION: region} for n, region in enumerate(regions))
    return ForgedManifest((ForgedFile("s3://lake/t/0.parquet", rows, metrics=metrics, sequence=1),))


NOT_US = {"type": "not-eq", "term": "region", "value": "US"}
IS_EU = {"type": "eq", "term": "region", "value": "EU"}


def test_a_null_conforms_to_no_comparison(tmp_path: Path) -> None:
    """SQL drops a row whose comparison is unknown, Iceberg keeps it: only rows that both keep conform."""
    assert conforming(tmp_path, NOT_US, data_manifest("EU", "EU")) == [True]
    assert conforming(tmp_path, NOT_US, data_manifest("EU", None)) == [False]
    assert conforming(tmp_path, NOT_US, data_manifest(None, None)) == [False]


def test_a_null_partition_conforms_to_no_comparison(tmp_path: Path) -> None:
    spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "region"), spec_id=0)
    forge = Forge(tmp_path, [SCHEMA], [spec])
    files = tuple(
        ForgedFile(f"s3://lake/{n}.parquet", ({1: 1, REGION: region},), (region,), metrics="none")
        for n, region in enumerate((None, "EU"))
    )
    metadata = forge.table(ForgedSnapshot((ForgedManifest(files),)))
    made = plan(
        metadata, PlanRequest(), io=forge.io, index=ManifestIndex(), veil=Veil(row_filter=NOT_US, exact=True)
    )
    assert {file.path: file.conforms for file in made.files()} == {
        "s3://lake/0.parquet": False,
        "s3://lake/1.parquet": True,
    }


@pytest.mark.parametrize("metrics", ["none", "counts", "truncated"])
def test_without_proof_a_file_does_not_conform(tmp_path: Path, metrics: str) -> None:
    expected = metrics == "truncated"  # "EU" is no longer than what is kept of a string
    assert conforming(tmp_path, IS_EU, data_manifest("EU", metrics=metrics)) == [expected]


@pytest.mark.parametrize(
    ("delete", "expected"),
    [
        (ForgedFile("d", content=EQUALITY_DELETES, equality_ids=(1,), sequence=9), False),
        (ForgedFile("d", content=POSITION_DELETES, sequence=9, raw_metrics={}), False),
        (
            ForgedFile(
                "d",
                content=POSITION_DELETES,
                sequence=9,
                raw_metrics={"value_counts": {PATH_COLUMN: 1, POSITION_COLUMN: 1, 2147483544: 1}},
            ),
            False,
        ),
        (
            ForgedFile(
                "d",
                content=POSITION_DELETES,
                sequence=9,
                raw_metrics={"value_counts": {PATH_COLUMN: 1, POSITION_COLUMN: 1}},
            ),
            True,
        ),
    ],
)
def test_deletes_that_may_hold_rows_break_conformity(
    tmp_path: Path, delete: ForgedFile, expected: bool
) -> None:
    deletes = ForgedManifest((delete,), content=1, sequence=9)
    assert conforming(tmp_path, IS_EU, data_manifest("EU"), deletes) == [expected]


def test_a_row_filter_that_was_widened_proves_of_no_file_that_all_of_it_may_be_seen(tmp_path: Path) -> None:
    forge, metadata = secret_table(tmp_path)
    for widened in (True, NOT_US):
        veil = Veil(row_filter=widened)
        made = plan(metadata, PlanRequest(), io=forge.io, index=ManifestIndex(), veil=veil)
        assert made.file_count > 0
        assert made.nonconforming_count == made.file_count
