"""Hive tables as clients see them: told from what a metastore says, made for it, and changed."""

from collections.abc import Sequence
from typing import Final

import msgspec

from headgate.catalogs.hive.hive_table import HiveColumn, HiveTable
from headgate.catalogs.hive.types import from_hive, to_hive
from headgate.catalogs.iceberg.describing.types import refuse_auto_increment, refuse_default
from headgate.model import tables as t
from headgate.model.errors import AlreadyExists, IllegalArgument, NotFound
from headgate.model.objects import ObjectType, clip

_SERDES: Final = "org.apache.hadoop.hive.ql.io."
_MAPRED: Final = "org.apache.hadoop.mapred."
_TEXT_IN: Final = f"{_MAPRED}TextInputFormat"
_TEXT_OUT: Final = f"{_SERDES}HiveIgnoreKeyTextOutputFormat"

FORMATS: Final = {
    "PARQUET": (
        f"{_SERDES}parquet.MapredParquetInputFormat",
        f"{_SERDES}parquet.MapredParquetOutputFormat",
        f"{_SERDES}parquet.serde.ParquetHiveSerDe",
    ),
    "ORC": (f"{_SERDES}orc.OrcInputFormat", f"{_SERDES}orc.OrcOutputFormat", f"{_SERDES}orc.OrcSerde"),
    "AVRO": (
        f"{_SERDES}avro.AvroContainerInputFormat",
        f"{_SERDES}avro.AvroContainerOutputFormat",
        "org.apache.hadoop.hive.serde2.avro.AvroSerDe",
    ),
    "TEXTFILE": (_TEXT_IN, _TEXT_OUT, "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"),
    "CSV": (_TEXT_IN, _TEXT_OUT, "org.apache.hadoop.hive.serde2.OpenCSVSerde"),
    "JSON": (_TEXT_IN, _TEXT_OUT, "org.apache.hive.hcatalog.data.JsonSerDe"),
}
"""By the word that Gravitino's property `format` has: input format, output format, SerDe."""

_SERDE_PARAMETER: Final = "serde.parameter."
_OWN: Final = frozenset(
    {"format", "location", "table-type", "input-format", "output-format", "serde-lib", "provider"}
)
_TYPES: Final = ("EXTERNAL_TABLE", "MANAGED_TABLE")
_TELL_FORMATS: Final = (
    "table_type",
    "metadata_location",
    "previous_metadata_location",
    "external",
    "spark.sql.sources.provider",
)
"""By these parameters, in any letters, metastores and engines tell tables of one format from those of others."""


def broken_reason(table: HiveTable) -> str | None:
    """Why a table cannot be read as its metastore has it; None if nothing is wrong with it."""
    if not table.stored:
        return "its metastore does not say how it is stored"
    if not table.columns:
        return "it has no columns"
    names = [column.name for column in (*table.columns, *table.keys)]
    if not all(names) or len(set(names)) != len(names):
        return "a column has no name, or the name of another"
    if not table.location:
        return "it has no location"
    if not table.serde:
        return "it has no SerDe"
    return None


def columns_of(table: HiveTable) -> tuple[t.TableColumn, ...]:
    """The columns, those that partition the table last, as Hive shows them."""
    return tuple(
        t.TableColumn(column.name, from_hive(column.type), column.comment)
        for column in (*table.columns, *table.keys)
    )


def describe(table: HiveTable) -> t.TableDefinition:
    """A table as clients see it."""
    formats = (table.input_format, table.output_format, table.serde)
    known = next((word for word, found in FORMATS.items() if found == formats), None)
    own = {
        "provider": "hive",
        "table-type": table.table_type,
        "location": table.location or "",
        "input-format": table.input_format,
        "output-format": table.output_format,
        "serde-lib": table.serde,
        "format": known or "",
    }
    properties = {
        **table.parameters,
        **{f"{_SERDE_PARAMETER}{k}": v for k, v in table.serde_parameters.items()},
    }
    properties |= {key: value for key, value in own.items() if value}
    distribution = t.Distribution()
    if table.buckets > 0:
        fields = tuple(t.Expression("field", field_name=(name,)) for name in table.bucket_columns)
        distribution = t.Distribution("hash", table.buckets, fields)
    orders = tuple(
        t.SortOrder(
            t.Expression("field", field_name=(name,)),
            "asc" if ascending else "desc",
            "nulls_first" if ascending else "nulls_last",
        )
        for name, ascending in table.sort_columns
    )
    return t.TableDefinition(
        table.name,
        columns_of(table),
        table.comment,
        properties,
        tuple(t.Partitioning("identity", field_name=(key.name,)) for key in table.keys),
        orders,
        distribution,
    )


def made(definition: t.TableDefinition, location: str) -> HiveTable:
    """The table that a definition asks for, or a refusal of what Hive cannot do."""
    if definition.indexes:
        raise IllegalArgument("Hive tables have no indexes", hint="leave 'indexes' empty")
    columns = tuple(map(_column, definition.columns))
    if len({column.name for column in columns}) != len(columns) or not columns:
        raise IllegalArgument("the table has no columns, or two of one name")
    keys = [_key(step) for step in definition.partitioning]
    if columns[len(columns) - len(keys) :] != tuple(c for k in keys for c in columns if c.name == k):
        raise IllegalArgument("the columns that partition a Hive table come last, in their order")
    if len(keys) == len(columns):
        raise IllegalArgument("a Hive table has a column that does not partition it")
    input, output, serde = _formats(definition.properties)
    table_type = definition.properties.get("table-type", _TYPES[0]).upper()
    if table_type not in _TYPES:
        raise IllegalArgument("property 'table-type' of a Hive table", hint=f"use {' or '.join(_TYPES)}")
    buckets, bucket_columns = _bucketed(definition.distribution)
    kept, serde_parameters = _split(definition.properties)
    return HiveTable(
        definition.name,
        "",
        columns[: len(columns) - len(keys)],
        columns[len(columns) - len(keys) :],
        location,
        table_type,
        input,
        output,
        serde,
        serde_parameters,
        kept,
        definition.comment,
        buckets,
        bucket_columns,
        tuple(map(_sorted, definition.sort_orders)),
    )


def changed(
    table: HiveTable, ids: dict[str, int], changes: Sequence[t.TableChange]
) -> tuple[HiveTable, dict[str, int]]:
    """The table after some changes, and the ids of its columns: a column that is renamed keeps its own."""
    columns, ids = list(table.columns), dict(ids)
    keys = {key.name for key in table.keys}
    for change in changes:
        match change:
            case t.RenameTable():
                continue
            case t.UpdateTableComment(comment):
                table = msgspec.structs.replace(table, comment=comment or None)
            case t.SetTableProperty(key, value):
                table = _with_property(table, key, value)
            case t.RemoveTableProperty(key):
                table = _with_property(table, key, None)
            case t.AddColumn():
                refuse_auto_increment(change.field_name[-1], change.auto_increment)
                refuse_default(change.field_name[-1], change.default_value)
                new = _column(
                    t.TableColumn(_top(change.field_name), change.type, change.comment, change.nullable)
                )
                _free(columns, keys, new.name)
                columns = _placed(columns, new, change.position)
            case t.RenameColumn(old, name):
                at = _at(columns, keys, old)
                _free(columns, keys, t.checked_column_name(name))
                if _top(old) in ids:
                    ids[name] = ids.pop(_top(old))
                columns[at] = msgspec.structs.replace(columns[at], name=name)
            case t.UpdateColumnType(path, type):
                at = _at(columns, keys, path)
                columns[at] = msgspec.structs.replace(columns[at], type=to_hive(type))
            case t.UpdateColumnComment(path, comment):
                at = _at(columns, keys, path)
                columns[at] = msgspec.structs.replace(columns[at], comment=comment)
            case t.UpdateColumnPosition(path, position):
                moved = columns.pop(_at(columns, keys, path))
                columns = _placed(columns, moved, position)
            case t.DeleteColumn(path, if_exists):
                if if_exists and not any((c.name,) == path for c in columns):
                    continue
                gone = columns.pop(_at(columns, keys, path))
                ids.pop(gone.name, None)
                if not columns:
                    raise IllegalArgument("a Hive table has a column that does not partition it")
            case t.UpdateColumnNullability(path, True):
                _at(columns, keys, path)
            case _:
                raise IllegalArgument("Hive tables cannot be changed like that", hint="leave this change out")
    return msgspec.structs.replace(table, columns=tuple(columns)), ids


# -- inside -----------------------------------------------------------------------------------------------------


def _column(column: t.TableColumn) -> HiveColumn:
    name = t.checked_column_name(column.name)
    refuse_auto_increment(name, column.auto_increment)
    refuse_default(name, column.default_value)
    if not column.nullable:
        raise IllegalArgument(f"column '{clip(name)}' of a Hive table cannot be required")
    if name != name.lower():
        raise IllegalArgument(
            f"column '{clip(name)}' has capital letters, which Hive folds", hint="use small letters"
        )
    return HiveColumn(name, to_hive(column.type), column.comment)


def _key(step: t.Partitioning) -> str:
    if step.strategy.lower() != "identity" or step.field_name is None or len(step.field_name) != 1:
        raise IllegalArgument("Hive tables are partitioned by whole columns", hint="use identity")
    return step.field_name[0]


def _formats(properties: dict[str, str]) -> tuple[str, str, str]:
    word = properties.get("format", "PARQUET").upper()
    if word not in FORMATS:
        raise IllegalArgument(f"'format' is '{clip(word)}'", hint=f"use one of {', '.join(FORMATS)}")
    usual = FORMATS[word]
    return (
        properties.get("input-format", usual[0]),
        properties.get("output-format", usual[1]),
        properties.get("serde-lib", usual[2]),
    )


def _split(properties: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What goes to the table, and what to its SerDe."""
    kept = {k: v for k, v in properties.items() if k not in _OWN and not k.startswith(_SERDE_PARAMETER)}
    for key in kept:
        _checked_key(key)
    serde = {
        k.removeprefix(_SERDE_PARAMETER): v for k, v in properties.items() if k.startswith(_SERDE_PARAMETER)
    }
    return kept, serde


def _checked_key(key: str) -> str:
    """INVARIANT: no property turns a Hive table into one of another format, or points it to a document."""
    if key.lower() in _TELL_FORMATS:
        raise IllegalArgument(f"property '{clip(key)}' cannot be set", hint="the catalog itself tells it")
    if key in _OWN:
        raise IllegalArgument(f"property '{key}' of a Hive table cannot change", hint="make another table")
    return key


def _with_property(table: HiveTable, key: str, value: str | None) -> HiveTable:
    inner = key.startswith(_SERDE_PARAMETER)
    found = dict(table.serde_parameters if inner else table.parameters)
    word = key.removeprefix(_SERDE_PARAMETER) if inner else _checked_key(key)
    if value is None:
        found.pop(word, None)
    else:
        found[word] = value
    if inner:
        return msgspec.structs.replace(table, serde_parameters=found)
    return msgspec.structs.replace(table, parameters=found)


def _bucketed(distribution: t.Distribution) -> tuple[int, tuple[str, ...]]:
    strategy = distribution.strategy.lower()
    if strategy == "none":
        return 0, ()
    names = tuple(e.field_name[0] for e in distribution.func_args if e.field_name and len(e.field_name) == 1)
    if strategy != "hash" or distribution.number < 1 or len(names) != len(distribution.func_args):
        raise IllegalArgument("Hive tables are distributed by the hash of whole columns into buckets")
    return distribution.number, names


def _sorted(order: t.SortOrder) -> tuple[str, bool]:
    path = order.sort_term.field_name
    if path is None or len(path) != 1 or order.direction.lower() not in ("", "asc", "desc"):
        raise IllegalArgument("Hive tables are sorted by whole columns, asc or desc")
    return path[0], order.direction.lower() != "desc"


def _top(path: tuple[str, ...]) -> str:
    if len(path) != 1:
        raise IllegalArgument(
            "fields inside a column of a Hive table cannot change by themselves", hint="change its type"
        )
    return path[0]


def _at(columns: list[HiveColumn], keys: set[str], path: tuple[str, ...]) -> int:
    if path and path[0] in keys:
        raise IllegalArgument(f"column '{clip(path[0])}' partitions the table and cannot change")
    found = [n for n, column in enumerate(columns) if path and column.name == path[0]]
    if not found:
        raise NotFound(f"column '{clip('.'.join(path))}' does not exist", about=ObjectType.COLUMN)
    _top(path)
    return found[0]


def _free(columns: list[HiveColumn], keys: set[str], name: str) -> None:
    if name in keys or any(column.name == name for column in columns):
        raise AlreadyExists(f"column '{clip(name)}' already exists", about=ObjectType.COLUMN)
    if name != name.lower():
        raise IllegalArgument(f"column '{clip(name)}' has capital letters, which Hive folds")


def _placed(columns: list[HiveColumn], column: HiveColumn, position: t.Position | None) -> list[HiveColumn]:
    match position:
        case None | "default":
            return [*columns, column]
        case "first":
            return [column, *columns]
        case t.After(after):
            for at, other in enumerate(columns):
                if other.name == after:
                    return [*columns[: at + 1], column, *columns[at + 1 :]]
            raise NotFound(f"column '{clip(after)}' does not exist", about=ObjectType.COLUMN)
    raise IllegalArgument("a column comes first, by default last, or after another")
