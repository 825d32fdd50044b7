"""The compiled and the plain manifest reader give the same segment, and broken manifests a clear error from both."""

from __future__ import annotations

import bz2
import importlib.util
import lzma
import sys
import tempfile
import zlib
from pathlib import Path

import cramjam
import fastavro
import numba.core.caching
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, StringType

from headgate.planning import CorruptManifestError, ManifestIndex, PlanRequest
from headgate.planning.indexing.segment import ManifestFile, Segment, build_segment
from headgate.planning.manifests import walker
from headgate.planning.manifests.avrofile import AvroFile, parse_avro_file
from headgate.planning.manifests.layout import UnfitError, compile_layout
from headgate.planning.manifests.manifest import decode_compiled, decode_manifest, decode_plain, warm_up
from tests.planning.forge import Forge, ForgedFile, ForgedManifest, ForgedSnapshot, plan, simple_schema
from tests.planning.strategies import SMALL, RandomTable, tables

SCHEMA = simple_schema(("id", LongType()), ("name", StringType()))


def same(left: Segment, right: Segment) -> None:
    assert left.arrays.keys() == right.arrays.keys()
    for name, array in left.arrays.items():
        assert array.dtype == right.arrays[name].dtype, name
        np.testing.assert_array_equal(array, right.arrays[name], err_msg=name)
    for name in ("path", "spec_id", "count", "partition_ids", "partitions", "formats", "field_ids"):
        assert getattr(left, name) == getattr(right, name)


def one_manifest(folder: Path, codec: str = "deflate", files: int = 3, schema: Schema = SCHEMA) -> Path:
    rows = tuple({1: n, 2: f"name-{n}"} for n in range(5))
    entries = tuple(
        ForgedFile(f"s3://lake/t/{n}.parquet", rows, split_offsets=tuple(range(n))) for n in range(files)
    )
    Forge(folder, [schema]).table(ForgedSnapshot((ForgedManifest(entries, codec=codec),)))
    return folder / "manifest-0.avro"


def read(path: Path) -> AvroFile:
    return parse_avro_file(str(path), path.read_bytes())


@SMALL
@given(tables())
def test_both_readers_give_the_same_segment(table: RandomTable) -> None:
    with tempfile.TemporaryDirectory() as folder:
        forge = Forge(Path(folder), table.schemas, table.specs, table.version)
        forge.table(table.snapshot)
        for path in sorted(Path(folder).glob("manifest-*.avro")):
            avro = read(path)
            manifest = ManifestFile(str(path), 1, 0, sequence_number=3, added_snapshot_id=9, first_row_id=50)
            compiled = decode_compiled(avro, compile_layout(avro.schema))
            same(build_segment(compiled, manifest), build_segment(decode_plain(avro), manifest))


def with_crc(packed: bytes, plain: bytes) -> bytes:
    return packed + zlib.crc32(plain).to_bytes(4, "big")


COMPRESS = {
    "null": lambda plain: plain,
    "deflate": lambda plain: zlib.compress(plain)[2:-4],
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": lambda plain: bytes(cramjam.zstd.compress(plain)),
    "snappy": lambda plain: with_crc(bytes(cramjam.snappy.compress_raw(plain)), plain),
}


def long(value: int) -> bytes:
    rest, encoded = value << 1, bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*encoded, rest])


def recoded(path: Path, codec: str) -> AvroFile:
    """The same records in a container with another codec."""
    avro = read(path)
    pairs = {**avro.metadata, "avro.codec": codec.encode()}
    header = b"".join(long(len(k)) + k.encode() + long(len(v)) + v for k, v in pairs.items())
    block = COMPRESS[codec](avro.data.tobytes())
    sync = bytes(16)
    content = (
        b"Obj\x01"
        + long(len(pairs))
        + header
        + b"\x00"
        + sync
        + long(avro.count)
        + long(len(block))
        + block
        + sync
    )
    return parse_avro_file(str(path), content)


@pytest.mark.parametrize("codec", sorted(COMPRESS))
def test_every_codec_is_read(tmp_path: Path, codec: str) -> None:
    path = one_manifest(tmp_path)
    manifest = ManifestFile(str(path), 1, 0)
    expected = build_segment(decode_plain(read(path)), manifest)
    same(build_segment(decode_manifest(recoded(path, codec)), manifest), expected)


def test_an_unknown_codec_is_refused(tmp_path: Path) -> None:
    content = one_manifest(tmp_path).read_bytes().replace(b"deflate", b"defrost")
    with pytest.raises(CorruptManifestError, match="codec is unknown"):
        parse_avro_file("m.avro", content)


def test_a_shape_that_the_compiled_reader_does_not_know_is_read_by_the_plain_one(tmp_path: Path) -> None:
    path = one_manifest(tmp_path)
    with path.open("rb") as stream:
        reader = fastavro.reader(stream)
        schema, records = reader.writer_schema, list(reader)
    assert isinstance(schema, dict)
    schema["fields"].append({"name": "extra", "type": {"type": "map", "values": "string"}, "field-id": 9999})
    odd = tmp_path / "odd.avro"
    with odd.open("wb") as stream:
        fastavro.writer(stream, schema, [{**record, "extra": {"a": "b"}} for record in records])
    with pytest.raises(UnfitError):
        compile_layout(read(odd).schema)
    manifest = ManifestFile(str(path), 1, 0)
    expected = build_segment(decode_plain(read(path)), manifest)
    found = build_segment(decode_manifest(read(odd)), manifest)
    np.testing.assert_array_equal(found.arrays["path.data"], expected.arrays["path.data"])
    assert found.field_ids == expected.field_ids == (1, 2)


@settings(SMALL, max_examples=100)
@given(st.data())
def test_damage_is_an_error_or_harmless_but_never_a_crash(data: st.DataObject) -> None:
    """Records are damaged behind the codec, where no checksum helps; both readers must stay within bounds."""
    with tempfile.TemporaryDirectory() as folder:
        avro = read(one_manifest(Path(folder), files=2))
        content = bytearray(avro.data.tobytes())
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        cut = data.draw(st.integers(0, len(content)))
        damaged = AvroFile(
            avro.path, avro.metadata, avro.schema, avro.count, np.frombuffer(bytes(content[:cut]), np.uint8)
        )
        results = []
        for decode in (decode_plain, lambda it: decode_compiled(it, compile_layout(it.schema))):
            try:
                results.append(build_segment(decode(damaged), ManifestFile(avro.path, 1, 0)))
            except CorruptManifestError:
                continue
        if len(results) == 2:
            np.testing.assert_array_equal(results[0].arrays["records"], results[1].arrays["records"])


@settings(SMALL, max_examples=40)
@given(st.data())
def test_a_damaged_file_is_known_to_the_server_and_named_to_nobody(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        forge = Forge(Path(folder), [SCHEMA])
        files = tuple(ForgedFile(f"s3://lake/{n}.parquet", ({1: n, 2: "x"},)) for n in range(3))
        metadata = forge.table(ForgedSnapshot((ForgedManifest(files),)))
        target = Path(folder) / data.draw(st.sampled_from(["manifest-0.avro", "list-1.avro"]))
        content = target.read_bytes()
        target.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
        with pytest.raises(CorruptManifestError) as damaged:
            plan(metadata, PlanRequest(), io=forge.io, index=ManifestIndex())
        assert damaged.value.path.endswith(target.name)
        assert target.name not in str(damaged.value)


def test_large_manifests_take_the_compiled_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    avro = read(one_manifest(tmp_path, files=3))
    monkeypatch.setattr("headgate.planning.manifests.manifest.SMALL_MANIFEST", 2)
    monkeypatch.setattr("headgate.planning.manifests.manifest.decode_plain", None)
    assert decode_manifest(avro).count == 3


def test_without_the_compiled_reader_a_plan_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an installation without the extra: neither numba nor what was compiled with it is there."""
    avro = read(one_manifest(tmp_path, files=50))
    monkeypatch.setattr("headgate.planning.manifests.manifest.SMALL_MANIFEST", 1)
    manifest = ManifestFile(avro.path, 1, 0, sequence_number=3, added_snapshot_id=9, first_row_id=50)
    with_it = build_segment(decode_manifest(avro), manifest)
    assert "headgate.planning.manifests.walker" in sys.modules
    monkeypatch.delitem(sys.modules, "headgate.planning.manifests.walker")
    monkeypatch.setitem(sys.modules, "numba", None)
    warm_up()
    same(with_it, build_segment(decode_manifest(avro), manifest))
    assert "headgate.planning.manifests.walker" not in sys.modules


def test_the_compiled_reader_needs_no_folder_to_keep_itself_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a service without a home, installed where it may not write."""
    monkeypatch.setattr(numba.core.caching.CompileResultCacheImpl, "_locator_classes", [])
    spec = importlib.util.spec_from_file_location("walker_anew", str(walker.__file__))
    assert spec is not None
    assert spec.loader is not None
    anew = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(anew)
    assert anew._long(np.frombuffer(b"\x04", np.uint8), 0, 1) == (2, 1)
