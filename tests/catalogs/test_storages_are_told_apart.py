"""What was read from one storage is not given out for another: whoever declares a catalog names any endpoint."""

import tempfile
from pathlib import Path

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.types import LongType

from headgate.catalogs.iceberg import storage
from headgate.catalogs.iceberg.storage import Storage
from headgate.model.errors import NotFound
from headgate.planning import ManifestIndex, MissingManifestError, PlanRequest, plan
from tests.openings import opened
from tests.planning.forge import Forge, ForgedFile, ForgedManifest, ForgedSnapshot, simple_schema

OPEN = opened(tempfile.gettempdir(), hosts=("ours", "theirs"))
OURS, THEIRS = {"s3.endpoint": "http://ours"}, {"s3.endpoint": "http://theirs"}


def test_a_document_that_one_storage_holds_is_not_there_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As for remote files, of which nobody asks whether they are still there.
    monkeypatch.setattr(storage, "_still_there", lambda location: True)
    place = str(tmp_path / "a.metadata.json")
    Storage(OURS, OPEN).write(place, {"secret": 1})
    Path(place).unlink()
    assert Storage(OURS, OPEN).read(place) == {"secret": 1}, "it is remembered"
    with pytest.raises(NotFound):
        Storage(THEIRS, OPEN).read(place)
    with pytest.raises(NotFound):
        Storage({**OURS, "s3-access-key-id": "another"}, OPEN).read(place)


@pytest.mark.parametrize("gone", ["list-*", "manifest-*"])
def test_manifests_that_one_storage_holds_are_not_there_in_another(tmp_path: Path, gone: str) -> None:
    forge = Forge(tmp_path, [simple_schema(("id", LongType()))])
    files = (ForgedFile(f"{tmp_path}/0.parquet", ({1: 7},)),)
    metadata = forge.table(ForgedSnapshot((ForgedManifest(files),)))
    index = ManifestIndex(folder=tmp_path / "cache")

    def planned(properties: dict[str, str]) -> int:
        made = plan(metadata, PlanRequest(), io=PyArrowFileIO(properties), index=index)
        return made.file_count

    assert planned(OURS) == 1
    for file in tmp_path.glob(gone):
        file.unlink()
    assert planned(OURS) == 1, "it is remembered"
    with pytest.raises(MissingManifestError):
        planned(THEIRS)
