"""Masks that put a digest in the place of the value: plain, salted, and keyed."""

import hashlib
import hmac
from typing import Any, Final

from headgate.language.ast import Literal
from headgate.language.errors import LoweringError
from headgate.language.lower.spark import SparkPrinter
from headgate.language.lower.sql import Printer
from headgate.language.masks.kind import NO_MASKS, Argument, ColumnMask, Columns, MaskKind, Nulls, Refusal
from headgate.language.masks.python import Secrets
from headgate.language.masks.spark import SparkSecrets
from headgate.model.schema import BINARY, INT, LONG, STRING, Type

_HASHED: Final = Columns.of(STRING, INT, LONG, BINARY)


def input_bytes(type_: Type, value: Any) -> bytes:
    """What is hashed: UTF-8 of strings, integers little-endian in their width, binary as it is."""
    if type_ == STRING:
        return str(value).encode()
    if type_ in (INT, LONG):
        return int(value).to_bytes(4 if type_ == INT else 8, "little", signed=True)
    return bytes(value)


def _from_digest(type_: Type, digest: bytes) -> Any:
    """A digest as a value of the column's type."""
    if type_ == STRING:
        return digest.hex()
    if type_ in (INT, LONG):
        return int.from_bytes(digest[: 4 if type_ == INT else 8], "little", signed=True)
    return digest


def input_sql(type_: Type, text: str) -> str:
    """What is hashed, as BINARY."""
    if type_ == STRING:
        return f"CAST({text} AS BINARY)"
    if type_ == BINARY:
        return text
    count = 4 if type_ == INT else 8
    digits = f"right(lpad(hex(CAST({text} AS BIGINT)), 16, '0'), {2 * count})"
    return f"unhex({_swapped(digits, count)})"


def _from_digest_sql(type_: Type, hexed: str) -> str:
    """A digest's 64 hex digits as a value of the column's type."""
    if type_ == STRING:
        return hexed
    if type_ == BINARY:
        return f"unhex({hexed})"
    count = 4 if type_ == INT else 8
    unsigned = f"CAST(conv({_swapped(hexed, count)}, 16, 10) AS DECIMAL(20, 0))"
    half, whole = 2 ** (8 * count - 1), 2 ** (8 * count)
    name = "INT" if type_ == INT else "BIGINT"
    # Folded around the middle instead of compared, so that the digest is written once only.
    shifted = f"pmod({unsigned} + CAST({half} AS DECIMAL(20, 0)), CAST({whole} AS DECIMAL(20, 0)))"
    return f"CAST({shifted} - CAST({half} AS DECIMAL(20, 0)) AS {name})"


def _swapped(digits: str, count: int) -> str:
    """Hex digits of `count` bytes, the bytes in reverse order."""
    return "concat(" + ", ".join(f"substring({digits}, {2 * i + 1}, 2)" for i in reversed(range(count))) + ")"


def _sha256(mask: ColumnMask, value: Any, secrets: Secrets) -> Any:
    type_ = mask.column.type
    return _from_digest(type_, hashlib.sha256(input_bytes(type_, value)).digest())


def _sha256_sql(mask: ColumnMask, printer: SparkPrinter, secrets: SparkSecrets) -> str:
    type_, text = mask.column.type, printer.print(mask.column)
    return _from_digest_sql(type_, f"sha2({input_sql(type_, text)}, 256)")


def _sha256_hive(mask: ColumnMask, printer: Printer) -> str:
    if mask.column.type != STRING:
        raise LoweringError(printer.target, f"sha256 of {mask.column.type} is not said exactly there")
    return f"sha2({printer.print(mask.column)}, 256)"


SHA256: Final = MaskKind(
    name="sha256",
    columns=_HASHED,
    arguments=(),
    keyed_by=None,
    needs_other_rows=False,
    shows_nothing=False,
    nulls=Nulls.KEEPS,
    iceberg_action="sha-256-global",
    python=_sha256,
    spark=_sha256_sql,
    dialects={"hive": _sha256_hive, **NO_MASKS},
    result="64 hex digits; the first 4 or 8 digest bytes as a little-endian number; 32 bytes",
)


def _query_local(mask: ColumnMask, value: Any, secrets: Secrets) -> Any:
    type_ = mask.column.type
    return _from_digest(type_, hashlib.sha256(secrets.of("salt") + input_bytes(type_, value)).digest())


def _query_local_sql(mask: ColumnMask, printer: SparkPrinter, secrets: SparkSecrets) -> str:
    type_, text = mask.column.type, printer.print(mask.column)
    if secrets.salt is None:
        raise LoweringError(
            "spark", "sha256_query_local needs a salt", "hand over the expression that holds it"
        )
    return _from_digest_sql(type_, f"sha2(concat({secrets.salt}, {input_sql(type_, text)}), 256)")


_NO_SECRETS: Final = Refusal("a rule of another system would show the secret to whoever may read the rule")

SHA256_QUERY_LOCAL: Final = MaskKind(
    name="sha256_query_local",
    columns=_HASHED,
    arguments=(),
    keyed_by="salt",
    needs_other_rows=False,
    shows_nothing=False,
    nulls=Nulls.KEEPS,
    iceberg_action="sha-256-query-local",
    python=_query_local,
    spark=_query_local_sql,
    dialects={"hive": _NO_SECRETS, **NO_MASKS},
    result="the same of salt ‖ value: not joinable beyond one read or lens",
)


def _key(given: Literal, type_: Type) -> str | None:
    return given.value if given.type == STRING and given.value else None


def _token(mask: ColumnMask, value: Any, secrets: Secrets) -> Any:
    type_ = mask.column.type
    return _from_digest(type_, hmac.digest(secrets.key(mask.args[0]), input_bytes(type_, value), "sha256"))


def _token_sql(mask: ColumnMask, printer: SparkPrinter, secrets: SparkSecrets) -> str:
    type_, text = mask.column.type, printer.print(mask.column)
    pads = secrets.pads.get(mask.args[0])
    if pads is None:
        raise LoweringError(
            "spark", f"no key {mask.args[0]!r} is configured", "configure it, or name another"
        )
    inner, outer = pads
    first = f"unhex(sha2(concat({inner}, {input_sql(type_, text)}), 256))"
    return _from_digest_sql(type_, f"sha2(concat({outer}, {first}), 256)")


TOKEN: Final = MaskKind(
    name="token",
    columns=_HASHED,
    arguments=(Argument("'key'", "name the key: token(column, 'customers')", _key),),
    keyed_by="key",
    needs_other_rows=False,
    shows_nothing=False,
    nulls=Nulls.KEEPS,
    iceberg_action=None,
    python=_token,
    spark=_token_sql,
    dialects={"hive": _NO_SECRETS, **NO_MASKS},
    result="HMAC-SHA-256 with the named key: joinable within a table, and across tables that were joined; not guessable without the key",
)
