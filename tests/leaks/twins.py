"""Twins: two tables, each with a server of its own, that look alike through one lens and differ in all that it hides."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.table import FileScanTask, Table, Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from sqlalchemy import insert

from headgate.catalogs.iceberg.describing.descriptions import parsed
from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward import Steward
from headgate.store import Store, keys
from headgate.store import tables as t
from tests.conftest import in_process
from tests.doors.governed import READ
from tests.doors.settled import LAKE, done, give, securable, settle
from tests.worker.stand import ICE, Stand

Row = dict[str, Any]
Json = Any

ID, REGION, SALARY, MAIL, SECRET, NOTE, OLD, HOME, ZIP, INNER = range(1, 11)
SECRETS: Final = (("ssn", "string"), ("diagnosis", "long"))
"""The hidden column, one for each twin."""
DROPPED: Final = (("iban", "string"), ("birthday", "long"))
"""A column that was dropped, one for each twin."""
NESTED: Final = (("street", "string"), ("floor", "long"))
"""The hidden field of a struct, one for each twin."""
BRANCH: Final = "audit"
EDGE: Final = 1_000
"""Salaries from here on are hidden where the row filter goes by salary."""


@dataclass(frozen=True)
class World:
    """What the twins have in common: the lens, the layout, and the rows that are shown."""

    seed: int
    filters: str
    """What rows are shown: all of them, those of a region, up to a salary, or by the hidden column."""
    hides: bool
    mask: str | None
    layout: tuple[str, ...]
    """The columns that files are partitioned by; `secret` is the hidden one."""
    sorts: bool
    """Whether the table says that it is sorted by the hidden column."""
    drops: bool
    """Whether a column was dropped."""
    lazy: str
    steps: tuple[str, ...]
    nests: bool = False
    """Whether there is a struct with a hidden field."""
    branches: bool = False
    """Whether rows are written to a branch of their own, too."""

    @property
    def blind_layout(self) -> bool:
        return (self.hides and (self.sorts or "secret" in self.layout)) or (
            self.mask is not None and "mail" in self.layout
        )


def random_world(seed: int) -> World:
    rng = random.Random(f"world-{seed}")
    filters = rng.choice(["all", "region", "salary", "secret"])
    hides = filters in ("all", "secret") or rng.random() < 0.6
    mask = rng.choice([None, "show_last_4(mail)", "replace_with_null(mail)"]) if hides else None
    layouts: list[tuple[str, ...]] = [(), ("region",), ("region",)]
    if hides:
        layouts += [("secret",), ("region", "secret")]
    if mask is not None:
        layouts.append(("mail",))
    layout = rng.choice(layouts)
    world = World(
        seed, filters, hides, mask, layout, hides and rng.random() < 0.2, rng.random() < 0.5,
        rng.choice(["partitions", "partitions", "statistics", "off"]), (),
    )  # fmt: skip
    steps = ["append", "hidden", "append"] if filters != "all" else ["append", "append"]
    # Which rows a writer rewrites together tells of a hidden layout, see CANNOT_BE_HIDDEN.
    if not world.blind_layout:
        steps.append("delete")
    rng.shuffle(steps)
    more = random.Random(f"more-{seed}")
    nests, branches = more.random() < 0.5, more.random() < 0.5
    if more.random() < 0.5:
        steps.append("delete in place")
    return replace(world, steps=("append", *steps), nests=nests, branches=branches)


class Twin:
    """One of two tables `cat.s.t`, and the server that answers for it."""

    def __init__(self, number: int, world: World, stand: Stand) -> None:
        self.number = number
        self.world = world
        self.stand = stand
        self.api = stand.api
        self.own = random.Random(f"twin-{world.seed}-{number}")
        self.shown = random.Random(f"shown-{world.seed}")
        self.secret, self.secret_type = SECRETS[number if world.hides else 0]
        self.old, self.old_type = DROPPED[number]
        self.inner, self.inner_type = NESTED[number]
        self.next = 0
        self.deletable: list[int] = []

    # -- the table ----------------------------------------------------------------------------------------------

    def make(self) -> None:
        settle(self.api, "ann", "bob")
        give(self.api, "ann", "reader", securable("catalog", "cat", *READ))
        lazy = {"@type": "setProperty", "property": "headgate.lazy", "value": self.world.lazy}
        done(self.api("admin", "PUT", f"{LAKE}/catalogs/cat", {"updates": [lazy]}))
        self._create()
        for number, step in enumerate(self.world.steps):
            change = {
                "append": self._append,
                "hidden": self._append_hidden,
                "delete": self._delete,
                "delete in place": self._delete_in_place,
            }[step]
            change()
            if number == 1 and self.world.drops:
                drop = {"@type": "deleteColumn", "fieldName": [self.old], "ifExists": False}
                tables = f"{LAKE}/catalogs/cat/schemas/s/tables/t"
                done(self.api("admin", "PUT", tables, {"updates": [drop]}))
        if self.world.branches:
            self._branch()
        self._around()
        self.stand.policies(*self._policies())

    def _create(self) -> None:
        columns = [
            (ID, "id", "long"), (REGION, "region", "string"), (SALARY, "salary", "long"), (MAIL, "mail", "string"),
            (SECRET, self.secret, self.secret_type), (NOTE, "note", "string"),
        ]  # fmt: skip
        if self.world.drops:
            columns.append((OLD, self.old, self.old_type))
        fields: list[Json] = [_field(id, name, type) for id, name, type in columns]
        if self.world.nests:
            inner = [_field(ZIP, "zip", "string"), _field(INNER, self.inner, self.inner_type)]
            fields.append(_field(HOME, "home", {"type": "struct", "fields": inner}))
        ids = {"region": REGION, "secret": SECRET, "mail": MAIL}
        spec = [
            {
                "source-id": ids[name],
                "field-id": 1000 + n,
                "transform": "identity",
                "name": f"by_{n}_{self._name(name)}",
            }
            for n, name in enumerate(self.world.layout)
        ]
        order = {
            "source-id": SECRET,
            "transform": "identity",
            "direction": "asc",
            "null-order": "nulls-first",
        }
        body: dict[str, Any] = {
            "name": "t",
            "schema": {"type": "struct", "fields": fields},
            "partition-spec": {"spec-id": 0, "fields": spec},
            "properties": {"comment": "of people", f"write.metadata.metrics.column.{self.secret}": "full"},
        }
        if self.world.sorts:
            body["write-order"] = {"order-id": 1, "fields": [order]}
        made = self.api("admin", "POST", ICE, body)
        assert made.status_code == 200, made.text

    def _name(self, column: str) -> str:
        return self.secret if column == "secret" else column

    def _append(self, branch: str | None = None) -> None:
        """Rows that are shown, alike in both twins, and among them any number of others."""
        visible = [self._visible() for _ in range(self.shown.randint(3, 6))]
        if branch is None:
            self.deletable += [row["id"] for row in visible]
        hidden = (
            [self._hidden() for _ in range(self.own.choice([0, 1, 3]))] if self.world.filters != "all" else []
        )
        rows = list(visible)
        for row in hidden:
            rows.insert(self.own.randint(0, len(rows)), row)
        to = {} if branch is None else {"branch": branch}
        self._write(lambda transaction, schema: transaction.append(self._arrow(rows, schema), **to))

    def _branch(self) -> None:
        """Rows that are in a branch only, which begins where the table is now."""
        current = self.stand._at("t")[2].metadata["current-snapshot-id"]
        begin = {"action": "set-snapshot-ref", "ref-name": BRANCH, "type": "branch", "snapshot-id": current}
        self.stand.commit("t", begin)
        self._append(BRANCH)

    def _append_hidden(self) -> None:
        rows = [self._hidden() for _ in range(self.own.randint(1, 4))]
        self._write(lambda transaction, schema: transaction.append(self._arrow(rows, schema)))

    def _delete(self) -> None:
        """One row that was shown goes; its file is written anew without it."""
        id = self.deletable.pop(self.shown.randrange(len(self.deletable)))
        self._write(lambda transaction, schema: transaction.delete(EqualTo("id", id)))

    def _delete_in_place(self) -> None:
        """One row that was shown goes by a delete file, and any number of hidden ones of the same data file with it."""
        id = self.deletable.pop(self.shown.randrange(len(self.deletable)))

        def change(transaction: Transaction, _: pa.Schema) -> None:
            for task in transaction._table.scan().plan_files():
                rows = (
                    pq.ParquetFile(task.file.file_path.removeprefix("file://"))
                    .read(["id", "mail"])
                    .to_pylist()
                )
                gone = {n for n, row in enumerate(rows) if row["id"] == id and not _is_hidden(row)}
                if gone:
                    gone |= {n for n, row in enumerate(rows) if _is_hidden(row) and self.own.random() < 0.5}
                    return _delete_positions(transaction, task, sorted(gone))
            raise AssertionError(f"row {id} is in no file")

        self._write(change)

    def _visible(self) -> Row:
        rng = self.shown
        self.next += 1
        tail = "".join(rng.choices("abcdef", k=4))
        # What differs in a masked cell comes to the same by the mask.
        head = "".join(self.own.choices("ghijkl", k=6)) if self.world.mask else "visible"
        row = {
            "id": self.next,
            "region": "EU" if self.world.filters == "region" else rng.choice(["EU", "US", "ZA"]),
            "salary": rng.randrange(1, EDGE),
            "mail": head + tail,
            "note": rng.choice(["red", "green", None]),
        }
        if self.world.nests:
            row["home"] = rng.choice([None, {"zip": rng.choice("123"), self.inner: self._inner()}])
        if not self.world.hides:
            return {**row, self.secret: rng.choice(["x", "y"])}
        return {**row, self.secret: self._secret(shown=True)}

    def _hidden(self) -> Row:
        rng = self.own
        by = self.world.filters
        return {
            "id": rng.randrange(1, 10_000),
            "region": rng.choice(["US", "ZA", "AA", None])
            if by == "region"
            else rng.choice(["EU", "QQ", None]),
            "salary": rng.randrange(EDGE, 10**9) if by == "salary" else rng.choice([1, 999_999, None]),
            "mail": "".join(rng.choices("mnopqr", k=8)),
            "note": rng.choice(["black", None, "aaa"]),
            self.secret: self._secret(shown=False),
            **({"home": {"zip": rng.choice("79"), self.inner: self._inner()}} if self.world.nests else {}),
        }

    def _inner(self) -> Any:
        value = self.own.randrange(10**6)
        return value if self.inner_type == "long" else str(value)

    def _secret(self, *, shown: bool) -> Any:
        """A value of the hidden column; where the row filter goes by it, 7 is what is shown."""
        value = 7 if shown and self.world.filters == "secret" else self.own.choice([8, 9, 10, 11])
        return value if self.secret_type == "long" else str(value)

    def _arrow(self, rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
        old = {self.old: self.own.randrange(10**6)} if self.old in schema.names else {}
        if self.old_type == "string":
            old = {name: str(value) for name, value in old.items()}
        return pa.Table.from_pylist([{**row, **old} for row in rows], schema=schema)

    def _write(self, change: Any) -> None:
        _, adapter, document = self.stand._at("t")
        table = Table(
            ("s", "t"), parsed(document.metadata), document.location or "", adapter.storage.io, NoopCatalog("twin")  # type: ignore[attr-defined]
        )  # fmt: skip
        transaction = table.transaction()
        change(transaction, table.schema().as_arrow())
        updates = [update.model_dump(mode="json", by_alias=True) for update in transaction._updates]
        self.stand.commit("t", *updates)

    def _around(self) -> None:
        """What else speaks of hidden things: statistics, tags."""
        statistics = f"{LAKE}/objects/table/cat.s.t/statistics"
        done(
            self.api(
                "admin", "PUT", statistics, {"updates": {f"custom-{self.secret}-max": self.own.random()}}
            )
        )
        done(self.api("admin", "POST", f"{LAKE}/tags", {"name": "pii"}))
        for column in (self.secret, "mail"):
            tagging = f"{LAKE}/objects/column/cat.s.t.{column}/tags"
            done(self.api("admin", "POST", tagging, {"tagsToAdd": ["pii"]}))

    def _policies(self) -> Iterator[str]:
        start = "on: lake.cat.s.t\nto: [user:ann]\n"
        rows = {
            "region": "region = 'EU'",
            "salary": f"salary < {EDGE}",
            "secret": f"{self.secret} = " + ("7" if self.secret_type == "long" else "'7'"),
        }
        if self.world.filters in rows:
            yield f"policy: rows\n{start}rows: {rows[self.world.filters]}\n"
        if self.world.hides:
            yield f"policy: hide\n{start}hide: [{self.secret}]\n"
        if self.world.nests:
            yield f"policy: inner\n{start}hide: [home.{self.inner}]\n"
        if self.world.mask is not None:
            yield f"policy: mask\n{start}mask: {{mail: '{self.world.mask}'}}\n"

    # -- what is normal -----------------------------------------------------------------------------------------

    def snapshots(self) -> list[int]:
        found = self.stand._at("t")[2].metadata.get("snapshots") or []
        return [snapshot["snapshot-id"] for snapshot in sorted(found, key=lambda s: s["sequence-number"])]


def _field(id: int, name: str, type: Json) -> Json:
    return {"id": id, "name": name, "type": type, "required": False}


def _is_hidden(row: Row) -> bool:
    """Hidden rows have mails of letters of their own."""
    return str(row["mail"])[0] in "mnopqr"


class _DeleteManifestWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class _AddDeletes(_FastAppendFiles):
    """pyiceberg reads delete files and writes none: its own commit, with a manifest of deletes."""

    def _manifests(self) -> list[ManifestFile]:
        spec = self.spec(self._added_data_files[0].spec_id)
        out = self.new_manifest_output()
        with _DeleteManifestWriter(spec, self.schema(), out, self._snapshot_id, self._compression) as writer:
            for file in self._added_data_files:
                writer.add(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED, snapshot_id=self._snapshot_id, data_file=file
                    )
                )
        return [writer.to_manifest_file(), *self._existing_manifests()]


def _delete_positions(transaction: Transaction, task: FileScanTask, positions: Sequence[int]) -> None:
    path = f"{task.file.file_path.removesuffix('.parquet')}-deletes.parquet"
    schema = pa.schema(
        [
            pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
            pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"}),
        ]
    )
    local = Path(path.removeprefix("file://"))
    pq.write_table(pa.table([[task.file.file_path] * len(positions), list(positions)], schema=schema), local)
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=task.file.partition,
        record_count=len(positions),
        file_size_in_bytes=local.stat().st_size,
    )
    file.spec_id = task.file.spec_id
    adding = _AddDeletes(Operation.DELETE, transaction, transaction._table.io)
    adding.append_data_file(file)
    adding.commit()


@contextmanager
def twins(world: World, folder: Path) -> Iterator[tuple[Twin, Twin]]:
    """Both, each with its own store, warehouse and server in this process."""
    with _twin(0, world, folder / "a") as first, _twin(1, world, folder / "b") as second:
        yield first, second


@contextmanager
def _twin(number: int, world: World, folder: Path) -> Iterator[Twin]:
    folder.mkdir(parents=True)
    store = Store(f"sqlite:///{folder}/store.db")
    store.prepare()
    steward = Steward(store, service_admins=frozenset({"admin"}), warehouse=str(folder / "warehouse"))
    try:
        with in_process(steward) as api:
            stand = Stand(steward, api, folder)
            stand.steward.scans.patience = 60
            twin = Twin(number, world, stand)
            twin.make()
            _same_order(steward)
            yield twin
    finally:
        steward.close()
        store.close()


def _same_order(steward: Steward) -> None:
    """Both servers order the rows of copies with one secret, so that the order itself is compared."""
    table = steward.kernel.authority().find(ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "t")))
    assert table is not None
    with steward.kernel.store.append() as connection:
        name = f"{keys.Use.ORDER}|{table.id}"
        connection.execute(insert(t.keys).values(name=name, value=b"the same secret for both twins.."))
    assert keys.key(steward.kernel.store, keys.Use.ORDER, table.id).startswith(b"the same secret")


_TIMES: Final = frozenset({"timestamp-ms", "last-updated-ms", "createTime", "lastModifiedTime", "made_current_at", "committed_at"})  # fmt: skip
_SIZES: Final = frozenset({"file-size-in-bytes", "split-offsets", "column-sizes", "file_size_in_bytes", "column_sizes", "split_offsets", "length", "total_data_file_size_in_bytes", "readable_metrics"})  # fmt: skip
_IDS: Final = frozenset(
    {"plan-id", "table-uuid", "view", "plan-tasks", "last_updated_at", "last_updated_snapshot_id"}
)
_HEX: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32,64}")


@dataclass
class Normal:
    """Answers of one twin without ids, paths, times and sizes of copies; the same path has the same name throughout."""

    twin: Twin
    names: dict[str, str] = field(default_factory=dict)

    def of(self, answer: Json) -> Json:
        self._snapshots = {id: f"snapshot {n}" for n, id in enumerate(self.twin.snapshots())}
        return self._of(answer)

    def _of(self, value: Json) -> Json:
        if isinstance(value, Mapping):
            return {self._text(str(key)): self._member(str(key), one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._of(one) for one in value]
        if isinstance(value, bool) or not isinstance(value, int):
            return self._text(value) if isinstance(value, str) else value
        return self._snapshots.get(value, value)

    def _member(self, key: str, value: Json) -> Json:
        if key in _TIMES or key in _SIZES:
            return "…"
        if key in _IDS:
            return type(value).__name__
        return self._of(value)

    def _text(self, text: str) -> str:
        for id, name in self._snapshots.items():
            text = text.replace(str(id), name)
        if str(self.twin.stand.folder) in text:
            return self.names.setdefault(text, f"path {len(self.names)}")
        return _HEX.sub("…", text)
