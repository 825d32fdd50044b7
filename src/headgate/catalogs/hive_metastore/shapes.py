"""Hive Metastore's shapes of databases and tables: told as pointers or Hive tables, and made from them."""

import hashlib
from typing import Any, Final

import msgspec
from pymetastore.hive_metastore import ttypes as hive

from headgate.catalogs.hive.entries import document_columns, entry_format, pointing
from headgate.catalogs.hive.hive_table import HiveColumn, HiveTable

Json = dict[str, Any]

_EXTERNAL: Final = "EXTERNAL"
_TRANSLATED: Final = "TRANSLATED_TO_EXTERNAL"
"""Set by metastores from version 4 on where somebody asked for a managed table, which they keep as an external one."""

_STALE: Final = frozenset(
    {
        "current-schema",
        "current-snapshot-id",
        "current-snapshot-summary",
        "current-snapshot-timestamp-ms",
        "default-partition-spec",
        "default-sort-order",
        "numfiles",
        "numrows",
        "snapshot-count",
        "totalsize",
    }
)
"""What other writers repeat of a document for those who do not read it: once the pointer moves it would be wrong."""

_FILES_IN: Final = "org.apache.hadoop.mapred.FileInputFormat"
_FILES_OUT: Final = "org.apache.hadoop.mapred.FileOutputFormat"
_LAZY: Final = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
"""What Iceberg's own catalogs for a metastore write of how a table is stored: Hive's engine is to read none of it so."""


def parameters_of(table: Any) -> dict[str, str]:
    return dict(table.parameters or {})


def format_of(table: Any) -> str:
    """The format of a table: iceberg, delta, hive, or view."""
    return entry_format(table.tableType or "", parameters_of(table))


def hive_table(table: Any) -> HiveTable:
    """A Hive table as the metastore has it; half of one is told as such."""
    stored = table.sd or hive.StorageDescriptor()
    serde = stored.serdeInfo or hive.SerDeInfo()
    parameters = parameters_of(table)
    comment = parameters.pop("comment", None)
    kind = table.tableType or "EXTERNAL_TABLE"
    if parameters.get(_TRANSLATED, "").upper() == "TRUE":
        kind = "MANAGED_TABLE"
    found = HiveTable(
        table.tableName or "",
        str(table.createTime or 0),
        tuple(map(_column, stored.cols or ())),
        tuple(map(_column, table.partitionKeys or ())),
        stored.location or None,
        kind,
        stored.inputFormat or "",
        stored.outputFormat or "",
        serde.serializationLib or "",
        dict(serde.parameters or {}),
        parameters,
        comment or None,
        max(0, stored.numBuckets or 0),
        tuple(stored.bucketCols or ()),
        tuple((order.col or "", order.order != 0) for order in stored.sortCols or ()),
        table.sd is not None,
    )
    # A metastore counts no versions of a table: one is as good as what it says of it.
    state = hashlib.blake2b(msgspec.json.encode(found, order="sorted"), digest_size=16).hexdigest()
    return msgspec.structs.replace(found, version=state)


def hive_entry(database: str, table: HiveTable, before: Any = None) -> Any:
    """What the metastore is given of a Hive table; what `before` had besides is kept."""
    entry = before or hive.Table(dbName=database, tableName=table.name, retention=0)
    stored = entry.sd = entry.sd or hive.StorageDescriptor(compressed=False, parameters={})
    stored.cols = [_given(column) for column in table.columns]
    stored.location = table.location
    stored.inputFormat, stored.outputFormat = table.input_format, table.output_format
    stored.serdeInfo = stored.serdeInfo or hive.SerDeInfo(name=table.name)
    stored.serdeInfo.serializationLib = table.serde
    stored.serdeInfo.parameters = dict(table.serde_parameters)
    stored.numBuckets, stored.bucketCols = table.buckets, list(table.bucket_columns)
    stored.sortCols = [hive.Order(name, int(ascending)) for name, ascending in table.sort_columns]
    entry.partitionKeys = [_given(key) for key in table.keys]
    if before is None:
        entry.tableType = table.table_type.upper()
    external = (entry.tableType or "").upper() == "EXTERNAL_TABLE"
    entry.parameters = {
        **table.parameters,
        **({"comment": table.comment} if table.comment else {}),
        **({_EXTERNAL: "TRUE"} if external else {}),
    }
    return entry


def iceberg_entry(database: str, name: str, location: str, document: Json, before: Any = None) -> Any:
    """What the metastore is given of an Iceberg table: the pointer, and columns for those who look at them there."""
    entry = before or hive.Table(
        dbName=database, tableName=name, retention=0, partitionKeys=[], tableType="EXTERNAL_TABLE"
    )
    stored = entry.sd = entry.sd or hive.StorageDescriptor(
        inputFormat=_FILES_IN,
        outputFormat=_FILES_OUT,
        compressed=False,
        numBuckets=0,
        serdeInfo=hive.SerDeInfo(name=name, serializationLib=_LAZY, parameters={}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
    stored.cols = [_given(column) for column in document_columns(document)]
    stored.location = document["location"]
    kept = {key: value for key, value in parameters_of(entry).items() if key.lower() not in _STALE}
    # INVARIANT: the metastore deletes and moves no files of such a table: those of an external one are not its own.
    entry.parameters = {**pointing(kept, location), _EXTERNAL: "TRUE"}
    return entry


def is_external(table: Any) -> bool:
    """Whether the metastore leaves a table's files alone when it gets another name."""
    return parameters_of(table).get(_EXTERNAL, "").upper() == "TRUE"


def database_properties(database: Any) -> dict[str, str]:
    found = dict(database.parameters or {})
    if database.description:
        found["comment"] = database.description
    if database.locationUri:
        found["location"] = database.locationUri
    return found


def _column(column: Any) -> HiveColumn:
    return HiveColumn(column.name or "", column.type or "", column.comment or None)


def _given(column: HiveColumn) -> Any:
    return hive.FieldSchema(column.name, column.type, column.comment)
