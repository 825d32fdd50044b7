"""Glue's shapes of tables: told as pointers or Hive tables, and made from them."""

from collections.abc import Mapping
from typing import Any, Final

from headgate.catalogs.hive.hive_table import HiveColumn, HiveTable
from headgate.catalogs.hive.types import to_hive
from headgate.catalogs.iceberg.describing import descriptions
from headgate.model.errors import HeadgateError

Json = dict[str, Any]

TYPE: Final = "table_type"
METADATA: Final = "metadata_location"
PREVIOUS: Final = "previous_metadata_location"

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
    if str(table.get("TableType", "")).upper() == "VIRTUAL_VIEW":
        return "view"
    parameters = _parameters(table)
    word = parameter(parameters, TYPE).lower()
    if word == "iceberg":
        return word
    if word == "delta" or parameter(parameters, "spark.sql.sources.provider").lower() == "delta":
        return "delta"
    return "hive"


def is_parquet(table: Json) -> bool:
    """Whether a Hive table's files are Parquet."""
    return "parquet" in str((table.get("StorageDescriptor") or {}).get("InputFormat", "")).lower()


def parameter(parameters: Mapping[str, str], key: str) -> str:
    """A parameter under its name in any letters, as other writers spell it."""
    return next((str(value) for name, value in parameters.items() if name.lower() == key), "")


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
    mine = {TYPE, METADATA, PREVIOUS}
    parameters = {key: value for key, value in _parameters(kept).items() if key.lower() not in mine}
    former = parameter(_parameters(kept), METADATA)
    stored = {
        **(kept.get("StorageDescriptor") or {}),
        "Columns": _columns(document),
        "Location": document["location"],
    }
    return {
        **kept,
        "Name": name,
        "TableType": "EXTERNAL_TABLE",
        "StorageDescriptor": stored,
        "Parameters": {
            **parameters,
            TYPE: "ICEBERG",
            METADATA: location,
            **({PREVIOUS: former} if former else {}),
        },
    }


def _columns(document: Json) -> list[Json]:
    """The columns in Hive's words; none where Hive has no word for one, as Iceberg's readers need none."""
    try:
        columns = descriptions.describe_columns(descriptions.parsed(document).schema())
        return [{"Name": column.name, "Type": _hive_word(column.type)} for column in columns]
    except HeadgateError:
        return []


def _hive_word(type: Any) -> str:
    try:
        return to_hive(type)
    except HeadgateError:
        return "string"


def _column(column: Json) -> HiveColumn:
    return HiveColumn(
        str(column.get("Name", "")), str(column.get("Type") or ""), column.get("Comment") or None
    )


def _given(column: HiveColumn) -> Json:
    comment = {"Comment": column.comment} if column.comment else {}
    return {"Name": column.name, "Type": column.type, **comment}
