"""Values of the language: how each type is held in Python, read from text and written as text.

boolean bool · int, long int · float, double float · decimal Decimal with the type's scale · string str · uuid UUID ·
binary, fixed bytes · date date · time time · timestamp naive datetime · timestamptz datetime in UTC ·
timestamp_ns, timestamptz_ns int nanoseconds since 1970 · struct dict by field id · list list · map dict.
"""

import datetime as dt
import decimal
import re
import struct
import uuid
from typing import Any, Final

from headgate.model.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    DecimalType,
    FixedType,
    Type,
)

INT_RANGE: Final = (-(2**31), 2**31 - 1)
LONG_RANGE: Final = (-(2**63), 2**63 - 1)
EPOCH: Final = dt.datetime(1970, 1, 1)
EXACT: Final = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_EVEN, traps=[decimal.InvalidOperation])
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME: Final = re.compile(r"(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?", re.ASCII)
_STAMP: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2})?", re.ASCII
)
_INTEGER: Final = re.compile(r"[+-]?\d{1,60}", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?\d{1,60}(\.\d{1,60})?", re.ASCII)
_DOUBLE: Final = re.compile(r"[+-]?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,4})?", re.ASCII)
_HEX: Final = re.compile(r"([0-9a-fA-F]{2})*", re.ASCII)
_DOUBLE_WORDS: Final = {"nan": float("nan"), "infinity": float("inf"), "-infinity": float("-inf")}
_BOOLEAN_WORDS: Final = {"true": True, "false": False}


def from_text(type_: Type, text: str) -> Any:
    """The value of `type_` that `text` writes; ValueError says what is expected."""
    if type_ == STRING:
        return text
    if type_ in (INT, LONG):
        low, high = INT_RANGE if type_ == INT else LONG_RANGE
        if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
            raise ValueError(f"{text!r} is not of type {type_}: whole numbers from {low} to {high}")
        return int(text)
    if type_ == BOOLEAN:
        if text.lower() not in _BOOLEAN_WORDS:
            raise ValueError(f"{text!r} is not true or false")
        return _BOOLEAN_WORDS[text.lower()]
    if type_ in (FLOAT, DOUBLE):
        if text.lower() in _DOUBLE_WORDS:
            return _DOUBLE_WORDS[text.lower()]
        if not _DOUBLE.fullmatch(text):
            raise ValueError(f"{text!r} is not a number, NaN, Infinity or -Infinity")
        return to_float(float(text)) if type_ == FLOAT else float(text)
    if isinstance(type_, DecimalType):
        if not _DECIMAL.fullmatch(text):
            raise ValueError(f"{text!r} is not an exact number such as 12.50")
        return to_decimal(decimal.Decimal(text), type_)
    if type_ == DATE:
        if not _DATE.fullmatch(text):
            raise ValueError(f"{text!r} is not a date such as 2024-12-31")
        return dt.date.fromisoformat(text)
    if type_ == TIME:
        return _time_from_text(text)
    if type_ in (TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS):
        return _timestamp_from_text(type_, text)
    if type_ == UUID:
        try:
            if len(text) == 36:
                return uuid.UUID(text)
        except ValueError:
            pass
        raise ValueError(f"{text!r} is not a UUID such as 123e4567-e89b-12d3-a456-426614174000")
    if type_ == BINARY or isinstance(type_, FixedType):
        if not _HEX.fullmatch(text):
            raise ValueError(f"{text!r} is not hexadecimal")
        data = bytes.fromhex(text)
        if isinstance(type_, FixedType) and len(data) != type_.length:
            raise ValueError(f"{type_} holds exactly {type_.length} bytes, not {len(data)}")
        return data
    raise ValueError(f"a constant of type {type_} cannot be written")


def _time_from_text(text: str) -> dt.time:
    match = _TIME.fullmatch(text)
    if not match or len(match[4] or "") > 6:
        raise ValueError(f"{text!r} is not a time such as 13:59:00 or 13:59:00.123456")
    return dt.time(int(match[1]), int(match[2]), int(match[3]), int((match[4] or "0").ljust(6, "0")))


def _timestamp_from_text(type_: Type, text: str) -> Any:
    zoned, nanos = type_ in (TIMESTAMPTZ, TIMESTAMPTZ_NS), type_ in (TIMESTAMP_NS, TIMESTAMPTZ_NS)
    match = _STAMP.fullmatch(text)
    if not match or len(match[3] or "") > (9 if nanos else 6):
        raise ValueError(f"{text!r} is not a timestamp such as 2024-12-31 13:59:00")
    if zoned != bool(match[4]):
        need = "needs an offset such as +00:00" if zoned else "takes no offset; write TIMESTAMPTZ '…' for one"
        raise ValueError(f"{type_} {need}")
    moment = dt.datetime.fromisoformat(f"{match[1]}T{match[2] or '00:00:00'}")
    if zoned and match[4] != "Z":
        sign = -1 if match[4][0] == "-" else 1
        hours, minutes = int(match[4][1:3]), int(match[4][4:6])
        if hours > 18 or minutes > 59:
            raise ValueError(f"{text!r}: offsets reach from -18:00 to +18:00")
        try:
            moment -= sign * dt.timedelta(hours=hours, minutes=minutes)
        except OverflowError as e:
            raise ValueError(f"{text!r} lies outside the years 0001 to 9999 in UTC") from e
    fraction = (match[3] or "").ljust(9, "0")
    if nanos:
        return micros(moment) * 1000 + int(fraction)
    moment = moment.replace(microsecond=int(fraction[:6]))
    return moment.replace(tzinfo=dt.UTC) if zoned else moment


def to_float(value: float) -> float:
    """The nearest 32-bit float, as a Python float."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def to_decimal(value: decimal.Decimal | int, type_: DecimalType) -> decimal.Decimal:
    """`value` with the scale of `type_`; ValueError if digits would be lost."""
    exact = decimal.Decimal(value)
    out = exact.quantize(decimal.Decimal(1).scaleb(-type_.scale), context=EXACT)
    if out != exact or len(out.as_tuple().digits) > type_.precision:
        raise ValueError(f"{value} does not fit {type_}")
    return out.copy_abs() if out.is_zero() else out


def micros(moment: dt.datetime) -> int:
    """Microseconds since 1970 in UTC."""
    delta = moment.replace(tzinfo=None) - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def to_text(type_: Type, value: Any) -> str:
    """The one way a non-NULL value is written; `from_text` reads it back."""
    if type_ == BOOLEAN:
        return "true" if value else "false"
    if type_ in (FLOAT, DOUBLE):
        if value != value:
            return "NaN"
        return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(value) or repr(float(value))
    if isinstance(type_, DecimalType):
        return format(value, "f")
    if type_ == DATE:
        return str(value.isoformat())
    if type_ == TIME:
        return str(value.isoformat(timespec="microseconds"))
    if type_ in (TIMESTAMP, TIMESTAMPTZ):
        text = str(value.replace(tzinfo=None).isoformat(" ", "microseconds"))
        return text + ("+00:00" if type_ == TIMESTAMPTZ else "")
    if type_ in (TIMESTAMP_NS, TIMESTAMPTZ_NS):
        seconds, nanos = divmod(value, 1_000_000_000)
        text = (EPOCH + dt.timedelta(seconds=seconds)).isoformat(" ") + f".{nanos:09d}"
        return text + ("+00:00" if type_ == TIMESTAMPTZ_NS else "")
    if type_ == BINARY or isinstance(type_, FixedType):
        return bytes(value).hex()
    return str(value)
