"""What is wrong with a document, said without quoting it.

INVARIANT: a fault names fields of Iceberg's specification and the kind of mistake, never a value or a key of the
document. What is only claimed to be metadata may be any file of the machine, with anybody's secrets in it.
"""

from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import (
    TableMetadataUtil,
    TableMetadataV1,
    TableMetadataV2,
    TableMetadataV3,
)
from pyiceberg.table.refs import SnapshotRef
from pyiceberg.table.snapshots import MetadataLogEntry, Snapshot, SnapshotLogEntry
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.table.statistics import PartitionStatisticsFile, StatisticsFile
from pyiceberg.types import ListType, MapType, NestedField, StructType

Json = dict[str, Any]

_MODELS: Final[tuple[type[BaseModel], ...]] = (
    TableMetadataV1,
    TableMetadataV2,
    TableMetadataV3,
    Schema,
    NestedField,
    StructType,
    ListType,
    MapType,
    PartitionSpec,
    PartitionField,
    SortOrder,
    SortField,
    Snapshot,
    SnapshotRef,
    SnapshotLogEntry,
    MetadataLogEntry,
    StatisticsFile,
    PartitionStatisticsFile,
)
_FIELDS: Final = frozenset(
    name
    for model in _MODELS
    for key, field in model.model_fields.items()
    for name in (key, field.alias or key)
)
_KINDS: Final = (
    ("missing", "is missing"),
    ("_type", "has the wrong type"),
    ("_parsing", "has the wrong type"),
)


def describe(error: Exception) -> str:
    """The first fault that pyiceberg found, by the path of its field and the kind of mistake."""
    if not isinstance(error, ValidationError):
        return "it is not valid by Iceberg's specification"
    found = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = "".join(_step(step) for step in found["loc"]).lstrip(".")
    kind = next((words for end, words in _KINDS if found["type"].endswith(end)), "is not valid")
    return f"the field '{path}' {kind}" if path else f"the document {kind}"


def of_table(document: Json) -> str:
    """What is wrong with a document that was refused as the metadata of a table."""
    try:
        TableMetadataUtil.parse_obj(document)
    except ValidationError as error:
        return describe(error)
    except Exception:
        # pyiceberg raises what its parsers stumble over, and quotes it.
        return "it is not the metadata of a table"
    return "it is not valid by Iceberg's specification"


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step in _FIELDS else ".…"
