"""Entries of a metastore: which format a table has, and how an entry points to the metadata of an Iceberg table."""

from collections.abc import Mapping
from typing import Any, Final

from headgate.catalogs.hive.hive_table import HiveColumn
from headgate.catalogs.hive.types import to_hive
from headgate.catalogs.iceberg.describing import descriptions
from headgate.model.errors import HeadgateError
from headgate.model.tables import DataType

Json = dict[str, Any]

TYPE: Final = "table_type"
METADATA: Final = "metadata_location"
PREVIOUS: Final = "previous_metadata_location"

_VIEWS: Final = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")


def entry_format(table_type: str, parameters: Mapping[str, str]) -> str:
    """The format of a table: iceberg, delta, hive, or view."""
    if table_type.upper() in _VIEWS:
        return "view"
    word = parameter(parameters, TYPE).lower()
    if word == "iceberg":
        return word
    if word == "delta" or parameter(parameters, "spark.sql.sources.provider").lower() == "delta":
        return "delta"
    return "hive"


def parameter(parameters: Mapping[str, str], key: str) -> str:
    """A parameter under its name in any letters, as other writers spell it."""
    return next((str(value) for name, value in parameters.items() if name.lower() == key), "")


def pointing(parameters: Mapping[str, str], location: str) -> dict[str, str]:
    """The parameters of an entry that points to a document; all others stay as they are."""
    mine = {TYPE, METADATA, PREVIOUS}
    former = parameter(parameters, METADATA)
    return {
        **{key: value for key, value in parameters.items() if key.lower() not in mine},
        TYPE: "ICEBERG",
        METADATA: location,
        **({PREVIOUS: former} if former else {}),
    }


def document_columns(document: Json) -> tuple[HiveColumn, ...]:
    """The columns in Hive's words, for those who look at them there; none where they cannot be told.

    Iceberg's readers need none.
    """
    try:
        columns = descriptions.describe_columns(descriptions.parsed(document).schema())
        return tuple(HiveColumn(column.name, _hive_word(column.type)) for column in columns)
    except HeadgateError:
        return ()


def _hive_word(type: DataType) -> str:
    try:
        return to_hive(type)
    except HeadgateError:
        return "string"
