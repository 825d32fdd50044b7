"""There is one reader of manifests, and it opens and names nothing outside of the table's own folders."""

import re
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from headgate.planning import ForeignFileError, Within
from headgate.planning.manifests import partitions
from headgate.planning.manifests.reader import ManifestReader
from tests.planning.forge import Forge, ForgedFile, ForgedManifest, ForgedSnapshot, simple_schema

SRC = Path(__file__).parents[2] / "src" / "headgate"


class Watched(PyArrowFileIO):
    """Remembers what was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def new_input(self, location: str) -> PyArrowFile:
        self.opened.append(location)
        return super().new_input(location)


def forged(folder: Path, type: IcebergType, *values: Any, path: str | None = None) -> dict[str, Any]:
    """A table partitioned by the values of a column."""
    folder.mkdir(parents=True)
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "p"), spec_id=0)
    files = tuple(
        ForgedFile(path or f"{folder}/f{n}.parquet", ({1: value},), (value,), snapshot=1)
        for n, value in enumerate(values)
    )
    forge = Forge(folder, [simple_schema(("p", type))], [spec])
    return forge.table(ForgedSnapshot((ForgedManifest(files, snapshot=1, sequence=1),), 1))


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (StringType(), ("a/b", "", None, "ä=1")),
        (LongType(), (1 << 60, -3, None)),
        (IntegerType(), (7, None)),
        (BooleanType(), (True, False, None)),
        (DateType(), (19000, -1, None)),
        (TimestampType(), (1_600_000_000_000_001, None)),
        (TimestamptzType(), (1_600_000_000_000_001, None)),
        (DecimalType(9, 2), (Decimal("12.30"), Decimal("-0.01"), None)),
        (DoubleType(), (1.5, None)),
    ],
)
def test_partitions_are_listed_as_pyiceberg_reads_them(
    tmp_path: Path, type: IcebergType, values: tuple[Any, ...]
) -> None:
    document = forged(tmp_path / "t", type, *values)
    found = partitions.listed(document, ManifestReader(PyArrowFileIO(), Within.of(document)))
    metadata = TableMetadataUtil.parse_obj(document)
    snapshot = metadata.current_snapshot()
    assert snapshot is not None
    names = {
        metadata.spec().partition_to_path(entry.data_file.partition, metadata.schema())
        for manifest in snapshot.manifests(PyArrowFileIO())
        for entry in manifest.fetch_manifest_entry(PyArrowFileIO())
    }
    assert [partition.name for partition in found] == sorted(names)


def test_nothing_of_another_tables_manifests_is_read_or_listed(tmp_path: Path) -> None:
    theirs = forged(tmp_path / "theirs", StringType(), "hidden-diagnosis")
    ours = forged(tmp_path / "ours", StringType(), "mine")
    their_list = Path(theirs["snapshots"][0]["manifest-list"])
    our_list = Path(ours["snapshots"][0]["manifest-list"])
    their_manifest = next((tmp_path / "theirs").glob("manifest-*"))

    def refused(document: dict[str, Any]) -> None:
        io = Watched()
        with pytest.raises(ForeignFileError) as told:
            partitions.listed(document, ManifestReader(io, Within.of(document)))
        assert "hidden-diagnosis" not in str(told.value)
        assert "theirs" not in str(told.value)
        assert not [path for path in io.opened if "/theirs/" in path or path.startswith("s3:")]

    for foreign in (str(their_list), f"file://{their_list}", "s3://theirs/list.avro"):
        refused({**ours, "snapshots": [{**ours["snapshots"][0], "manifest-list": foreign}]})
    shutil.copy(their_list, our_list)
    refused(ours)
    # A manifest of the table's own that names files of another.
    mixed = forged(tmp_path / "mixed", StringType(), "x", path=f"{tmp_path}/theirs/f0.parquet")
    refused(mixed)
    assert their_manifest.exists()


def test_no_other_code_opens_manifests_or_files() -> None:
    """`snapshot.manifests(io)` of pyiceberg follows any path; so would a file system of one's own.

    Purging is below planning and holds every path against the table's own folders itself: tests/catalogs/outside shows it.
    """
    ways = {
        r"\.manifests\(": {
            "planning/indexing/index.py",
            "planning/manifests/partitions.py",
            "planning/plan.py",
            "steward/reads/copies/collecting.py",
            "lenses/entries.py",
            "catalogs/outside/purging.py",
        },
        r"fetch_manifest_entry": {"catalogs/outside/purging.py"},
        r"load_file_io|\.inspect\b|StaticTable": set(),
        r"\bnew_input\(|\bnew_output\(": {
            "catalogs/iceberg/storage.py",
            "planning/manifests/reader.py",
            "lenses/memory.py",  # opens nothing but what was written to it
        },
        r"PyArrowFileIO|fs_by_scheme|pyarrow\.fs|fsspec|s3fs\.": {
            "catalogs/iceberg/storage.py",
            "doors/iceberg/access.py",
        },
        r"\.scan\(": {"engines/config/python_clients.py"},  # in a text for the user to paste
    }
    for pattern, allowed in ways.items():
        found = {
            str(path.relative_to(SRC))
            for path in SRC.rglob("*.py")
            if re.search(pattern, path.read_text()) and path.relative_to(SRC).parts[0] != "sync"
        }
        assert found <= allowed, pattern
    for path in set(SRC.rglob("*.py")) - {SRC / "catalogs/outside/purging.py"}:
        for arguments in re.findall(r"\.manifests\(([^)]*)\)", path.read_text()):
            assert not re.fullmatch(r"(self\.)?(storage\.)?io", arguments.strip()), path
