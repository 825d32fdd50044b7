"""The Python reference of every mask; the Spark SQL must give the same bytes."""

import datetime as dt
import decimal
import hashlib
import hmac
import math
import struct
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from headgate.language import values
from headgate.language.evaluate import evaluate, truncate
from headgate.language.masks.mask import Mask
from headgate.model.schema import (
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
    ListType,
    MapType,
    StructType,
    Type,
)

MIN_SALT: Final = 16
KEPT: Final = frozenset("(),.-@")
EMPTY_POINT: Final = struct.pack("<BIdd", 1, 1, float("nan"), float("nan"))
SecretUse = Literal["salt", "noise", "order", "names"]


@dataclass(frozen=True)
class Secrets:
    """What keyed and salted masks need; never shown.

    INVARIANT: every use has a secret of its own, so nothing that one of them shows helps against another.
    """

    keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The keys of `token`, by name."""
    salt: bytes = field(default=b"", repr=False)
    """Of `sha256_query_local`: one per read or lens."""
    noise: bytes = field(default=b"", repr=False)
    """Of `noisy`: one per table, whatever the lens, so that many lenses draw no more noise than one."""
    order: bytes = field(default=b"", repr=False)
    """Orders the rows of copies: one per table."""
    names: bytes = field(default=b"", repr=False)
    """Names views, so that a name cannot be guessed from what a policy may say: one per table."""

    def key(self, name: str) -> bytes:
        """The key of that name; KeyError, without the names of the others, if there is none."""
        found = self.keys.get(name)
        if not found or len(found) < 16:
            raise KeyError(f"no key {name!r} of at least 16 bytes is configured")
        return found

    def of(self, use: SecretUse) -> bytes:
        """The secret of one use; refused if it is too short to protect anything."""
        found: bytes = getattr(self, use)
        if len(found) < MIN_SALT:
            raise ValueError(f"the secret for {use} needs at least {MIN_SALT} random bytes")
        return found


def apply(mask: Mask, value: Any, secrets: Secrets | None = None) -> Any:
    """The masked value of one cell."""
    if mask.needs_other_rows:
        raise ValueError(f"{mask.name} depends on other rows; a pipeline makes it")
    if mask.name == "mask_to_fixed_value":
        return fixed_value(mask.column.type)
    if mask.expr is not None:
        row: Any = value
        for field_id in reversed(mask.column.ids):
            row = {field_id: row}
        return evaluate(mask.expr, row)
    return None if value is None else _MASKS[mask.name](mask, value, secrets or Secrets())


def fixed_value(type_: Type) -> Any:
    """The value that `mask_to_fixed_value` puts in the place of every other."""
    match type_:
        case DecimalType():
            return values.to_decimal(0, type_)
        case FixedType(length):
            return b"\0" * length
        case StructType(fields):
            return {f.id: fixed_value(f.type) for f in fields}
        case ListType():
            return []
        case MapType():
            return {}
    simple: dict[Type, Any] = {
        BOOLEAN: False, INT: 0, LONG: 0, FLOAT: 0.0, DOUBLE: 0.0, STRING: "XXXXXXXX", DATE: dt.date(1970, 1, 1),
        TIME: dt.time(0), TIMESTAMP: values.EPOCH, TIMESTAMPTZ: values.EPOCH.replace(tzinfo=dt.UTC), TIMESTAMP_NS: 0,
        TIMESTAMPTZ_NS: 0, UUID: uuid.UUID(int=0),
    }  # fmt: skip
    return simple.get(type_, EMPTY_POINT if str(type_).startswith("geo") else b"")


def alphanum(text: str) -> str:
    """Digits become n, ( ) , . - @ stay, everything else becomes x; code point by code point."""
    return "".join(c if c in KEPT else "n" if "0" <= c <= "9" else "x" for c in text)


def _show(first: bool, strict: bool) -> Callable[[Mask, str, Secrets], str]:
    def show(mask: Mask, text: str, secrets: Secrets) -> str:
        if len(text) <= 4:
            return alphanum(text) if strict else text
        return text[:4] + alphanum(text[4:]) if first else alphanum(text[:-4]) + text[-4:]

    return show


def _prefix(mask: Mask, text: str, secrets: Secrets) -> str:
    return text[: mask.args[0]] + "*" if len(text) > mask.args[0] else "*"


def _truncate(unit: str) -> Callable[[Mask, Any, Secrets], Any]:
    def cut(mask: Mask, moment: Any, secrets: Secrets) -> Any:
        if not isinstance(moment, int):
            return truncate(unit, moment)
        day = values.EPOCH + dt.timedelta(days=moment // 86_400_000_000_000)
        first = truncate(unit, day)
        assert isinstance(first, dt.datetime)
        return values.micros(first) * 1000

    return cut


def _date_range(mask: Mask, moment: Any, secrets: Secrets) -> Any:
    return truncate(mask.args[0], moment)


def input_bytes(type_: Type, value: Any) -> bytes:
    """What is hashed: UTF-8 of strings, integers little-endian in their width, binary as it is."""
    if type_ == STRING:
        return str(value).encode()
    if type_ in (INT, LONG):
        return int(value).to_bytes(4 if type_ == INT else 8, "little", signed=True)
    return bytes(value)


def from_digest(type_: Type, digest: bytes) -> Any:
    """A digest as a value of the column's type."""
    if type_ == STRING:
        return digest.hex()
    if type_ in (INT, LONG):
        return int.from_bytes(digest[: 4 if type_ == INT else 8], "little", signed=True)
    return digest


def _sha256(mask: Mask, value: Any, secrets: Secrets) -> Any:
    type_ = mask.column.type
    return from_digest(type_, hashlib.sha256(input_bytes(type_, value)).digest())


def _sha256_query_local(mask: Mask, value: Any, secrets: Secrets) -> Any:
    type_ = mask.column.type
    return from_digest(type_, hashlib.sha256(secrets.of("salt") + input_bytes(type_, value)).digest())


def _token(mask: Mask, value: Any, secrets: Secrets) -> Any:
    type_ = mask.column.type
    return from_digest(type_, hmac.digest(secrets.key(mask.args[0]), input_bytes(type_, value), "sha256"))


def _bucket(mask: Mask, value: Any, secrets: Secrets) -> Any:
    type_, width = mask.column.type, mask.args[0]
    if isinstance(value, float):
        if not math.isfinite(value):
            return value
        rest = math.fmod(value, width)
        rest = math.fmod(rest + width, width) if rest < 0 else rest
        return values.to_float(value - rest) if type_ == FLOAT else value - rest
    if isinstance(type_, DecimalType):
        count = _floor_divide(value, width)
        least = (
            decimal.Decimal(10**type_.precision - 1).scaleb(-type_.scale, context=values.EXACT).copy_negate()
        )
        return max(values.EXACT.multiply(count, width).quantize(least, context=values.EXACT), least)
    return max(value - value % width, values.INT_RANGE[0] if type_ == INT else values.LONG_RANGE[0])


def least_decimal(type_: DecimalType) -> decimal.Decimal:
    """The least value of a decimal type."""
    return decimal.Decimal(1 - 10**type_.precision).scaleb(-type_.scale, context=values.EXACT)


def _floor_divide(value: decimal.Decimal, width: decimal.Decimal) -> decimal.Decimal:
    rest = values.EXACT.remainder(value, width)
    whole = values.EXACT.divide_int(value, width)
    return values.EXACT.subtract(whole, decimal.Decimal(1)) if rest < 0 else whole


_MASKS: Final[Mapping[str, Callable[[Mask, Any, Secrets], Any]]] = {
    "mask_alphanum": lambda mask, value, secrets: alphanum(value),
    "replace_with_null": lambda mask, value, secrets: None,
    "show_first_4": _show(first=True, strict=False),
    "show_last_4": _show(first=False, strict=False),
    "show_first_4_strict": _show(first=True, strict=True),
    "show_last_4_strict": _show(first=False, strict=True),
    "truncate_to_year": _truncate("year"),
    "truncate_to_month": _truncate("month"),
    "date_range": _date_range,
    "prefix": _prefix,
    "sha256": _sha256,
    "sha256_query_local": _sha256_query_local,
    "token": _token,
    "bucket": _bucket,
}
