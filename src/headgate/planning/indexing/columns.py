"""Small columns: the narrowest integers that hold the values, one value where all are equal, bytes behind one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
Mask = npt.NDArray[np.bool_]

FIXED_WIDTHS = (1, 4, 8)
NARROW = (np.int8, np.int16, np.int32)


def narrow(values: Array) -> Array:
    """The same integers in the smallest type, or a single one if all are equal."""
    if len(values) == 0:
        return values
    low, high = int(values.min()), int(values.max())
    if low == high:
        values = values[:1]
    for kind in NARROW:
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return np.ascontiguousarray(values, dtype=kind)
    return np.ascontiguousarray(values)


def wide(values: Array, count: int) -> Array:
    """A column of `count` values, whether or not it was collapsed to one."""
    return np.broadcast_to(values, (count,)) if len(values) == 1 and count != 1 else values


def gather(data: npt.NDArray[np.uint8], starts: Array, lengths: Array) -> tuple[Array, Array]:
    """Copy spans behind one another; answers offsets and bytes. Null spans (length -1) become empty ones."""
    sizes = np.maximum(lengths, 0).astype(np.int64)
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    index = np.repeat(starts.astype(np.int64) - offsets[:-1], sizes)
    index += np.arange(int(offsets[-1]))
    return small_offsets(offsets), data[index]


def small_offsets(offsets: Array) -> Array:
    """Offsets in 32 bits where they fit."""
    return offsets.astype(np.int32) if int(offsets[-1]) < 2**31 else offsets


def put_bound(arrays: Arrays, name: str, data: npt.NDArray[np.uint8], starts: Array, lengths: Array) -> None:
    """Store one column of bounds under `name`: as numbers if all have one machine width, else as bytes."""
    valid = lengths >= 0
    if not valid.any():
        return
    if not valid.all():
        arrays[f"{name}.valid"] = valid
    widths = lengths[valid]
    width = int(widths[0])
    if width in FIXED_WIDTHS and (widths == width).all():
        # Every position of the data seen as the beginning of a number: one gather instead of one per byte.
        windows = np.ndarray((len(data) - width + 1,), f"<u{width}", data, 0, (1,))
        numbers = windows[np.where(valid, starts, 0)]
        if not valid.all():
            numbers = np.where(valid, numbers, 0).astype(numbers.dtype)
        same = len(numbers) > 0 and (numbers == numbers[0]).all()
        arrays[f"{name}.fixed"] = np.ascontiguousarray(numbers[:1] if same else numbers)
    else:
        arrays[f"{name}.at"], arrays[f"{name}.data"] = gather(data, starts, lengths)


def put_binary(arrays: Arrays, name: str, data: npt.NDArray[np.uint8], starts: Array, lengths: Array) -> None:
    """Store a column of bytes under `name`."""
    arrays[f"{name}.at"], arrays[f"{name}.data"] = gather(data, starts, lengths)


def binary(offsets: Array, data: Array, valid: Mask | None = None) -> Any:
    """View offsets and bytes as an Arrow binary array, without copying them."""
    kind = pa.binary() if offsets.dtype == np.int32 else pa.large_binary()
    validity = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    array = pa.Array.from_buffers(
        kind, len(offsets) - 1, [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    return array if kind == pa.large_binary() else array.cast(pa.large_binary())


def binary_parts(array: Any) -> tuple[Array, Array]:
    """Offsets and bytes of an Arrow large binary array that starts at its buffers' beginning."""
    assert array.offset == 0, "a slice of an array shares the buffers of the whole"
    offsets = np.frombuffer(array.buffers()[1], np.int64, len(array) + 1)
    content = array.buffers()[2]
    data = (
        np.frombuffer(content, np.uint8, int(offsets[-1])) if content is not None else np.zeros(0, np.uint8)
    )
    return offsets, data


def first_bytes(array: Any, length: int) -> Any:
    """Each value cut off after `length` bytes."""
    offsets, data = binary_parts(array)
    return binary(*gather(data, offsets[:-1], np.minimum(np.diff(offsets), length)))


def without_first_byte(array: Any) -> Any:
    """Each value without its first byte; empty ones stay empty."""
    offsets, data = binary_parts(array)
    filled = offsets[1:] > offsets[:-1]
    kept = np.ones(len(data), bool)
    kept[offsets[:-1][filled]] = False
    shrunk = offsets.copy()
    shrunk[1:] -= np.cumsum(filled)
    return binary(shrunk, data[kept])
