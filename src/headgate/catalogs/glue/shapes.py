"""Glue's shapes of tables: told as pointers or Hive tables, and made from them."""

from typing import Any, Final

from headgate.catalogs.hive.entries import document_columns, entry_format, pointing
from headgate.catalogs.hive.hive_table import HiveColumn, HiveTable

Json = dict[str, Any]

_INPUT: Final = (
    "Name",
    "Description",
    "Owner",
    "LastAccessTime",
    "LastAnalyzedTime",
    "Retention",
    "StorageDescriptor",
    "PartitionKeys",
    "ViewOriginalText",
    "ViewExpandedText",
    "TableType",
    "Parameters",
    "TargetTable",
)
"""What of a table can be given back when it is changed."""


def format_of(table: Json) -> str:
    """The format of a table: iceberg, delta, hive, or view."""
    return entry_format(str(table.get("TableType", "")), _parameters(table))


def is_parquet(table: Json) -> bool:
    """Whether a Hive table's files are Parquet."""
    return "parquet" in str((table.get("StorageDescriptor") or {}).get("InputFormat", "")).lower()


def _parameters(table: Json) -> dict[str, str]:
    found = table.get("Parameters")
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def input_of(table: Json) -> Json:
    """What to give back of a table that stays as it is."""
    return {key: table[key] for key in _INPUT if table.get(key) is not None}


def hive_table(table: Json) -> HiveTable:
    """A Hive table as Glue has it; half of one is told as such."""
    stored = table.get("StorageDescriptor") or {}
    serde = stored.get("SerdeInfo") or {}
    created = table.get("CreateTime")
    return HiveTable(
        str(table.get("Name", "")),
        str(int(created.timestamp() * 1000)) if created is not None else "0",
        tuple(map(_column, stored.get("Columns") or ())),
        tuple(map(_column, table.get("PartitionKeys") or ())),
        stored.get("Location") or None,
        table.get("TableType") or "EXTERNAL_TABLE",
        stored.get("InputFormat") or "",
        stored.get("OutputFormat") or "",
        serde.get("SerializationLibrary") or "",
        dict(serde.get("Parameters") or {}),
        _parameters(table),
        table.get("Description") or None,
        max(0, stored.get("NumberOfBuckets") or 0),
        tuple(stored.get("BucketColumns") or ()),
        tuple(
            (order.get("Column", ""), order.get("SortOrder") != 0)
            for order in stored.get("SortColumns") or ()
        ),
        bool(table.get("StorageDescriptor")),
        str(table.get("VersionId") or ""),
    )


def hive_input(table: HiveTable, before: Json | None = None) -> Json:
    """What Glue is given of a Hive table; what `before` had besides is kept."""
    kept = input_of(before or {})
    stored = {
        **(kept.get("StorageDescriptor") or {}),
        "Columns": [_given(column) for column in table.columns],
        "Location": table.location or "",
        "InputFormat": table.input_format,
        "OutputFormat": table.output_format,
        "SerdeInfo": {
            **((kept.get("StorageDescriptor") or {}).get("SerdeInfo") or {}),
            "SerializationLibrary": table.serde,
            "Parameters": table.serde_parameters,
        },
        "NumberOfBuckets": table.buckets,
        "BucketColumns": list(table.bucket_columns),
        "SortColumns": [{"Column": n, "SortOrder": int(ascending)} for n, ascending in table.sort_columns],
    }
    external = {"EXTERNAL": "TRUE"} if table.table_type.upper() == "EXTERNAL_TABLE" else {}
    kept.pop("Description", None)
    return {
        **kept,
        "Name": table.name,
        **({"Description": table.comment} if table.comment else {}),
        "StorageDescriptor": stored,
        "PartitionKeys": [_given(key) for key in table.keys],
        "TableType": table.table_type,
        "Parameters": {**table.parameters, **external},
    }


def iceberg_input(name: str, location: str, document: Json, before: Json | None = None) -> Json:
    """What Glue is given of an Iceberg table: the pointer, and columns for those who look at them there."""
    kept = input_of(before or {})
    stored = {
        **(kept.get("StorageDescriptor") or {}),
        "Columns": [_given(column) for column in document_columns(document)],
        "Location": document["location"],
    }
    return {
        **kept,
        "Name": name,
        "TableType": "EXTERNAL_TABLE",
        "StorageDescriptor": stored,
        "Parameters": pointing(_parameters(kept), location),
    }


def _column(column: Json) -> HiveColumn:
    return HiveColumn(
        str(column.get("Name", "")), str(column.get("Type") or ""), column.get("Comment") or None
    )


def _given(column: HiveColumn) -> Json:
    comment = {"Comment": column.comment} if column.comment else {}
    return {"Name": column.name, "Type": column.type, **comment}
