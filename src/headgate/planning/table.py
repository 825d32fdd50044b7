"""Table metadata as the planner needs it: schemas, partition specs with typed fields, snapshots and references."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import orjson
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform
from pyiceberg.types import DateType, IcebergType, NestedField, PrimitiveType, UnknownType

from headgate.planning.errors import InvalidRequestError, InvalidTableMetadataError, UnknownSnapshotError
from headgate.planning.request import PlanRequest


@dataclass(frozen=True)
class PartitionColumn:
    """One field of a partition spec: where it comes from and the type of its values."""

    field_id: int
    name: str
    source_id: int
    type: PrimitiveType


@dataclass(frozen=True)
class Spec:
    """A partition spec whose fields know their types even where the source column is gone from the schema."""

    spec_id: int
    spec: PartitionSpec
    columns: tuple[PartitionColumn, ...]

    @cached_property
    def fingerprint(self) -> str:
        """The spec's fields and their types: what the reading of a manifest depends on."""
        return f"{self.spec_id}:" + ",".join(f"{column.field_id}:{column.type}" for column in self.columns)

    @property
    def is_unpartitioned(self) -> bool:
        """Whether files of this spec belong to no partition (dropped fields count for nothing)."""
        return all(str(field.transform) == "void" for field in self.spec.fields)

    def schema(self) -> Schema:
        """The partition tuple as a schema, for binding projected predicates."""
        return Schema(*(NestedField(c.field_id, c.name, c.type, required=False) for c in self.columns))


@dataclass(frozen=True)
class Table:
    """Parsed table metadata."""

    uuid: str
    schemas: dict[int, Schema]
    current_schema_id: int
    specs: dict[int, Spec]
    snapshots: dict[int, dict[str, Any]]
    current_snapshot_id: int | None
    refs: dict[str, int]

    @property
    def schema(self) -> Schema:
        """The current schema."""
        return self.schemas[self.current_schema_id]


@dataclass(frozen=True)
class ScanScope:
    """What a request scans: a snapshot's files, or only those that `added_by` snapshots added."""

    snapshot: dict[str, Any] | None
    schema: Schema
    added_by: tuple[dict[str, Any], ...] | None = None

    @property
    def snapshot_id(self) -> int | None:
        """The snapshot scanned (the later one of two)."""
        return None if self.snapshot is None else int(self.snapshot["snapshot-id"])


def read_table(metadata: dict[str, Any]) -> Table:
    """Parse table metadata of format version 1, 2 or 3."""
    try:
        version = metadata["format-version"]
        if version not in (1, 2, 3):
            raise InvalidTableMetadataError("its format version is unknown")
        schemas = {s.schema_id: s for s in map(_schema_of, metadata.get("schemas") or [metadata["schema"]])}
        current = metadata.get("current-schema-id", next(iter(schemas)))
        if current not in schemas:
            raise InvalidTableMetadataError("its current schema is not among its schemas")
        raw_specs = metadata.get("partition-specs")
        if not raw_specs:
            raw_specs = [{"spec-id": 0, "fields": metadata.get("partition-spec", [])}]
        newest_first = (schemas[current], *(schemas[key] for key in sorted(schemas, reverse=True)))
        specs = {spec.spec_id: spec for spec in (_spec_of(raw, newest_first) for raw in raw_specs)}
        snapshots = {int(s["snapshot-id"]): s for s in metadata.get("snapshots") or []}
        current_snapshot = metadata.get("current-snapshot-id")
        refs = {name: int(ref["snapshot-id"]) for name, ref in (metadata.get("refs") or {}).items()}
        uuid = str(metadata.get("table-uuid") or metadata["location"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidTableMetadataError(f"a part is missing or malformed ({type(error).__name__})") from error
    return Table(
        uuid=uuid,
        schemas=schemas,
        current_schema_id=current,
        specs=specs,
        snapshots=snapshots,
        current_snapshot_id=None if current_snapshot in (None, -1) else int(current_snapshot),
        refs=refs,
    )


def _schema_of(raw: dict[str, Any]) -> Schema:
    if not isinstance(raw.get("fields"), list):
        raise InvalidTableMetadataError("a schema has no fields")
    return _parse_schema(orjson.dumps(raw))


@lru_cache(maxsize=1024)
def _parse_schema(raw: bytes) -> Schema:
    return Schema.model_validate_json(raw)


@lru_cache(maxsize=1024)
def _parse_spec(raw: bytes) -> PartitionSpec:
    return PartitionSpec.model_validate_json(raw)


def _spec_of(raw: dict[str, Any], schemas: tuple[Schema, ...]) -> Spec:
    spec = _parse_spec(orjson.dumps(raw))
    columns = []
    for field in spec.fields:
        source = _source_type(field.source_id, schemas)
        if source is None:
            result: IcebergType = UnknownType()
        elif isinstance(field.transform, DayTransform):
            result = DateType()
        else:
            result = field.transform.result_type(source)
        if not isinstance(result, PrimitiveType):
            raise InvalidTableMetadataError("a partition field is not of a primitive type")
        columns.append(PartitionColumn(field.field_id, field.name, field.source_id, result))
    return Spec(spec.spec_id, spec, tuple(columns))


def _source_type(field_id: int, schemas: tuple[Schema, ...]) -> IcebergType | None:
    for schema in schemas:
        field = schema._lazy_id_to_field.get(field_id)
        if field is not None:
            return field.field_type
    return None


def with_descendants(field_ids: frozenset[int], table: Table) -> frozenset[int]:
    """Columns with everything inside them: what veils a struct, list or map veils its parts."""
    if not field_ids:
        return field_ids
    found = set(field_ids)
    for schema in table.schemas.values():
        for field_id, parent_id in sorted(schema._lazy_id_to_parent.items()):
            ancestor: int | None = parent_id
            while ancestor is not None and field_id not in found:
                if ancestor in field_ids:
                    found.add(field_id)
                ancestor = schema._lazy_id_to_parent.get(ancestor)
    return frozenset(found)


def resolve_scope(table: Table, request: PlanRequest) -> ScanScope:
    """Find what a request scans."""
    request.check()
    if request.start_snapshot_id is not None and request.end_snapshot_id is not None:
        end = _snapshot(table, request.end_snapshot_id)
        added_by = _appends_between(table, request.start_snapshot_id, request.end_snapshot_id)
        return ScanScope(end, _schema_for(table, end, request.use_snapshot_schema), added_by)
    snapshot_id = table.current_snapshot_id
    if request.ref is not None:
        if request.ref not in table.refs and not (request.ref == "main" and snapshot_id is not None):
            raise UnknownSnapshotError(request.ref, "the table has no such branch or tag")
        snapshot_id = table.refs.get(request.ref, snapshot_id)
    elif request.snapshot_id is not None:
        snapshot_id = request.snapshot_id
    if snapshot_id is None:
        return ScanScope(None, table.schema)
    snapshot = _snapshot(table, snapshot_id)
    return ScanScope(snapshot, _schema_for(table, snapshot, request.use_snapshot_schema))


def _snapshot(table: Table, snapshot_id: int) -> dict[str, Any]:
    snapshot = table.snapshots.get(snapshot_id)
    if snapshot is None:
        raise UnknownSnapshotError(snapshot_id)
    return snapshot


def _schema_for(table: Table, snapshot: dict[str, Any], of_snapshot: bool) -> Schema:
    if not of_snapshot:
        return table.schema
    schema_id = snapshot.get("schema-id", table.current_schema_id)
    if schema_id not in table.schemas:
        raise InvalidTableMetadataError(
            f"schema {schema_id} of snapshot {snapshot['snapshot-id']} is unknown"
        )
    return table.schemas[schema_id]


def _appends_between(table: Table, start: int, end: int) -> tuple[dict[str, Any], ...]:
    """The append snapshots after `start`, up to and with `end`; other operations add no rows in the sense of a scan."""
    if start == end:
        raise InvalidRequestError("start-snapshot-id and end-snapshot-id are the same")
    _snapshot(table, start)
    appends: list[dict[str, Any]] = []
    current: int | None = end
    while current is not None and current != start:
        snapshot = _snapshot(table, current)
        if (snapshot.get("summary") or {}).get("operation") == "append":
            appends.append(snapshot)
        parent = snapshot.get("parent-snapshot-id")
        current = None if parent is None else int(parent)
    if current != start:
        raise UnknownSnapshotError(start, f"it is no ancestor of snapshot {end}")
    return tuple(appends)
