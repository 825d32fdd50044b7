"""A lens in the pipeline's own terms: Spark SQL for every visible column and for the row filter."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from headgate.language.ast import TRUE, Column, Expr
from headgate.language.errors import LoweringError
from headgate.language.lower.spark import SparkPrinter, lower
from headgate.language.masks.mask import Mask, check_together
from headgate.language.masks.python import Secrets, SecretUse
from headgate.language.masks.spark import SparkSecrets, hmac_pads, lower_mask
from headgate.lenses.outline import Outline
from headgate.model.schema import Field, ListType, MapType, Schema, StructType, Type
from headgate.pipelines.other_rows import kept_sql, noisy_sql

METADATA_COLUMNS: Final = frozenset(
    {"_file", "_pos", "_deleted", "_spec_id", "_partition", "_change_type", "_row_id", "_last_updated_sequence_number"}
)  # fmt: skip
_SECRETS: Final[Mapping[str, SecretUse]] = {"sha256_query_local": "salt", "noisy": "noise"}
"""The masks that need a secret that no policy names."""


@dataclass(frozen=True)
class LensColumn:
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
class LensSql:
    """What a lens makes of a table's rows. `secrets` are handed to Spark as columns of those names, never as text."""

    id: str
    """Names the lens's copies: the same as long as every value comes out the same. Keyed, so nobody can guess what a
    policy says from it."""
    source: Schema
    schema: Schema
    """What is seen, under the same field ids."""
    columns: tuple[LensColumn, ...]
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


def lens_sql(
    lens_id: str,
    source: Schema,
    shown: Schema,
    masks: Sequence[Mask] = (),
    rows: Expr = TRUE,
    secrets: Secrets | None = None,
) -> LensSql:
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
    handed = _secret_columns(by_id.values(), secrets or Secrets(), prefix)
    writer = _Writer(source, shown, by_id, handed, prefix)
    columns = tuple(LensColumn(f.id, f.name, writer.top(f)) for f in shown.fields)
    masked = frozenset(i for i, at in source.by_id.items() if by_id.keys() & set(at.ids))
    return LensSql(
        id=_identity(lens_id, by_id.values(), secrets or Secrets()),
        source=source,
        schema=_seen(shown, by_id),
        columns=columns,
        row_filter=None if rows == TRUE else lower(rows, source),
        blind=masked | (source.by_id.keys() - shown.by_id.keys()),
        counted=tuple(
            Counted(SparkPrinter(source).print(m.column), int(m.args[0]), writer.frequent(m))
            for m in by_id.values()
            if m.name == "k_anonymous"
        ),
        prefix=prefix,
        secrets=_secret_values(by_id.values(), secrets or Secrets(), prefix),
        order=(secrets or Secrets()).of("order"),
    )


@dataclass(frozen=True)
class _Writer:
    source: Schema
    shown: Schema
    masks: Mapping[int, Mask]
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
            return self.mask(mask)
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

    def mask(self, mask: Mask) -> str:
        if mask.name == "k_anonymous":
            return kept_sql(mask, self.source, self.frequent(mask))
        if mask.name == "noisy":
            return noisy_sql(mask, self.source, self.secrets.noise)
        return lower_mask(mask, self.source, self.secrets)

    def frequent(self, mask: Mask) -> str:
        return f"{self.prefix}_frequent{mask.column.field_id}"

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


def _seen(shown: Schema, masks: Mapping[int, Mask]) -> Schema:
    """The schema of what is seen: what a mask can empty is optional, and no default tells what a mask hides."""

    def seen(f: Field, masked: bool) -> Field:
        mask = masks.get(f.id)
        masked = masked or mask is not None
        emptied = mask is not None and mask.name == "k_anonymous"
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


def _key_names(masks: Iterable[Mask]) -> list[str]:
    return sorted({mask.args[0] for mask in masks if mask.name == "token"})


def _secret_columns(masks: Iterable[Mask], secrets: Secrets, prefix: str) -> SparkSecrets:
    masks = tuple(masks)
    pads = {name: (f"{prefix}_inner{n}", f"{prefix}_outer{n}") for n, name in enumerate(_key_names(masks))}
    return SparkSecrets(pads, **{use: f"{prefix}_{use}" for use in _uses(masks)})


def _secret_values(masks: Iterable[Mask], secrets: Secrets, prefix: str) -> dict[str, bytes]:
    masks = tuple(masks)
    values: dict[str, bytes] = {}
    for n, name in enumerate(_key_names(masks)):
        values[f"{prefix}_inner{n}"], values[f"{prefix}_outer{n}"] = hmac_pads(secrets.key(name))
    for use in _uses(masks):
        values[f"{prefix}_{use}"] = secrets.of(use)
    return values


def _uses(masks: Iterable[Mask]) -> list[SecretUse]:
    return sorted({_SECRETS[mask.name] for mask in masks if mask.name in _SECRETS})


def _identity(lens_id: str, masks: Iterable[Mask], secrets: Secrets) -> str:
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
