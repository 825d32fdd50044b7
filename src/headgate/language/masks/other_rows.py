"""The masks that only a pipeline can make: `k_anonymous`, which counts other rows, and `noisy`, which draws once.

`k_anonymous(column, k)` keeps a value that occurs in at least k of the rows that the lens shows of the table's snapshot;
others become NULL. A value that k visible rows share is shared by k rows of the table all the more. Counting hidden rows as
well would tell of them: a value seen in one row would say that k - 1 others are hidden.

`noisy(column, scale)` adds noise of standard deviation `scale`, at most 3.5 times that much, rounded to the column's type
and kept within its range. The noise of a value is drawn from a secret of the table, the column, the scale and the value:
another read, purpose or lens draws nothing new, so averaging reveals nothing. The scale takes part because two readings of
one draw in two scales would tell the value exactly.

Drawing: SHA-256 over secret, label, field id, scale and the value's bytes; the first four 32-bit numbers of the digest, each
uniform, are added up and centred. Additions of whole numbers and one multiplication: alike in every engine to the bit.
"""

import decimal
import hashlib
import math
import struct
from typing import Any, Final

from headgate.language.ast import Literal
from headgate.language.errors import LoweringError
from headgate.language.lower.spark import SparkPrinter
from headgate.language.masks.digests import input_bytes, input_sql
from headgate.language.masks.expressions import is_plain
from headgate.language.masks.kind import NO_MASKS, Argument, ColumnMask, Columns, MaskKind, Nulls, Refusal
from headgate.language.masks.numbers import NUMBERS
from headgate.language.masks.spark import SparkSecrets
from headgate.language.masks.texts import whole_number
from headgate.language.types import is_exact, is_float
from headgate.language.values import INT_RANGE, LONG_RANGE, to_float
from headgate.model.schema import DOUBLE, FLOAT, INT, LONG, STRING, DecimalType, Type

MOST_DIGITS: Final = 18
_LABEL: Final = b"noisy"
_WORDS: Final = 4
_CENTRE: Final = 2 * (2**32 - 1)


def _positive(given: Literal, type_: Type) -> Any:
    number = is_exact(given.type) or is_float(given.type)
    return given.value if number and given.value is not None and given.value > 0 else None


def _frequent_sql(mask: ColumnMask, printer: SparkPrinter, secrets: SparkSecrets) -> str:
    """Keeps a value where the pipeline's own column says that it is frequent."""
    frequent = secrets.frequent.get(mask.column.field_id)
    if frequent is None:
        raise LoweringError(
            "spark", "k_anonymous needs counts", "hand over the column that tells frequent values"
        )
    return f"CASE WHEN {frequent} IS NOT NULL THEN {printer.print(mask.column)} END"


def _noisy_sql(mask: ColumnMask, printer: SparkPrinter, secrets: SparkSecrets) -> str:
    if secrets.noise is None:
        raise LoweringError("spark", "noisy needs a secret", "hand over the expression that holds it")
    type_ = _checked(mask)
    text, unit = printer.print(mask.column), _unit(mask)
    digest = f"sha2(concat({secrets.noise}, X'{_domain(mask).hex()}', {_bytes_sql(type_, text)}), 256)"
    words = (f"CAST(conv(substring({digest}, {8 * i + 1}, 8), 16, 10) AS BIGINT)" for i in range(_WORDS))
    noise = f"(CAST({' + '.join(words)} - {_CENTRE} AS DOUBLE) * {printer.literal(unit, DOUBLE)})"
    if type_ == FLOAT:
        return f"CAST(CAST({text} AS DOUBLE) + {noise} AS FLOAT)"
    if type_ == DOUBLE:
        return f"({text} + {noise})"
    steps = f"CAST(floor({noise} + 0.5D) AS DECIMAL(18, 0))"
    if isinstance(type_, DecimalType):
        steps = f"{steps} * CAST('{decimal.Decimal(1).scaleb(-type_.scale):f}' AS DECIMAL({type_.scale + 1}, {type_.scale}))"
        wide = text
    else:
        wide = f"CAST({text} AS DECIMAL(20, 0))"
    low, high = (f"CAST('{end:f}' AS {_wide(type_)})" for end in _range(type_))
    # greatest and least pass NULL over, a mask must not.
    return f"CASE WHEN {text} IS NOT NULL THEN CAST(least(greatest({wide} + {steps}, {low}), {high}) AS {printer.type_name(type_)}) END"


def noisy_value(mask: ColumnMask, value: Any, secret: bytes) -> Any:
    """The reference of `noisy`."""
    type_ = _checked(mask)
    if value is None:
        return None
    digest = hashlib.sha256(secret + _domain(mask) + _bytes(type_, value)).digest()
    noise = float(sum(struct.unpack_from(f">{_WORDS}I", digest)) - _CENTRE) * _unit(mask)
    if type_ == FLOAT:
        return to_float(value + noise)
    if type_ == DOUBLE:
        return value + noise
    steps = math.floor(noise + 0.5)
    low, high = _range(type_)
    if isinstance(type_, DecimalType):
        return min(max(value + decimal.Decimal(steps).scaleb(-type_.scale), low), high)
    return int(min(max(value + steps, low), high))


def _checked(mask: ColumnMask) -> Type:
    type_ = mask.column.type
    if isinstance(type_, DecimalType) and type_.precision > MOST_DIGITS:
        raise LoweringError(
            "spark", f"noisy takes decimals of at most {MOST_DIGITS} digits", "narrow the column's type"
        )
    if abs(_unit(mask)) * 2**34 > 10**17:
        raise LoweringError("spark", "the scale of noisy is too large", "write a smaller one")
    return type_


def _unit(mask: ColumnMask) -> float:
    """What one step of the sum is worth, in the column's own least steps: the sum of four has variance 1/3."""
    type_ = mask.column.type
    steps = 10.0**type_.scale if isinstance(type_, DecimalType) else 1.0
    return float(mask.args[0]) * steps * math.sqrt(3.0) / 2.0**32


def _domain(mask: ColumnMask) -> bytes:
    """Keeps the draws of columns and scales apart."""
    return _LABEL + struct.pack("<Id", mask.column.field_id, float(mask.args[0]))


def _bytes(type_: Type, value: Any) -> bytes:
    # An int that was widened to long draws what it drew before.
    if type_ in (INT, LONG):
        return input_bytes(LONG, value)
    if isinstance(type_, DecimalType):
        return input_bytes(LONG, int(value.scaleb(type_.scale)))
    return _hex(value).encode()


def _bytes_sql(type_: Type, text: str) -> str:
    if type_ in (INT, LONG):
        return input_sql(LONG, f"CAST({text} AS BIGINT)")
    if isinstance(type_, DecimalType):
        return input_sql(
            LONG, f"CAST({text} * CAST('{10**type_.scale}' AS DECIMAL({type_.scale + 1}, 0)) AS BIGINT)"
        )
    return input_sql(STRING, f"format_string('%a', CAST({text} AS DOUBLE) + 0.0D)")


def _hex(value: float) -> str:
    """A double as Java's %a writes it."""
    value += 0.0
    if math.isnan(value) or math.isinf(value):
        return str(value)
    mantissa, exponent = value.hex().split("p")
    whole, _, digits = mantissa.partition(".")
    return f"{whole}.{digits.rstrip('0') or '0'}p{int(exponent)}"


def _range(type_: Type) -> tuple[decimal.Decimal, decimal.Decimal]:
    if isinstance(type_, DecimalType):
        high = decimal.Decimal(10**type_.precision - 1).scaleb(-type_.scale)
        return -high, high
    low, top = INT_RANGE if type_ == INT else LONG_RANGE
    return decimal.Decimal(low), decimal.Decimal(top)


def _wide(type_: Type) -> str:
    return (
        f"DECIMAL({type_.precision}, {type_.scale})" if isinstance(type_, DecimalType) else "DECIMAL(20, 0)"
    )


K_ANONYMOUS: Final = MaskKind(
    name="k_anonymous",
    columns=Columns("plain columns", is_plain, "use it on a field"),
    arguments=(whole_number(2, "k"),),
    keyed_by=None,
    needs_other_rows=True,
    shows_nothing=False,
    nulls=Nulls.LOOSENS,
    iceberg_action=None,
    python=Refusal("it counts the rows of the table, and one cell is none of them"),
    spark=_frequent_sql,
    dialects={"hive": Refusal("a rule over one row counts no others"), **NO_MASKS},
    result="the value if at least k of the rows that are shown have it, else NULL; only a pipeline can make it",
)
NOISY: Final = MaskKind(
    name="noisy",
    columns=NUMBERS,
    arguments=(Argument("scale", "write a positive number", _positive),),
    keyed_by="noise",
    needs_other_rows=True,
    shows_nothing=False,
    nulls=Nulls.KEEPS,
    iceberg_action=None,
    python=lambda mask, value, secrets: noisy_value(mask, value, secrets.of("noise")),
    spark=_noisy_sql,
    dialects={"hive": Refusal("noise is drawn once, from a secret that no rule may show"), **NO_MASKS},
    result="the value with noise of standard deviation `scale`, drawn once per value; only a pipeline can make it",
)
