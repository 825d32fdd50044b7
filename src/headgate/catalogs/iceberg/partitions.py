"""The partitions that hold data, as the manifests of the current snapshot tell them."""

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestContent
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record

from headgate.catalogs.iceberg.paths import path_of
from headgate.catalogs.iceberg.types import from_iceberg
from headgate.model import tables as t
from headgate.model.errors import Unsupported


def listed(metadata: TableMetadata, io: FileIO) -> list[t.Partition]:
    """Every partition with live data files, by name. Older layouts of the table are told as they were."""
    if not metadata.spec().fields:
        raise Unsupported("the table is not partitioned", hint="there are no partitions to list")
    snapshot = metadata.current_snapshot()
    if snapshot is None:
        return []
    found: dict[str, t.Partition] = {}
    specs = metadata.specs()
    for manifest in snapshot.manifests(io):
        if manifest.content is not ManifestContent.DATA:
            continue
        spec = specs[manifest.partition_spec_id]
        for entry in manifest.fetch_manifest_entry(io, discard_deleted=True):
            record = entry.data_file.partition
            name = spec.partition_to_path(record, metadata.schema())
            if name and name not in found:
                found[name] = _partition(name, spec, record, metadata)
    return [found[name] for name in sorted(found)]


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
        told = from_iceberg(type) if identity else "string"
        values.append(
            t.Expression("literal", data_type=told, value=field.transform.to_human_string(type, value))
        )
    return t.Partition("identity", name, tuple(names), tuple(values))
