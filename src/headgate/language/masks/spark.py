"""Every mask as Spark SQL over its column, equal to the Python reference byte for byte.

Keys and salts are secrets, and SQL text ends up in plans and logs. So the text holds no secret unless asked to: the caller
says by which SQL expression each secret is reached (`SparkSecrets`), for instance columns of a one-row frame that is
joined in, of which a plan shows the names only. `literal_secrets` writes them into the text, for tests and closed systems.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from headgate.language.errors import LoweringError
from headgate.language.lower.spark import SparkPrinter
from headgate.language.masks.kind import ColumnMask, Refusal
from headgate.language.masks.python import Secrets
from headgate.model.schema import ListType, MapType, Schema, StructType, Type

BLOCK: Final = 64


@dataclass(frozen=True)
class SparkSecrets:
    """SQL expressions of type BINARY: per key its inner and outer HMAC pads, the salt and the secret of noise."""

    pads: Mapping[str, tuple[str, str]] = field(default_factory=dict, repr=False)
    salt: str | None = field(default=None, repr=False)
    noise: str | None = field(default=None, repr=False)
    frequent: Mapping[int, str] = field(default_factory=dict)
    """No secrets: per counted field the column of the pipeline that is NULL unless the row's value is frequent."""


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


def lower_mask(
    mask: ColumnMask, schema: Schema, secrets: SparkSecrets | None = None, *, in_pipeline: bool = False
) -> str:
    """The Spark SQL of a mask, of the column's type; only a pipeline has what other rows are needed for."""
    if mask.needs_other_rows and not in_pipeline:
        raise LoweringError("spark", f"{mask.name} depends on other rows; a pipeline makes it")
    if isinstance(mask.kind.spark, Refusal):
        raise LoweringError("spark", f"{mask.name}: {mask.kind.spark.why}")
    return mask.kind.spark(mask, SparkPrinter(schema), secrets or SparkSecrets())


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
