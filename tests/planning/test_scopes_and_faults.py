"""Snapshots, references, incremental scans, caches — and a clear error, never half an answer, when something is wrong."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.types import LongType, StringType

from headgate.planning import (
    InvalidPlanTaskError,
    InvalidTableMetadataError,
    ManifestIndex,
    MissingManifestError,
    PlanRequest,
    StalePlanTaskError,
    UnknownColumnError,
    UnknownSnapshotError,
    Veil,
)
from headgate.planning.errors import InvalidRequestError
from tests.planning.forge import (
    EXISTING,
    Forge,
    ForgedFile,
    ForgedManifest,
    ForgedSnapshot,
    plan,
    plan_from_token,
    simple_schema,
)

SCHEMA = simple_schema(("id", LongType()), ("name", StringType()))
KEY = b"k" * 32


def manifest(snapshot: int, *names: str, **more: Any) -> ForgedManifest:
    files = tuple(
        ForgedFile(f"s3://lake/{name}", ({1: n},), snapshot=snapshot) for n, name in enumerate(names)
    )
    return ForgedManifest(files, snapshot=snapshot, sequence=snapshot, **more)


@pytest.fixture
def history(tmp_path: Path) -> tuple[Forge, dict[str, Any]]:
    """Snapshot 1 and 2 append, 3 overwrites, 4 appends."""
    forge = Forge(tmp_path, [SCHEMA], refs={"dev": 2})
    one, two, four = manifest(1, "a"), manifest(2, "b", "c"), manifest(4, "e")
    kept = ForgedManifest(
        (
            ForgedFile("s3://lake/b", ({1: 0},), status=EXISTING, snapshot=2, sequence=2),
            ForgedFile("s3://lake/d", ({1: 3},), snapshot=3),
        ),
        snapshot=3,
        sequence=3,
    )
    metadata = forge.table(
        ForgedSnapshot((one,), 1),
        ForgedSnapshot((two, one), 2, parent=1),
        ForgedSnapshot((kept, one), 3, parent=2, operation="overwrite"),
        ForgedSnapshot((four, kept, one), 4, parent=3),
    )
    return forge, metadata


def names(forge: Forge, metadata: dict[str, Any], request: PlanRequest) -> str:
    made = plan(metadata, request, io=forge.io, index=ManifestIndex())
    return "".join(sorted(file.path[-1] for file in made.files()))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (PlanRequest(), "abde"),
        (PlanRequest(snapshot_id=1), "a"),
        (PlanRequest(snapshot_id=2), "abc"),
        (PlanRequest(ref="dev"), "abc"),
        (PlanRequest(ref="main"), "abde"),
        (PlanRequest(start_snapshot_id=1, end_snapshot_id=2), "bc"),
        (PlanRequest(start_snapshot_id=1, end_snapshot_id=4), "bce"),
        (PlanRequest(start_snapshot_id=2, end_snapshot_id=3), ""),
    ],
)
def test_a_scan_is_of_what_it_asks_for(history: Any, request_: PlanRequest, expected: str) -> None:
    assert names(*history, request_) == expected


@pytest.mark.parametrize(
    "request_",
    [
        PlanRequest(snapshot_id=99),
        PlanRequest(ref="nonsense"),
        PlanRequest(start_snapshot_id=99, end_snapshot_id=2),
        PlanRequest(start_snapshot_id=2, end_snapshot_id=1),
    ],
)
def test_an_unknown_snapshot_is_named(history: Any, request_: PlanRequest) -> None:
    with pytest.raises(UnknownSnapshotError, match=r"99|nonsense|2"):
        names(*history, request_)


def test_a_range_of_nothing_is_refused(history: Any) -> None:
    with pytest.raises(InvalidRequestError):
        names(*history, PlanRequest(start_snapshot_id=2, end_snapshot_id=2))


def test_a_table_without_snapshots_has_an_empty_plan(tmp_path: Path) -> None:
    forge = Forge(tmp_path, [SCHEMA])
    made = plan(forge.table(), PlanRequest(), io=forge.io, index=ManifestIndex())
    assert json.loads(b"{" + made.body() + b"}") == {"file-scan-tasks": [], "delete-files": []}


def test_a_snapshots_own_schema_is_used_where_asked(tmp_path: Path) -> None:
    later = simple_schema(("key", LongType()), ("name", StringType()), schema_id=1)
    forge = Forge(tmp_path, [SCHEMA, later])
    metadata = forge.table(ForgedSnapshot((manifest(1, "a"),), schema_id=0))
    by_old_name = {"type": "eq", "term": "id", "value": 99}
    assert names(forge, metadata, PlanRequest(filter=by_old_name, use_snapshot_schema=True)) == ""
    with pytest.raises(UnknownColumnError):
        names(forge, metadata, PlanRequest(filter=by_old_name))


@pytest.mark.parametrize(("rows", "expected"), [(0, "a"), (1, "a"), (2, "ab"), (3, "abc"), (50, "abc")])
def test_files_beyond_the_rows_requested_are_left_out(tmp_path: Path, rows: int, expected: str) -> None:
    forge = Forge(tmp_path, [SCHEMA])
    metadata = forge.table(ForgedSnapshot((manifest(1, "a", "b", "c"),)))
    assert names(forge, metadata, PlanRequest(min_rows_requested=rows)) == expected


def test_rows_that_may_not_match_do_not_count_as_requested(tmp_path: Path) -> None:
    forge = Forge(tmp_path, [SCHEMA])
    files = tuple(ForgedFile(f"s3://lake/{n}", ({1: 1}, {1: 5})) for n in "abc")
    metadata = forge.table(ForgedSnapshot((ForgedManifest(files),)))
    request = PlanRequest(min_rows_requested=1, filter={"type": "gt", "term": "id", "value": 3})
    assert names(forge, metadata, request) == "abc"


@pytest.mark.parametrize("name", ["manifest-0.avro", "list-4.avro"])
def test_a_missing_file_is_known_to_the_server_and_named_to_nobody(history: Any, name: str) -> None:
    forge, metadata = history
    (forge.folder / name).unlink()
    with pytest.raises(MissingManifestError) as missing:
        names(forge, metadata, PlanRequest())
    assert missing.value.path.endswith(name)
    assert name not in str(missing.value)


@pytest.mark.parametrize(
    "damage",
    [
        {"format-version": 9},
        {"schemas": [{"type": "struct"}]},
        {"current-schema-id": 7},
        {"partition-specs": [{"spec-id": 5, "fields": []}]},
        {"snapshots": [{"snapshot-id": 4}]},
        {"schemas": None},
    ],
)
def test_malformed_metadata_is_refused(history: Any, damage: dict[str, Any]) -> None:
    forge, metadata = history
    with pytest.raises(InvalidTableMetadataError):
        names(forge, {**metadata, **damage}, PlanRequest())


def test_an_error_is_not_remembered(history: Any) -> None:
    forge, metadata = history
    index = ManifestIndex()
    target = forge.folder / "manifest-0.avro"
    content = target.read_bytes()
    target.unlink()
    with pytest.raises(MissingManifestError):
        plan(metadata, PlanRequest(), io=forge.io, index=index)
    target.write_bytes(content)
    assert plan(metadata, PlanRequest(), io=forge.io, index=index).file_count == 4


class CountingIO(PyArrowFileIO):
    """Counts what is opened."""

    opened: list[str]

    def new_input(self, location: str) -> Any:
        self.opened.append(location)
        return super().new_input(location)


def counting() -> CountingIO:
    io = CountingIO()
    io.opened = []
    return io


def test_a_manifest_is_read_once_however_many_ask(history: Any) -> None:
    _, metadata = history
    io, index = counting(), ManifestIndex()
    with ThreadPoolExecutor(8) as pool:
        counts = list(
            pool.map(lambda _: plan(metadata, PlanRequest(), io=io, index=index).file_count, range(32))
        )
    assert set(counts) == {4}
    assert len(io.opened) == len(set(io.opened)) == 4


def test_memory_stays_within_its_bound(history: Any) -> None:
    forge, metadata = history
    index = ManifestIndex(memory_bytes=5_000)
    for snapshot in (1, 2, 3, 4, 1):
        plan(metadata, PlanRequest(snapshot_id=snapshot), io=forge.io, index=index)
        assert index.nbytes <= 5_000


def test_manifests_that_cannot_match_are_not_read(tmp_path: Path) -> None:
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.transforms import IdentityTransform

    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"), spec_id=0)
    forge = Forge(tmp_path, [SCHEMA], [spec])
    manifests = tuple(ForgedManifest((ForgedFile(f"s3://lake/{n}", ({1: n},), (n,)),)) for n in range(5))
    metadata = forge.table(ForgedSnapshot(manifests))
    io = counting()
    request = PlanRequest(filter={"type": "eq", "term": "id", "value": 3})
    assert plan(metadata, request, io=io, index=ManifestIndex()).file_count == 1
    assert [Path(location).name for location in io.opened] == ["list-1.avro", "manifest-3.avro"]


def test_a_second_process_reads_segments_from_disk(history: Any, tmp_path: Path) -> None:
    forge, metadata = history
    cache = tmp_path / "cache"
    first = plan(metadata, PlanRequest(), io=forge.io, index=ManifestIndex(folder=cache))
    io = counting()
    second = plan(metadata, PlanRequest(), io=io, index=ManifestIndex(folder=cache))
    assert second.body() == first.body()
    assert [Path(location).name for location in io.opened] == ["list-4.avro"]


@pytest.mark.parametrize(
    "damage",
    [lambda c: c[:-9], lambda c: b"", lambda c: c[:90] + b"\x00\x01" + c[92:], lambda c: b"x" + c[1:]],
)
def test_a_damaged_cache_is_rebuilt(history: Any, tmp_path: Path, damage: Any) -> None:
    forge, metadata = history
    cache = tmp_path / "cache"
    expected = plan(metadata, PlanRequest(), io=forge.io, index=ManifestIndex(folder=cache)).body()
    stored = sorted(cache.rglob("*.segment"))
    assert len(stored) == 3
    before = [path.read_bytes() for path in stored]
    for path, content in zip(stored, before, strict=True):
        path.write_bytes(damage(content))
    assert plan(metadata, PlanRequest(), io=forge.io, index=ManifestIndex(folder=cache)).body() == expected
    assert [path.read_bytes() for path in stored] == before
    assert not list(cache.rglob("tmp*"))


def test_a_cache_that_cannot_be_written_costs_no_answer(history: Any, tmp_path: Path) -> None:
    forge, metadata = history
    cache = tmp_path / "cache"
    index = ManifestIndex(folder=cache)
    for number in range(256):
        (cache / f"{number:02x}").write_bytes(b"a file where the cache wants a folder")
    assert plan(metadata, PlanRequest(), io=forge.io, index=index).file_count == 4


def test_plan_tasks_make_up_the_plan_in_any_process(history: Any) -> None:
    forge, metadata = history
    made = plan(metadata, PlanRequest(stats_fields=("id",)), io=forge.io, index=ManifestIndex())
    tokens = made.tasks(KEY, "plan-1", files_per_task=3)
    assert len(tokens) == 2
    found = []
    for token in tokens:
        again, task = plan_from_token(metadata, token, key=KEY, io=forge.io, index=ManifestIndex())
        assert task.plan_id == "plan-1"
        found += json.loads(b"{" + again.body(task.start, task.stop) + b"}")["file-scan-tasks"]
    assert found == json.loads(b"{" + made.body() + b"}")["file-scan-tasks"]


def test_a_plan_task_keeps_its_snapshot_when_the_table_moves_on(history: Any) -> None:
    forge, metadata = history
    older = {**metadata, "current-snapshot-id": 2}
    token = plan(older, PlanRequest(), io=forge.io, index=ManifestIndex()).tasks(KEY, "p")[0]
    again, task = plan_from_token(metadata, token, key=KEY, io=forge.io, index=ManifestIndex())
    assert (again.snapshot_id, task.stop) == (2, 3)


def test_a_plan_task_that_was_altered_is_refused(history: Any) -> None:
    forge, metadata = history
    token = plan(metadata, PlanRequest(), io=forge.io, index=ManifestIndex()).tasks(KEY, "p")[0]
    altered = [token[:n] + ("A" if token[n] != "A" else "B") + token[n + 1 :] for n in range(len(token))]
    for bad in [*altered, token[:-4], token + "A", token + "=", "", "!", "ä", "A" * (2 << 20)]:
        with pytest.raises(InvalidPlanTaskError):
            plan_from_token(metadata, bad, key=KEY, io=forge.io, index=ManifestIndex())
    with pytest.raises(InvalidPlanTaskError):
        plan_from_token(metadata, token, key=b"other" * 8, io=forge.io, index=ManifestIndex())


@pytest.mark.parametrize(
    "veil",
    [
        Veil(masked_field_ids=frozenset({1})),
        Veil(hidden_field_ids=frozenset({1})),
        Veil(row_filter={"type": "not-null", "term": "id"}),
    ],
)
def test_a_plan_task_of_another_view_is_stale(history: Any, veil: Veil) -> None:
    forge, metadata = history
    token = plan(metadata, PlanRequest(), io=forge.io, index=ManifestIndex()).tasks(KEY, "p")[0]
    with pytest.raises(StalePlanTaskError):
        plan_from_token(metadata, token, key=KEY, io=forge.io, index=ManifestIndex(), veil=veil)
    other = {**metadata, "table-uuid": "0"}
    with pytest.raises(StalePlanTaskError):
        plan_from_token(other, token, key=KEY, io=forge.io, index=ManifestIndex())
