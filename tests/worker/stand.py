"""A lake with tables of people, one reader who sees a part of it, and the means to watch copies being made.

ann sees people of the EU, their emails hashed. Everything that must not reach her can be found in a text by `leaks`.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pyarrow as pa
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.table import StaticTable, Table
from sqlalchemy import select

from headgate.catalogs.iceberg.describing.descriptions import parsed
from headgate.catalogs.interface import Document, IcebergCatalog
from headgate.decide import Node
from headgate.lenses.copies import GovernedCopy
from headgate.model.objects import ObjectRef, ObjectType
from headgate.pipelines.session import SparkSettings
from headgate.steward import Steward
from headgate.steward.metadata.shapes import place
from headgate.store import Store, ledger
from headgate.store import tables as t
from headgate.worker.loop import Worker
from tests.conftest import Api, in_process
from tests.doors.governed import READ, applied
from tests.doors.settled import LAKE, done, give, securable, settle
from tests.openings import TEMPORARY

SCHEMA = {
    "type": "struct",
    "fields": [
        {"id": 1, "name": "id", "type": "long", "required": False},
        {"id": 2, "name": "region", "type": "string", "required": False},
        {"id": 3, "name": "email", "type": "string", "required": False},
    ],
}
POLICY = """\
policy: europeans
on: lake.cat
to: [user:ann]
rows: region = 'EU'
---
policy: hashed
on: lake.cat
to: [user:ann]
mask: {email: sha256(email)}
"""
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that lives for one job compiles no more than it needs."""
ICE = "/iceberg/v1/lake.cat/namespaces/s/tables"
Row = dict[str, Any]


def people(first: int, count: int = 10) -> list[Row]:
    """Every second one is European."""
    return [
        {"id": n, "region": "EU" if n % 2 else "US", "email": f"person-{n}@secret.example"}
        for n in range(first, first + count)
    ]


def seen(rows: list[Row]) -> list[Row]:
    """What ann sees of rows, worked out in plain Python."""
    return [
        {**row, "email": hashlib.sha256(row["email"].encode()).hexdigest()}
        for row in rows
        if row["region"] == "EU"
    ]


def leaks(text: str) -> bool:
    return "secret.example" in text or "/data/0" in text


class Stand:
    def __init__(self, steward: Steward, api: Api, folder: Path) -> None:
        self.steward = steward
        self.store = steward.kernel.store
        self.api = api
        self.folder = folder
        steward.waiting.patience = 0
        steward.scans.patience = 0.3
        # Which views are asked for, and when, is for the tests to say: a changed policy asks for none beside them.
        steward.applying.warm = lambda table: False

    # -- the lake -----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        settle(self.api, "ann", "bob")
        for user in ("ann", "bob"):
            give(self.api, user, f"reader-{user}", securable("catalog", "cat", *READ))
        self.policies(POLICY)

    def policies(self, *texts: str) -> None:
        applied(self.api, *texts)

    def table(self, name: str, files: int = 3, by: int | None = None) -> list[Row]:
        """A table with so many commits of ten people; the people. `by` is the id of the column that cuts its files."""
        fields = [] if by is None else [{"source-id": by, "name": "by", "transform": "identity"}]
        body = {"name": name, "schema": SCHEMA, "partition-spec": {"fields": fields}}
        made = self.api("admin", "POST", ICE, body)
        assert made.status_code == 200, made.text
        rows: list[Row] = []
        for number in range(files):
            rows += self.append(name, people(number * 10))
        return rows

    def append(self, name: str, rows: list[Row]) -> list[Row]:
        """One more file."""
        _, adapter, document = self._at(name)
        table = Table(
            ("s", name),
            parsed(document.metadata),
            document.location or "",
            adapter.storage.io,  # type: ignore[attr-defined]
            NoopCatalog("stand"),
        )
        transaction = table.transaction()
        transaction.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
        updates = [update.model_dump(mode="json", by_alias=True) for update in transaction._updates]
        self.commit(name, *updates)
        return rows

    def commit(self, name: str, *updates: Any) -> None:
        node, adapter, _ = self._at(name)
        staged = adapter.commit_document(place(self.steward.kernel.authority(), node), [], list(updates))
        with self.store.write("test", "commit") as tx:
            staged.commit(tx, node.id)

    def sources(self, name: str) -> list[Path]:
        """The data files of the table itself, the oldest first."""
        location = self._at(name)[2].metadata["location"]
        files = Path(location.removeprefix("file://")).rglob("*.parquet")
        return sorted(files, key=lambda file: file.stat().st_mtime_ns)

    # -- readers ------------------------------------------------------------------------------------------------

    def load(self, name: str, user: str = "ann") -> httpx.Response:
        return self.api(user, "GET", f"{ICE}/{name}")

    def waits(self, name: str) -> bool:
        """Whether ann is told to come back, and nothing else is told."""
        answer = self.load(name)
        assert not leaks(answer.text)
        return answer.status_code == 503 and "made ready" in answer.text

    def rows(self, name: str) -> list[Row]:
        """What ann reads with a client that plans by itself.

        Nothing but recorded copies of her own view is named.
        """
        answer = self.load(name)
        assert answer.status_code == 200, answer.text
        location = answer.json()["metadata-location"]
        table = StaticTable.from_metadata(location)
        named = {path_of(task.file.file_path) for task in table.scan().plan_files()}
        own = path_of(location).partition("/metadata/")[0]
        assert named == {copy for copy in self.recorded(name) if copy.startswith(f"{own}/")}
        found: list[Row] = table.scan().to_arrow().to_pylist()
        assert not leaks(repr(found))
        return sorted(found, key=lambda row: row["id"])

    def plan(self, name: str, body: Any = None, user: str = "ann") -> Any:
        answer = self.api(user, "POST", f"{ICE}/{name}/plan", body or {})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def poll(self, name: str, id: str) -> Any:
        answer = self.api("ann", "GET", f"{ICE}/{name}/plan/{id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    # -- the ledger and what lies in storage --------------------------------------------------------------------

    def entries(self, name: str) -> list[Any]:
        copies = t.lens_copies
        with self.store.read() as read:
            wanted = select(copies).where(copies.c.object == self._at(name)[0].id)
            return list(read.execute(wanted.order_by(copies.c.key)))

    def reason(self, name: str) -> str:
        """Why copies of a table could not be made, as its owner is told."""
        return "; ".join(one.reason or "" for one in ledger.progress(self.store, [self._at(name)[0].id]))

    def copies(self, name: str) -> list[GovernedCopy]:
        rows = [row for row in self.entries(name) if row.state == ledger.MADE]
        return [msgspec.json.decode(row.body, type=GovernedCopy) for row in rows]

    def governed_folder(self, name: str) -> Path:
        node, adapter, document = self._at(name)
        return Path(adapter.governed_folder(document, node.id).removeprefix("file://"))

    def lying(self, name: str) -> set[str]:
        """Every data file below the table's governed folder."""
        return {str(file) for file in self.governed_folder(name).rglob("*.parquet")}

    def recorded(self, name: str) -> set[str]:
        return {path_of(file.location) for copy in self.copies(name) for file in copy.files}

    # -- workers ------------------------------------------------------------------------------------------------

    def worker(self, spark: Any) -> Worker:
        """A worker in this process, with the session of the test."""
        worker = Worker(self.steward.workshop, SparkSettings(master="local[2]"))
        worker._spark = spark
        return worker

    def finish(self, spark: Any) -> int:
        """Do all that waits; how many jobs that took."""
        worker = self.worker(spark)
        jobs = 0
        while worker.step():
            jobs += 1
        return jobs

    def _at(self, name: str) -> tuple[Node, IcebergCatalog, Document]:
        authority = self.steward.kernel.authority()
        node = authority.find(ObjectRef.parse("lake", ObjectType.TABLE, f"cat.s.{name}"))
        assert node is not None, name
        adapter = self.steward.catalogs.opened(authority.objects[node.chain[1][0]])
        assert isinstance(adapter, IcebergCatalog)
        return node, adapter, adapter.document(place(authority, node))


def path_of(location: str | None) -> str:
    return (location or "").removeprefix("file://").removeprefix("file:")


@contextmanager
def standing(folder: Path, store_url: str) -> Iterator[Stand]:
    store = Store(store_url)
    store.prepare()
    steward = Steward(
        store,
        service_admins=frozenset({"admin"}),
        warehouse=str(folder / "warehouse"),
        openings=TEMPORARY,
    )
    with in_process(steward) as api:
        stand = Stand(steward, api, folder)
        stand.settle()
        yield stand
    steward.close()
    store.close()


__all__ = ["LAKE", "Stand", "done", "leaks", "people", "seen", "standing"]
