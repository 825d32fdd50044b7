"""Tables written by Spark, seen through lenses, read back by three engines; and what a lens shows in plain Python."""

import glob
import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from pyiceberg.table import StaticTable

from headgate.catalogs.iceberg.storage import Storage
from headgate.language.ast import TRUE, Expr
from headgate.language.bind import bind
from headgate.language.errors import LoweringError
from headgate.language.evaluate import keeps
from headgate.language.lower import iceberg
from headgate.language.masks.mask import ColumnMask, bind_mask, parse_mask
from headgate.language.masks.other_rows import noisy_value
from headgate.language.masks.python import Secrets, apply
from headgate.language.parse import parse
from headgate.lenses.arrangement import arrangement_of, sources_of
from headgate.lenses.copies import CopySource, GovernedCopy, by_source
from headgate.lenses.metadata import govern_snapshot, governed_document, write_governed_document
from headgate.lenses.rendering import RenderedLens, render_lens
from headgate.model.schema import Field, ListType, MapType, Schema, StructType, Type
from headgate.pipelines.job import MaterialiseJob
from headgate.pipelines.materialise import materialise
from headgate.planning import ManifestIndex, PlanRequest, Veil
from tests.openings import TEMPORARY
from tests.planning.forge import plan

LAKE = "lake"
SECRETS = Secrets(
    {"customers": b"0123456789abcdef0123456789abcdef"},
    salt=b"a salt of the lens",
    noise=b"a noise of the table",
    order=b"an order of the table",
    names=b"a name of the table",
)
STORAGE = Storage({}, TEMPORARY)
_numbers = itertools.count()


@dataclass(frozen=True)
class View:
    """A lens as a test writes it, bound to a table's current schema."""

    schema: Schema
    shown: Schema
    masks: tuple[ColumnMask, ...]
    rows: Expr

    @property
    def hidden(self) -> frozenset[int]:
        return frozenset(self.schema.by_id.keys() - self.shown.by_id.keys())

    def sql(self, secrets: Secrets = SECRETS) -> RenderedLens:
        return render_lens("lens-1", self.schema, self.shown, self.masks, self.rows, secrets)


def view(
    document: dict[str, Any],
    *,
    hide: Sequence[str] = (),
    mask: dict[str, str] | None = None,
    rows: str = "TRUE",
) -> View:
    current = next(s for s in document["schemas"] if s["schema-id"] == document["current-schema-id"])
    schema = Schema.from_json(current)
    hidden = {schema.named(name).field.id for name in hide}  # type: ignore[union-attr]
    masks = [bind_mask(parse_mask(m), schema, schema.named(c).field.id) for c, m in (mask or {}).items()]  # type: ignore[union-attr]
    shown = Schema(tuple(f for f in (_without(f, hidden) for f in schema.fields) if f), schema.schema_id)
    expr = TRUE if rows == "TRUE" else bind(parse(rows), schema)
    return View(schema, shown, tuple(masks), expr)


def _without(field: Field, hidden: set[int]) -> Field | None:
    if field.id in hidden:
        return None
    type_: Type = field.type
    if isinstance(type_, StructType):
        type_ = StructType(tuple(f for f in (_without(f, hidden) for f in type_.fields) if f))
    elif isinstance(type_, ListType):
        type_ = ListType(_without(type_.element, hidden))  # type: ignore[arg-type]
    elif isinstance(type_, MapType):
        type_ = MapType(type_.key, _without(type_.value, hidden))  # type: ignore[arg-type]
    return Field(
        field.id, field.name, type_, field.required, field.doc, field.initial_default, field.write_default
    )


@dataclass(frozen=True)
class Governed:
    """A table through a lens, as it lies in storage."""

    location: str
    document: dict[str, Any]
    copies: list[GovernedCopy]
    originals: frozenset[str]
    folder: Path
    spark: Any
    schema: Schema

    def in_spark(self) -> list[Any]:
        return normal(
            self.schema, self.spark.read.format("iceberg").load(self.location).toArrow().to_pylist()
        )

    def in_pyiceberg(self) -> list[Any]:
        return normal(self.schema, StaticTable.from_metadata(self.location).scan().to_arrow().to_pylist())

    def in_duckdb(self) -> list[Any]:
        with duckdb.connect() as connection:
            connection.execute("SET timezone='UTC'")
            for name in ("avro", "iceberg"):
                connection.execute(f"LOAD '{_extension(name)}'")
            path = self.location.removeprefix("file://")
            table = connection.execute("SELECT * FROM iceberg_scan(?)", [path]).to_arrow_table()
            return normal(self.schema, table.to_pylist())

    def by_every_engine(self) -> dict[str, list[Any]]:
        return {"spark": self.in_spark(), "pyiceberg": self.in_pyiceberg(), "duckdb": self.in_duckdb()}

    def files(self) -> list[Path]:
        return [p for p in self.folder.rglob("*") if p.is_file()]


def _extension(name: str) -> str:
    module = __import__(f"duckdb_extension_{name}")
    found = glob.glob(f"{Path(module.__file__).parent}/extensions/**/{name}.duckdb_extension", recursive=True)
    return found[0]


def normal(schema: Schema, rows: list[dict[str, Any]]) -> list[Any]:
    """Rows by field id, in an order of their own, whatever an engine calls a missing list."""
    return sorted(({f.id: _cell(f.type, row[f.name]) for f in schema.fields} for row in rows), key=repr)


def _cell(type_: Type, value: Any) -> Any:
    match type_:
        case ListType(element):
            return [_cell(element.type, v) for v in value or []]
        case MapType():
            return dict(value or {})
        case StructType(fields) if value is not None:
            return {f.id: _cell(f.type, value[f.name]) for f in fields}
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


class Lake:
    """A folder with tables."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.folder = folder

    def create(self, columns: str, *, version: int = 2, partitioned: str = "", more: str = "") -> str:
        name = f"{LAKE}.db.t{next(_numbers)}_{uuid.uuid4().hex[:6]}"
        by = f"PARTITIONED BY ({partitioned})" if partitioned else ""
        self.spark.sql(
            f"CREATE TABLE {name} ({columns}) USING iceberg {by} "
            f"TBLPROPERTIES ('format-version'='{version}', 'write.delete.mode'='merge-on-read' {more})"
        )
        return name

    def document(self, table: str) -> dict[str, Any]:
        log = self.spark.sql(
            f"SELECT file FROM {table}.metadata_log_entries ORDER BY timestamp, file"
        ).collect()
        return STORAGE.read(log[-1].file)

    def java(self, table: str) -> Any:
        jvm = self.spark._jvm
        return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, table)

    def through(self, table: str, seen: View, *, snapshot_id: int | None = None) -> Governed:
        """Plan, copy and govern, as the steward does."""
        document = self.document(table)
        snapshot = snapshot_id or document["current-snapshot-id"]
        sources, originals = files_of(document, snapshot, seen)
        folder = self.folder / "governed" / uuid.uuid4().hex
        lens = seen.sql()
        job = MaterialiseJob(
            document,
            snapshot,
            tuple(sources),
            lens,
            f"file://{folder}",
            f"file://{self.folder}/staging",
            arrangement_of(document, lens.outline),
        )
        copies = materialise(self.spark, job, STORAGE)
        made = govern_snapshot(
            STORAGE,
            document,
            snapshot,
            outline=lens.outline,
            copies=by_source(copies),
            originals=originals,
            folder=f"file://{folder}",
        )
        governed = governed_document(document, [made], lens.outline, f"file://{folder}")
        location = write_governed_document(STORAGE, governed)
        return Governed(location, governed, copies, originals, folder, self.spark, lens.schema)


def files_of(document: dict[str, Any], snapshot: int, seen: View) -> tuple[list[CopySource], frozenset[str]]:
    """What must be copied and what conforms as it is."""
    masked = frozenset(m.column.field_id for m in seen.masks)
    try:
        filtered = (
            None if seen.rows == TRUE else iceberg.lower(seen.rows, seen.schema, form="term", mode="exact")
        )
        exact = True
    except LoweringError:
        filtered = iceberg.lower(seen.rows, seen.schema, form="term", mode="widened")
        exact = False
    made = plan(
        document,
        PlanRequest(snapshot_id=snapshot),
        io=STORAGE.io,
        index=ManifestIndex(memory_bytes=1 << 26),
        veil=Veil(seen.hidden, masked, filtered, exact),
    )
    copied, originals = [], set()
    for file in made.files():
        if file.conforms and not file.deletes:
            originals.add(file.path)
        else:
            copied.append(file)
    outline = seen.sql().outline
    arrangement = arrangement_of(document, outline)
    return sources_of(copied, document, outline, arrangement), frozenset(originals)


def expected(
    seen: View, rows: Sequence[dict[str, Any]], population: Sequence[dict[str, Any]] | None = None
) -> list[Any]:
    """What the lens shows of rows (dicts by column name), worked out in plain Python."""
    out = []
    everyone = [by_id(seen.schema, row) for row in population or rows]
    everyone = [row for row in everyone if keeps(seen.rows, row)]
    for row in (by_id(seen.schema, row) for row in rows):
        if not keeps(seen.rows, row):
            continue
        masked = dict(row)
        for mask in seen.masks:
            masked = _masked(masked, mask, mask.column.ids, everyone)
        out.append({f.id: _shown(f, masked[f.id]) for f in seen.shown.fields})
    return sorted(out, key=repr)


def by_id(schema: Schema, row: dict[str, Any]) -> dict[int, Any]:
    return {f.id: _cell(f.type, row[f.name]) for f in schema.fields}


def _masked(row: Any, mask: ColumnMask, ids: tuple[int, ...], everyone: list[dict[int, Any]]) -> Any:
    if row is None:
        return None
    value = row[ids[0]]
    if len(ids) > 1:
        return {**row, ids[0]: _masked(value, mask, ids[1:], everyone)}
    if mask.name == "noisy":
        return {**row, ids[0]: noisy_value(mask, value, SECRETS.noise)}
    if mask.name == "k_anonymous":
        count = sum(1 for other in everyone if _at(other, mask.column.ids) == value)
        return {**row, ids[0]: value if count >= mask.args[0] else None}
    return {**row, ids[0]: apply(mask, value, SECRETS)}


def _at(row: Any, ids: tuple[int, ...]) -> Any:
    for id in ids:
        row = None if row is None else row[id]
    return row


def _shown(field: Field, value: Any) -> Any:
    match field.type:
        case StructType(fields) if value is not None:
            return {f.id: _shown(f, value[f.id]) for f in fields}
        case ListType(element):
            return [_shown(element, v) for v in value or []]
    return value
