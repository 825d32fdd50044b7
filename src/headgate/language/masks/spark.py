"""Every mask as Spark SQL over its column, equal to the Python reference byte for byte.

Keys and salts are secrets, and SQL text ends up in plans and logs. So the text holds no secret unless asked to: the caller
says by which SQL expression each secret is reached (`SparkSecrets`), for instance columns of a one-row frame that is
joined in, of which a plan shows the names only. `literal_secrets` writes them into the text, for tests and closed systems.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from headgate.language.ast import Call, Literal
from headgate.language.errors import LoweringError
from headgate.language.lower.spark import SparkPrinter
from headgate.language.masks.mask import Mask
from headgate.language.masks.python import Secrets, fixed_value, least_decimal
from headgate.model.schema import (
    BINARY,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    DecimalType,
    ListType,
    MapType,
    Schema,
    StructType,
    Type,
)

BLOCK: Final = 64
_KEPT: Final = "[^0-9(),.@-]"


@dataclass(frozen=True)
class SparkSecrets:
    """SQL expressions of type BINARY: per key its inner and outer HMAC pads, the salt and the secret of noise."""

    pads: Mapping[str, tuple[str, str]] = field(default_factory=dict, repr=False)
    salt: str | None = field(default=None, repr=False)
    noise: str | None = field(default=None, repr=False)


def hmac_pads(key: bytes) -> tuple[bytes, bytes]:
    """The inner and outer pad of HMAC-SHA-256, as the caller hands them to Spark."""
    block = (hashlib.sha256(key).digest() if len(key) > BLOCK else key).ljust(BLOCK, b"\0")
    return bytes(b ^ 0x36 for b in block), bytes(b ^ 0x5C for b in block)


def literal_secrets(secrets: Secrets) -> SparkSecrets:
    """Secrets written into the SQL text itself: whoever sees the plan sees them."""
    pads = {name: hmac_pads(secrets.key(name)) for name in secrets.keys}
    return SparkSecrets(
        {name: (f"X'{inner.hex()}'", f"X'{outer.hex()}'") for name, (inner, outer) in pads.items()},
        f"X'{secrets.of('salt').hex()}'" if secrets.salt else None,
        f"X'{secrets.of('noise').hex()}'" if secrets.noise else None,
    )


def lower_mask(mask: Mask, schema: Schema, secrets: SparkSecrets | None = None) -> str:
    """The Spark SQL of a mask, of the column's type."""
    if mask.needs_other_rows:
        raise LoweringError("spark", f"{mask.name} depends on other rows; a pipeline makes it")
    printer = SparkPrinter(schema)
    if mask.name == "mask_to_fixed_value":
        return fixed_sql(printer, mask.column.type)
    if mask.expr is not None:
        return printer.print(mask.expr)
    return _MASKS[mask.name](mask, printer, printer.print(mask.column), secrets or SparkSecrets())


def spark_type(printer: SparkPrinter, type_: Type) -> str:
    """The Spark name of any type, nested ones included."""
    match type_:
        case StructType(fields):
            return (
                "STRUCT<"
                + ", ".join(f"{printer.quote(f.name)}: {spark_type(printer, f.type)}" for f in fields)
                + ">"
            )
        case ListType(element):
            return f"ARRAY<{spark_type(printer, element.type)}>"
        case MapType(key, value):
            return f"MAP<{spark_type(printer, key.type)}, {spark_type(printer, value.type)}>"
    return printer.type_name(type_)


def fixed_sql(printer: SparkPrinter, type_: Type) -> str:
    """The fixed value of a type; a struct's is made field by field."""
    match type_:
        case StructType(fields):
            parts = ", ".join(f"{printer.string(f.name)}, {fixed_sql(printer, f.type)}" for f in fields)
            return f"named_struct({parts})"
        case ListType():
            return f"CAST(array() AS {spark_type(printer, type_)})"
        case MapType():
            return f"CAST(map() AS {spark_type(printer, type_)})"
    if type_ in (INT, LONG):
        return f"CAST(0 AS {printer.type_name(type_)})"
    return printer.literal(fixed_value(type_), type_)


def _alphanum(text: str) -> str:
    return f"regexp_replace(regexp_replace({text}, '{_KEPT}', 'x'), '[0-9]', 'n')"


def _show(first: bool, strict: bool) -> Callable[[Mask, SparkPrinter, str, SparkSecrets], str]:
    def show(mask: Mask, printer: SparkPrinter, text: str, secrets: SparkSecrets) -> str:
        short = _alphanum(text) if strict else text
        if first:
            long = f"concat(substring({text}, 1, 4), {_alphanum(f'substring({text}, 5)')})"
        else:
            long = f"concat({_alphanum(f'substring({text}, 1, char_length({text}) - 4)')}, substring({text}, -4))"
        return f"CASE WHEN char_length({text}) <= 4 THEN {short} ELSE {long} END"

    return show


def _prefix(mask: Mask, printer: SparkPrinter, text: str, secrets: SparkSecrets) -> str:
    count = mask.args[0]
    return f"CASE WHEN char_length({text}) > {count} THEN concat(substring({text}, 1, {count}), '*') WHEN {text} IS NOT NULL THEN '*' END"


def _truncate(unit: str | None) -> Callable[[Mask, SparkPrinter, str, SparkSecrets], str]:
    def cut(mask: Mask, printer: SparkPrinter, text: str, secrets: SparkSecrets) -> str:
        literal = Literal(unit or mask.args[0], STRING)
        return printer.print(Call("date_trunc", (literal, mask.column), mask.column.type))

    return cut


def _swapped(digits: str, count: int) -> str:
    """Hex digits of `count` bytes, the bytes in reverse order."""
    return "concat(" + ", ".join(f"substring({digits}, {2 * i + 1}, 2)" for i in reversed(range(count))) + ")"


def input_sql(type_: Type, text: str) -> str:
    """What is hashed, as BINARY."""
    if type_ == STRING:
        return f"CAST({text} AS BINARY)"
    if type_ == BINARY:
        return text
    count = 4 if type_ == INT else 8
    digits = f"right(lpad(hex(CAST({text} AS BIGINT)), 16, '0'), {2 * count})"
    return f"unhex({_swapped(digits, count)})"


def _from_digest(type_: Type, hexed: str) -> str:
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


def _sha256(mask: Mask, printer: SparkPrinter, text: str, secrets: SparkSecrets) -> str:
    return _from_digest(mask.column.type, f"sha2({input_sql(mask.column.type, text)}, 256)")


def _sha256_query_local(mask: Mask, printer: SparkPrinter, text: str, secrets: SparkSecrets) -> str:
    if secrets.salt is None:
        raise LoweringError(
            "spark", "sha256_query_local needs a salt", "hand over the expression that holds it"
        )
    return _from_digest(
        mask.column.type, f"sha2(concat({secrets.salt}, {input_sql(mask.column.type, text)}), 256)"
    )


def _token(mask: Mask, printer: SparkPrinter, text: str, secrets: SparkSecrets) -> str:
    pads = secrets.pads.get(mask.args[0])
    if pads is None:
        raise LoweringError(
            "spark", f"no key {mask.args[0]!r} is configured", "configure it, or name another"
        )
    inner, outer = pads
    first = f"unhex(sha2(concat({inner}, {input_sql(mask.column.type, text)}), 256))"
    return _from_digest(mask.column.type, f"sha2(concat({outer}, {first}), 256)")


def _bucket(mask: Mask, printer: SparkPrinter, text: str, secrets: SparkSecrets) -> str:
    type_, width = mask.column.type, mask.args[0]
    name = printer.type_name(type_)
    if type_ in (FLOAT, DOUBLE):
        wide, step = f"CAST({text} AS DOUBLE)", printer.literal(width, DOUBLE)
        edges = ", ".join(printer.literal(float(v), DOUBLE) for v in ("nan", "inf", "-inf"))
        return f"CASE WHEN {wide} IN ({edges}) THEN {text} ELSE CAST({wide} - pmod({wide}, {step}) AS {name}) END"
    if isinstance(type_, DecimalType):
        least, wide, step = printer.literal(least_decimal(type_), type_), text, printer.literal(width, type_)
    else:
        least = f"CAST({-(2**31) if type_ == INT else -(2**63)} AS DECIMAL(20, 0))"
        wide, step = f"CAST({text} AS DECIMAL(20, 0))", f"CAST({width} AS DECIMAL(20, 0))"
    # greatest passes NULL over, a mask must not.
    return f"CASE WHEN {text} IS NOT NULL THEN CAST(greatest({wide} - pmod({wide}, {step}), {least}) AS {name}) END"


_MASKS: Final[Mapping[str, Callable[[Mask, SparkPrinter, str, SparkSecrets], str]]] = {
    "mask_alphanum": lambda mask, printer, text, secrets: _alphanum(text),
    "replace_with_null": lambda mask, printer, text, secrets: (
        f"CAST(NULL AS {spark_type(printer, mask.column.type)})"
    ),
    "show_first_4": _show(first=True, strict=False),
    "show_last_4": _show(first=False, strict=False),
    "show_first_4_strict": _show(first=True, strict=True),
    "show_last_4_strict": _show(first=False, strict=True),
    "truncate_to_year": _truncate("year"),
    "truncate_to_month": _truncate("month"),
    "date_range": _truncate(None),
    "prefix": _prefix,
    "sha256": _sha256,
    "sha256_query_local": _sha256_query_local,
    "token": _token,
    "bucket": _bucket,
}
