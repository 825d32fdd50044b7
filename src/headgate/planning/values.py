"""Single values between their forms: Avro's and Iceberg's bytes, a number or bytes to compare, JSON to send."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

Comparable = int | float | bytes

BYTES_TYPES = (StringType, BinaryType, FixedType, UUIDType)
FLOAT_TYPES = (FloatType, DoubleType)
INT_TYPES = (
    BooleanType,
    IntegerType,
    LongType,
    DateType,
    TimeType,
    TimestampType,
    TimestamptzType,
    TimestampNanoType,
    TimestamptzNanoType,
    DecimalType,
)


def comparable_from_avro(kind: IcebergType, raw: int | bytes | None) -> Comparable | None:
    """A partition value as Avro stores it, in the form in which values of its type compare."""
    if raw is None or isinstance(raw, int):
        return raw
    if isinstance(kind, FLOAT_TYPES):
        value: float = struct.unpack("<f" if len(raw) == 4 else "<d", raw)[0]
        return value
    if isinstance(kind, DecimalType):
        return int.from_bytes(raw, "big", signed=True)
    if isinstance(kind, BooleanType):
        return raw[0]
    return raw


def comparable_from_bound(kind: IcebergType, raw: bytes | None) -> Comparable | None:
    """A bound in Iceberg's binary form, in the form in which values compare; None where its width does not fit."""
    if raw is None:
        return None
    if isinstance(kind, FLOAT_TYPES):
        if len(raw) not in (4, 8):
            return None
        value: float = struct.unpack("<f" if len(raw) == 4 else "<d", raw)[0]
        return value
    if isinstance(kind, DecimalType):
        return int.from_bytes(raw, "big", signed=True)
    if isinstance(kind, BYTES_TYPES):
        return raw
    widths = (
        (1,)
        if isinstance(kind, BooleanType)
        else (4,)
        if isinstance(kind, IntegerType | DateType)
        else (4, 8)
    )
    if not isinstance(kind, INT_TYPES) or len(raw) not in widths:
        return None
    # A date that became a timestamp counts days, not microseconds.
    if len(raw) == 4 and not isinstance(kind, IntegerType | DateType | LongType):
        return None
    return int.from_bytes(raw, "little", signed=len(raw) > 1)


def comparable_literal(kind: IcebergType, value: Any) -> Comparable:
    """A literal's value as pyiceberg holds it, in the form in which values of its type compare."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, Decimal):
        scale = kind.scale if isinstance(kind, DecimalType) else 0
        return int(value.scaleb(scale))
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, int | float):
        return value
    raise TypeError(f"a literal of type {type(value).__name__} has no order")


def json_from_avro(kind: IcebergType, raw: int | bytes | None) -> Any:
    """A partition value in Iceberg's JSON form for single values."""
    if raw is None:
        return None
    value = comparable_from_avro(kind, raw)
    if isinstance(value, int):
        return _json_int(kind, value)
    if isinstance(value, float):
        return (
            value if np.isfinite(value) else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
        )
    assert isinstance(value, bytes)
    if isinstance(kind, StringType):
        return value.decode("utf-8")
    if isinstance(kind, UUIDType):
        return str(UUID(bytes=value))
    return value.hex().upper()


def _json_int(kind: IcebergType, value: int) -> Any:
    if isinstance(kind, BooleanType):
        return bool(value)
    if isinstance(kind, DecimalType):
        return str(Decimal(value).scaleb(-kind.scale))
    if isinstance(kind, DateType):
        return str(np.datetime64(value, "D"))
    if isinstance(kind, TimeType):
        seconds, micros = divmod(value, 1_000_000)
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros:06}"
    if isinstance(kind, TimestampType):
        return str(np.datetime64(value, "us"))
    if isinstance(kind, TimestamptzType):
        return str(np.datetime64(value, "us")) + "+00:00"
    if isinstance(kind, TimestampNanoType):
        return str(np.datetime64(value, "ns"))
    if isinstance(kind, TimestamptzNanoType):
        return str(np.datetime64(value, "ns")) + "+00:00"
    return value
