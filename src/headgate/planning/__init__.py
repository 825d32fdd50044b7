"""Scan planning: manifests in, a columnar index between, the files of a scan out.

A manifest never changes, so it is decoded once into columns (`ManifestIndex`), kept in memory and on disk, and
pruned there with whole-column comparisons. `plan` turns table metadata, a client's request and a `Veil` (what the
caller's lens hides, masks and filters) into a `Plan`, whose JSON is what the Iceberg REST protocol sends. The room
reads storage through the FileIO it is given; it knows no principals, no HTTP and no database.
"""

from headgate.planning.choosing import Chooser, restricted_chooser
from headgate.planning.errors import (
    CorruptManifestError,
    ForeignFileError,
    InvalidFilterError,
    InvalidPlanTaskError,
    InvalidRequestError,
    InvalidTableMetadataError,
    MissingManifestError,
    PlanningError,
    StalePlanTaskError,
    UnknownColumnError,
    UnknownSnapshotError,
    UnreadableManifestError,
)
from headgate.planning.indexing.index import ManifestIndex
from headgate.planning.manifests.manifest import warm_up
from headgate.planning.plan import Plan, candidates, check, plan, plan_from_token, read_token
from headgate.planning.request import PlanRequest, TaskRequest, Veil
from headgate.planning.tokens import PlanTask
from headgate.planning.within import Within

__all__ = [
    "Chooser",
    "CorruptManifestError",
    "ForeignFileError",
    "InvalidFilterError",
    "InvalidPlanTaskError",
    "InvalidRequestError",
    "InvalidTableMetadataError",
    "ManifestIndex",
    "MissingManifestError",
    "Plan",
    "PlanRequest",
    "PlanTask",
    "PlanningError",
    "StalePlanTaskError",
    "TaskRequest",
    "UnknownColumnError",
    "UnknownSnapshotError",
    "UnreadableManifestError",
    "Veil",
    "Within",
    "candidates",
    "check",
    "plan",
    "plan_from_token",
    "read_token",
    "restricted_chooser",
    "warm_up",
]
