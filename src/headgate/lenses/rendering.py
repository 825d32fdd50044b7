"""A lens rendered for the pipeline: Spark SQL for every visible column and for the row filter, and the name of its copies."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import msgspec

from headgate.language.ast import TRUE, Column, Expr
from headgate.language.errors import LoweringError
from headgate.language.lower.spark import SparkPrinter, lower
from headgate.language.masks.kind import Nulls
from headgate.language.masks.mask import ColumnMask, check_together
from headgate.language.masks.python import Secrets
from headgate.language.masks.spark import SparkSecrets, hmac_pads, lower_mask
from headgate.lenses.outline import Outline
from headgate.model.schema import Field, ListType, MapType, Schema, StructType, Type

METADATA_COLUMNS: Final = frozenset(
    {"_file", "_pos", "_deleted", "_spec_id", "_partition", "_change_type", "_row_id", "_last_updated_sequence_number"}
)  # fmt: skip


@dataclass(frozen=True)
class RenderedColumn:
    """A visible column: its name and the Spark SQL of what is seen of it."""

    field_id: int
    name: str
    sql: str


@dataclass(frozen=True)
class Counted:
    """A column whose values are counted over the table: its SQL, k, and the column that tells frequent values."""

    sql: str
    k: int
    frequent: str


@dataclass(frozen=True)
class RenderedLens:
    """What a lens makes of a table's rows. `secrets` are handed to Spark as columns of those names, never as text."""

    id: str
    """Names the lens's copies: the same as long as every value comes out the same. Keyed, so nobody can guess what a
    policy says from it."""
    source: Schema
    schema: Schema
    """What is seen, under the same field ids."""
    columns: tuple[RenderedColumn, ...]
    row_filter: str | None
    blind: frozenset[int]
    counted: tuple[Counted, ...]
    prefix: str
    """Begins no column's name, so whatever begins with it is the pipeline's own."""
    secrets: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    order: bytes = field(default=b"", repr=False)
    """Orders the rows of copies; a secret, like the others."""

    @property
    def outline(self) -> Outline:
        return Outline(self.schema, self.blind)


def render_lens(
    lens_id: str,
    source: Schema,
    shown: Schema,
    masks: Sequence[ColumnMask] = (),
    rows: Expr = TRUE,
    secrets: Secrets | None = None,
) -> RenderedLens:
    """Put a lens into Spark SQL: `shown` is the table's current schema without what is hidden."""
    check_together(masks)
    if not shown.fields:
        raise LoweringError("spark", "no column is visible", "deny the read instead")
    names = [f.name for f in source.fields]
    reserved = sorted(METADATA_COLUMNS & set(names))
    if reserved:
        raise LoweringError(
            "spark", f"a column is called {reserved[0]}, which readers take for metadata", "rename it"
        )
    prefix = "_headgate"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    by_id = {mask.column.field_id: mask for mask in masks if mask.column.field_id in shown.by_id}
    handed = _handed_columns(by_id.values(), prefix)
    writer = _SqlWriter(source, shown, by_id, handed, prefix)
    columns = tuple(RenderedColumn(f.id, f.name, writer.top(f)) for f in shown.fields)
    masked = frozenset(i for i, at in source.by_id.items() if by_id.keys() & set(at.ids))
    return RenderedLens(
        id=_identity(lens_id, by_id.values(), secrets or Secrets()),
        source=source,
        schema=_seen(shown, by_id),
        columns=columns,
        row_filter=None if rows == TRUE else lower(rows, source),
        blind=masked | (source.by_id.keys() - shown.by_id.keys()),
        counted=tuple(
            Counted(SparkPrinter(source).print(m.column), int(m.args[0]), handed.frequent[m.column.field_id])
            for m in by_id.values()
            if _is_counted(m)
        ),
        prefix=prefix,
        secrets=_secret_values(by_id.values(), secrets or Secrets(), prefix),
        order=(secrets or Secrets()).of("order"),
    )


@dataclass(frozen=True)
class _SqlWriter:
    source: Schema
    shown: Schema
    masks: Mapping[int, ColumnMask]
    secrets: SparkSecrets
    prefix: str

    def top(self, shown: Field) -> str:
        return self.column(
            shown, self.source.by_id[shown.id].field, SparkPrinter(self.source).quote(shown.name), 0
        )

    def column(self, shown: Field, source: Field, text: str, depth: int) -> str:
        """What is seen of a field whose value `text` gives."""
        mask = self.masks.get(shown.id)
        if mask is not None:
            return lower_mask(mask, self.source, self.secrets, in_pipeline=True)
        self.check(source)
        if shown.type == source.type and not self.masked_below(source):
            self.check_below(source.type)
            return text
        match shown.type, source.type:
            case StructType(fields), StructType():
                printer = SparkPrinter(self.source)
                parts = ", ".join(
                    f"{printer.string(f.name)}, "
                    f"{self.column(f, self.source.by_id[f.id].field, f'{text}.{printer.quote(f.name)}', depth)}"
                    for f in fields
                )
                return f"CASE WHEN {text} IS NOT NULL THEN named_struct({parts}) END"
            case ListType(element), ListType(inner):
                item = f"{self.prefix}_x{depth}"
                return f"transform({text}, {item} -> {self.column(element, inner, item, depth + 1)})"
            case MapType(key, value), MapType(inner_key, inner_value) if key == inner_key:
                item = f"{self.prefix}_x{depth}"
                seen = self.column(value, inner_value, item, depth + 1)
                return f"transform_values({text}, ({self.prefix}_k{depth}, {item}) -> {seen})"
        raise LoweringError(
            "spark", f"part of the map {shown.name} is hidden in its key", "hide the whole map"
        )

    def masked_below(self, source: Field) -> bool:
        return any(source.id in mask.column.ids for mask in self.masks.values())

    def check(self, source: Field) -> None:
        """Refuse a field that Spark cannot read."""
        SparkPrinter(self.source).check_column(Column((source.id,), source.type, True))

    def check_below(self, type_: Type) -> None:
        for below in _parts(type_):
            self.check(below)
            self.check_below(below.type)


def _parts(type_: Type) -> tuple[Field, ...]:
    match type_:
        case StructType(fields):
            return fields
        case ListType(element):
            return (element,)
        case MapType(key, value):
            return (key, value)
    return ()


def _seen(shown: Schema, masks: Mapping[int, ColumnMask]) -> Schema:
    """The schema of what is seen: what a mask can empty is optional, and no default tells what a mask hides."""

    def seen(f: Field, masked: bool) -> Field:
        mask = masks.get(f.id)
        masked = masked or mask is not None
        emptied = mask is not None and mask.kind.nulls is Nulls.LOOSENS
        match f.type:
            case StructType(fields):
                type_: Type = StructType(tuple(seen(x, masked) for x in fields))
            case ListType(element):
                type_ = ListType(seen(element, masked))
            case MapType(key, value):
                type_ = MapType(seen(key, masked), seen(value, masked))
            case _:
                type_ = f.type
        return msgspec.structs.replace(
            f,
            type=type_,
            required=f.required and not emptied,
            initial_default=None if masked else f.initial_default,
            write_default=None,
        )

    fields = tuple(seen(f, False) for f in shown.fields)
    kept = all(
        i in shown.by_id and not masks.keys() & set(shown.by_id[i].ids) for i in shown.identifier_field_ids
    )
    return replace(shown, fields=fields, identifier_field_ids=shown.identifier_field_ids if kept else ())


def _key_names(masks: Iterable[ColumnMask]) -> list[str]:
    return sorted({mask.key for mask in masks if mask.key is not None})


def _is_counted(mask: ColumnMask) -> bool:
    """Whether a mask's values are counted over the table; the count that they need is its first argument."""
    return mask.needs_other_rows and mask.kind.nulls is Nulls.LOOSENS


def _handed_columns(masks: Iterable[ColumnMask], prefix: str) -> SparkSecrets:
    """The names of the columns in which Spark finds what the text of masks must not hold."""
    masks = tuple(masks)
    pads = {name: (f"{prefix}_inner{n}", f"{prefix}_outer{n}") for n, name in enumerate(_key_names(masks))}
    counted = {m.column.field_id: f"{prefix}_frequent{m.column.field_id}" for m in masks if _is_counted(m)}
    return SparkSecrets(pads, frequent=counted, **{use: f"{prefix}_{use}" for use in _uses(masks)})


def _secret_values(masks: Iterable[ColumnMask], secrets: Secrets, prefix: str) -> dict[str, bytes]:
    masks = tuple(masks)
    values: dict[str, bytes] = {}
    for n, name in enumerate(_key_names(masks)):
        values[f"{prefix}_inner{n}"], values[f"{prefix}_outer{n}"] = hmac_pads(secrets.key(name))
    for use in _uses(masks):
        values[f"{prefix}_{use}"] = secrets.of(use)
    return values


def _uses(masks: Iterable[ColumnMask]) -> list[Literal["salt", "noise"]]:
    """The secrets that masks need and no policy names."""
    kinds = {mask.kind.keyed_by for mask in masks}
    return [use for use in ("noise", "salt") if use in kinds]


def _identity(lens_id: str, masks: Iterable[ColumnMask], secrets: Secrets) -> str:
    """A name for the lens that only holders of the secret can work out; another one where a masked column's type, a key or
    another secret changed: other values come out."""
    digest = hmac.new(secrets.of("names"), lens_id.encode(), hashlib.sha256)
    masks = sorted(masks, key=lambda m: m.column.field_id)
    for mask in masks:
        digest.update(f"\n{mask.column.field_id} {mask.column.type}".encode())
    for name in _key_names(masks):
        digest.update(hmac.digest(secrets.key(name), b"headgate: which key", "sha256"))
    for use in _uses(masks):
        digest.update(hmac.digest(secrets.of(use), f"headgate: which {use}".encode(), "sha256"))
    return digest.hexdigest()
