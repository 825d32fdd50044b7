"""A manifest that lists files outside of the table's own folder is not planned, however they are spelled."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.types import LongType

from headgate.planning import ForeignFileError, ManifestIndex, PlanRequest, Within, plan
from tests.planning.forge import Forge, ForgedFile, ForgedManifest, ForgedSnapshot, simple_schema

SCHEMA = simple_schema(("id", LongType()))


def planned(folder: Path, within: Within, *paths: str, only: int | None = None) -> int:
    files = tuple(ForgedFile(path, ({1: n},), snapshot=1) for n, path in enumerate(paths))
    metadata = Forge(folder, [SCHEMA]).table(
        ForgedSnapshot((ForgedManifest(files, snapshot=1, sequence=1),), 1)
    )
    chosen = None if only is None else {"type": "eq", "term": "id", "value": only}
    request = PlanRequest(filter=chosen)
    made = plan(metadata, request, io=PyArrowFileIO(), index=ManifestIndex(), within=within)
    return made.file_count


def own(folder: Path, *more: str) -> Within:
    return Within((f"file://{folder}", *more))


@pytest.mark.parametrize(
    "spelled", ["s3://lake/t/a", "s3a://lake/t/a", "s3n://lake/t/deep/a", "s3://lake/t/a b=1/x.parquet"]
)
def test_files_of_the_table_are_planned(tmp_path: Path, spelled: str) -> None:
    assert planned(tmp_path, own(tmp_path, "s3://lake/t"), spelled) == 1


def test_local_files_are_planned_in_any_spelling(tmp_path: Path) -> None:
    paths = (f"file://{tmp_path}/a", f"file:{tmp_path}/b", f"{tmp_path}/c")
    assert planned(tmp_path, own(tmp_path), *paths) == 3


@pytest.mark.parametrize(
    "foreign",
    [
        "s3://lake/t2/a",
        "s3://lake/t",
        "s3://lake/t/../u/a",
        "s3://lake/t/./a",
        "s3://lake/t//a",
        "s3://lake/t/..",
        "s3://other/lake/t/a",
        "s3://LAKE/t/a",
        "gs://lake/t/a",
        "/etc/passwd",
        "file:///etc/passwd",
        "xs3://lake/t/a",
        "a\ns3://lake/t/a",
    ],
)
def test_files_of_others_are_refused(tmp_path: Path, foreign: str) -> None:
    within = own(tmp_path, "s3://lake/t")
    with pytest.raises(ForeignFileError):
        planned(tmp_path, within, foreign)
    with pytest.raises(ForeignFileError):
        planned(tmp_path, within, "s3://lake/t/mine", foreign)


def test_a_foreign_file_that_the_scan_does_not_read_does_no_harm(tmp_path: Path) -> None:
    within = own(tmp_path, "s3://lake/t")
    assert planned(tmp_path, within, "s3://lake/t/mine", "s3://other/a", only=0) == 1


def test_manifests_of_others_are_not_even_read(tmp_path: Path) -> None:
    with pytest.raises(ForeignFileError, match="does not lie in the table's folder"):
        planned(tmp_path, Within(("s3://lake/t",)), "s3://lake/t/a")
