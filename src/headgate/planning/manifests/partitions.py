"""The partitions that hold data, as the manifests of the current snapshot tell them."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DecimalType, IcebergType, UUIDType

from headgate.catalogs.iceberg.describing.descriptions import parsed
from headgate.catalogs.iceberg.describing.types import from_iceberg
from headgate.catalogs.iceberg.paths import path_of
from headgate.model import tables as t
from headgate.model.errors import Damaged, Unsupported
from headgate.planning.manifests import layout as ids
from headgate.planning.manifests.reader import DATA, ManifestReader

Json = dict[str, Any]


def listed(document: Json, reader: ManifestReader) -> list[t.Partition]:
    """Every partition with live data files, by name. Older layouts of the table are shown as they were."""
    metadata = parsed(document)
    if not metadata.spec().fields:
        raise Unsupported("the table is not partitioned", hint="there are no partitions to list")
    snapshot = metadata.current_snapshot()
    if snapshot is None:
        return []
    found: dict[str, t.Partition] = {}
    specs = metadata.specs()
    for manifest in reader.manifests(snapshot.manifest_list):
        if manifest.content != DATA:
            continue
        spec = specs.get(manifest.spec_id)
        if spec is None:
            raise Damaged("a manifest is of a partition spec that the table does not have")
        for entry in reader.live(reader.fetch(manifest.path)):
            record = _record(spec, entry[ids.PARTITION], metadata)
            name = spec.partition_to_path(record, metadata.schema())
            if name and name not in found:
                found[name] = _partition(name, spec, record, metadata)
    return [found[name] for name in sorted(found)]


def _record(spec: PartitionSpec, values: dict[int, Any], metadata: TableMetadata) -> Record:
    """A partition tuple as pyiceberg writes it out."""
    fields = spec.partition_type(metadata.schema()).fields
    return Record(*(_value(field.field_type, values.get(field.field_id)) for field in fields))


def _value(type: IcebergType, raw: Any) -> Any:
    if isinstance(raw, bytes):
        if isinstance(type, DecimalType):
            return Decimal(int.from_bytes(raw, "big", signed=True)).scaleb(-type.scale)
        if isinstance(type, UUIDType):
            return UUID(bytes=raw)
    return raw


def _partition(name: str, spec: PartitionSpec, record: Record, metadata: TableMetadata) -> t.Partition:
    schema = metadata.schema()
    types = spec.partition_type(schema).fields
    names: list[tuple[str, ...]] = []
    values: list[t.Expression] = []
    for position, field in enumerate(spec.fields):
        identity = isinstance(field.transform, IdentityTransform)
        names.append(path_of(schema, field.source_id) if identity else (field.name,))
        value = record[position]
        if value is None:
            values.append(t.Expression("literal", data_type="null", value="NULL"))
            continue
        type = types[position].field_type
        data_type = from_iceberg(type) if identity else "string"
        values.append(
            t.Expression("literal", data_type=data_type, value=field.transform.to_human_string(type, value))
        )
    return t.Partition("identity", name, tuple(names), tuple(values))
