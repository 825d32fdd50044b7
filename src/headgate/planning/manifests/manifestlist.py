"""Manifest lists: which manifests make up a snapshot."""

from __future__ import annotations

import hashlib
import io as streams
from typing import Any

import fastavro
from pyiceberg.io import FileIO

from headgate.planning.errors import CorruptManifestError
from headgate.planning.indexing.segment import ManifestFile, PartitionSummary
from headgate.planning.manifests.avrofile import AvroFile

PATH, LENGTH, SPEC_ID, ADDED_SNAPSHOT_ID, PARTITIONS = 500, 501, 502, 503, 507
ADDED_FILES, EXISTING_FILES, SEQUENCE_NUMBER, CONTENT, FIRST_ROW_ID = 504, 505, 515, 517, 520


def storage_of(io: FileIO) -> str:
    """Tells storages apart: the same path means another file at another endpoint, and none to other credentials."""
    settings = repr(sorted(io.properties.items()))
    return hashlib.blake2b(settings.encode(), digest_size=16).hexdigest()


def parse_manifest_list(storage: str, avro: AvroFile) -> tuple[ManifestFile, ...]:
    """The manifests of a manifest list of any format version."""
    stream = streams.BytesIO(avro.data.tobytes())
    manifests: list[ManifestFile] = []
    try:
        ids = {field["name"]: field.get("field-id") for field in avro.schema["fields"]}
        schema = fastavro.parse_schema(avro.schema)
        for _ in range(avro.count):
            record: Any = fastavro.schemaless_reader(stream, schema, None)
            manifests.append(_manifest_of(storage, {ids[name]: value for name, value in record.items()}))
    except Exception as error:  # fastavro raises whatever its decoder stumbles over
        raise CorruptManifestError(avro.path, f"record {len(manifests)} cannot be decoded") from error
    if stream.tell() != len(avro.data):
        raise CorruptManifestError(avro.path, "bytes are left over behind the last record")
    return tuple(manifests)


def _manifest_of(storage: str, record: dict[int, Any]) -> ManifestFile:
    added, existing = record.get(ADDED_FILES), record.get(EXISTING_FILES)
    summaries = record.get(PARTITIONS)
    return ManifestFile(
        storage=storage,
        path=str(record[PATH]),
        length=int(record[LENGTH]),
        spec_id=int(record[SPEC_ID]),
        content=int(record.get(CONTENT) or 0),
        sequence_number=int(record.get(SEQUENCE_NUMBER) or 0),
        added_snapshot_id=record.get(ADDED_SNAPSHOT_ID),
        first_row_id=record.get(FIRST_ROW_ID),
        file_count=None if added is None or existing is None else int(added) + int(existing),
        partitions=None
        if summaries is None
        else tuple(
            PartitionSummary(
                s["contains_null"], s.get("contains_nan"), s.get("lower_bound"), s.get("upper_bound")
            )
            for s in summaries
        ),
    )
