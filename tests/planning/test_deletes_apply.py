"""Delete files apply by sequence number, partition, spec and path, as the format says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, StringType

from headgate.planning import ManifestIndex, PlanRequest
from tests.planning.forge import (
    EQUALITY_DELETES,
    PATH_COLUMN,
    POSITION_DELETES,
    Forge,
    ForgedFile,
    ForgedManifest,
    ForgedSnapshot,
    plan,
    simple_schema,
)

SCHEMA = simple_schema(("id", LongType()), ("region", StringType()))
BY_REGION = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region"), spec_id=0)
UNPARTITIONED = PartitionSpec(spec_id=1)
EU = ForgedFile("s3://lake/eu.parquet", ({1: 1, 2: "EU"},), ("EU",), sequence=5)
US = ForgedFile("s3://lake/us.parquet", ({1: 2, 2: "US"},), ("US",), sequence=5)
OLD = ForgedFile("s3://lake/old.parquet", ({1: 3, 2: "EU"},), (), spec_id=1, sequence=2)


def answer(folder: Path, *deletes: ForgedFile, version: int = 3) -> dict[str, Any]:
    forge = Forge(folder, [SCHEMA], [BY_REGION, UNPARTITIONED], version)
    manifests = [ForgedManifest((EU, US), sequence=9), ForgedManifest((OLD,), spec_id=1, sequence=9)]
    manifests += [
        ForgedManifest((delete,), spec_id=delete.spec_id, content=1, sequence=9) for delete in deletes
    ]
    metadata = forge.table(ForgedSnapshot(tuple(manifests)))
    body = plan(metadata, PlanRequest(), io=forge.io, index=ManifestIndex()).body()
    return dict(json.loads(b"{" + body + b"}"))


def applied(folder: Path, *deletes: ForgedFile, version: int = 3) -> dict[str, list[str]]:
    """For each data file the delete files that it refers to, both by the last part of their names."""
    found = answer(folder, *deletes, version=version)
    names = [Path(file["file-path"]).stem for file in found["delete-files"]]
    return {
        Path(task["data-file"]["file-path"]).stem: [names[n] for n in task.get("delete-file-references", [])]
        for task in found["file-scan-tasks"]
    }


def position(name: str, partition: tuple[Any, ...], sequence: int, **more: Any) -> ForgedFile:
    more = {"raw_metrics": {}, "records": 1} | more
    return ForgedFile(
        f"s3://lake/{name}.parquet", (), partition, content=POSITION_DELETES, sequence=sequence, **more
    )


def equality(name: str, partition: tuple[Any, ...], sequence: int, **more: Any) -> ForgedFile:
    return ForgedFile(
        f"s3://lake/{name}.parquet", (), partition, content=EQUALITY_DELETES, sequence=sequence,
        raw_metrics={}, records=1, equality_ids=(1,), **more,
    )  # fmt: skip


@pytest.mark.parametrize(("sequence", "hit"), [(4, False), (5, True), (6, True)])
def test_position_deletes_apply_to_files_that_are_not_younger(
    tmp_path: Path, sequence: int, hit: bool
) -> None:
    assert applied(tmp_path, position("p", ("EU",), sequence)) == {"eu": ["p"] * hit, "us": [], "old": []}


@pytest.mark.parametrize(("sequence", "hit"), [(4, False), (5, False), (6, True)])
def test_equality_deletes_apply_to_older_files_only(tmp_path: Path, sequence: int, hit: bool) -> None:
    assert applied(tmp_path, equality("e", ("EU",), sequence)) == {"eu": ["e"] * hit, "us": [], "old": []}


def test_equality_deletes_of_an_unpartitioned_spec_apply_everywhere(tmp_path: Path) -> None:
    assert applied(tmp_path, equality("e", (), 6, spec_id=1)) == {"eu": ["e"], "us": ["e"], "old": ["e"]}


def test_position_deletes_of_another_spec_do_not_apply(tmp_path: Path) -> None:
    assert applied(tmp_path, position("p", (), 6, spec_id=1)) == {"eu": [], "us": [], "old": ["p"]}


def test_position_deletes_about_one_file_apply_to_it_alone(tmp_path: Path) -> None:
    path = {PATH_COLUMN: EU.path.encode()}
    by_bounds = position("b", ("EU",), 6, raw_metrics={"lower_bounds": path, "upper_bounds": path})
    by_name = position("n", ("US",), 6, referenced=US.path)
    assert applied(tmp_path, by_bounds, by_name) == {"eu": ["b"], "us": ["n"], "old": []}


def test_position_deletes_skip_files_outside_their_path_bounds(tmp_path: Path) -> None:
    bounds = {
        "lower_bounds": {PATH_COLUMN: b"s3://lake/f"},
        "upper_bounds": {PATH_COLUMN: b"s3://lake/z"},
    }
    assert applied(tmp_path, position("p", ("EU",), 6, raw_metrics=bounds))["eu"] == []


def test_a_deletion_vector_replaces_position_deletes_and_keeps_its_place_in_the_file(tmp_path: Path) -> None:
    vector = ForgedFile(
        "s3://lake/dv.puffin", (), ("EU",), content=POSITION_DELETES, sequence=7, file_format="PUFFIN",
        raw_metrics={}, records=3, referenced=EU.path, offset=4, length=44, split_offsets=None,
    )  # fmt: skip
    deletes = (vector, position("p", ("EU",), 6), equality("e", ("EU",), 8))
    assert applied(tmp_path, *deletes) == {"eu": ["dv", "e"], "us": [], "old": []}
    file = answer(tmp_path, *deletes)["delete-files"][0]
    assert file == {
        "spec-id": 0,
        "content": "position-deletes",
        "file-path": "s3://lake/dv.puffin",
        "file-format": "puffin",
        "partition": ["EU"],
        "file-size-in-bytes": 1000,
        "record-count": 3,
        "sort-order-id": 0,
        "referenced-data-file": EU.path,
        "content-offset": 4,
        "content-size-in-bytes": 44,
    }


def test_a_deletion_vector_older_than_the_file_does_not_apply(tmp_path: Path) -> None:
    vector = position("dv", ("EU",), 4, file_format="PUFFIN", referenced=EU.path)
    assert applied(tmp_path, vector)["eu"] == []


def test_equality_ids_are_sent(tmp_path: Path) -> None:
    file = answer(tmp_path, equality("e", ("EU",), 6), version=2)["delete-files"][0]
    assert (file["content"], file["equality-ids"]) == ("equality-deletes", [1])


def test_a_sequence_number_left_out_is_the_manifests(tmp_path: Path) -> None:
    forge = Forge(tmp_path, [SCHEMA], [BY_REGION])
    data = ForgedManifest((ForgedFile("s3://lake/a.parquet", ({1: 1},), ("EU",)),), sequence=3)
    deletes = [
        ForgedManifest(
            (ForgedFile(f"s3://lake/{n}", (), ("EU",), content=EQUALITY_DELETES, records=1),),
            content=1,
            sequence=n,
        )
        for n in (2, 3, 4)
    ]
    metadata = forge.table(ForgedSnapshot((data, *deletes)))
    made = plan(metadata, PlanRequest(), io=forge.io, index=ManifestIndex())
    assert [file.deletes for file in made.files()] == [("s3://lake/4",)]
