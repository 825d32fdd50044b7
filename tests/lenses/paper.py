"""A table of people whose data files exist on paper only, and a worker that copies them there: both know every row."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, LongType, StringType

from headgate.lenses.copies import CopyFile, FileMetrics, GovernedCopy
from headgate.steward import Steward
from headgate.steward.reads.copies.workshop import Order
from tests.conftest import Api
from tests.doors.iceberg.conftest import ICE
from tests.planning.forge import (
    Forge,
    ForgedFile,
    ForgedManifest,
    ForgedSnapshot,
    metrics_of,
    simple_schema,
)

TABLE: Final = f"{ICE}/namespaces/s/tables/p"
ID, REGION, SALARY, NAME, SECRET, SCORE = range(1, 7)
EDGE: Final = 1_000
"""Rows with a salary from here on are hidden."""
POLICIES: Final = (
    f"policy: rows\non: lake.cat.s.p\nto: [user:ann]\nrows: salary < {EDGE}\n",
    "policy: hide\non: lake.cat.s.p\nto: [user:ann]\nhide: [secret]\n",
)
SCHEMA: Final = simple_schema(
    ("id", LongType()), ("region", StringType()), ("salary", LongType()),
    ("name", StringType()), ("secret", StringType()), ("score", DoubleType()),
)  # fmt: skip
Row = dict[int, Any]


class Paper:
    """`files` are the rows of each file by snapshot; each snapshot appends to the one before, or `rewrites` what that one
    appended."""

    def __init__(
        self,
        folder: Path,
        snapshots: Iterable[Iterable[tuple[Row, ...]]],
        rewrites: Collection[int] = (),
        version: int = 2,
    ) -> None:
        folder.mkdir(parents=True)
        self.rows: dict[str, tuple[Row, ...]] = {}
        spec = PartitionSpec(PartitionField(REGION, 1000, IdentityTransform(), "region"))
        self.forge = Forge(folder, [SCHEMA], [spec], version)
        manifests: list[ForgedManifest] = []
        made: list[ForgedSnapshot] = []
        for number, files in enumerate(snapshots, 1):
            entries = tuple(
                self._file(f"{folder}/{number}-{n}.parquet", rows) for n, rows in enumerate(files)
            )
            if number in rewrites:
                del manifests[0]
            manifests.insert(0, ForgedManifest(entries, snapshot=number, sequence=number))
            operation = "overwrite" if number in rewrites else "append"
            made.append(ForgedSnapshot(tuple(manifests), number, number - 1 or None, operation))
        self.forge.table(*made)

    def _file(self, path: str, rows: tuple[Row, ...]) -> ForgedFile:
        self.rows[path] = rows
        return ForgedFile(path, rows, (rows[0][REGION],))

    def register(self, api: Api) -> None:
        body = {"name": "p", "metadata-location": str(self.forge.metadata_path)}
        answer = api("admin", "POST", f"{ICE}/namespaces/s/register", body)
        assert answer.status_code == 200, answer.text

    def copy_all(self, steward: Steward) -> set[str]:
        """Make everything that waits; answers which files were copied."""
        copied: set[str] = set()
        while (order := steward.workshop.take("paper")) is not None:
            copies = [self._copy(order, source) for source in order.job.sources]
            steward.workshop.made(order, copies)
            copied |= {path for source in order.job.sources for path in source.paths}
        return copied

    def _copy(self, order: Order, source: Any) -> GovernedCopy:
        """What is seen of the rows, with text cut short in the statistics as Spark does it."""
        (path,) = source.paths
        key = order.job.key(source)
        rows = tuple(_shown(row) for row in self.rows[path] if row[SALARY] < EDGE)
        known = metrics_of(ForgedFile("", rows, metrics="truncated"), [SCHEMA])
        file = CopyFile(f"{order.job.output}/data/{key}.parquet", 100, len(rows), (4,), FileMetrics(**known))
        ids = frozenset(order.job.lens.schema.by_id)
        return GovernedCopy(key, source, (file,) if rows else (), field_ids=ids, last_column_id=SCORE)


def _shown(row: Row) -> Row:
    return {id: value for id, value in row.items() if id != SECRET}
