"""What each system can do of what the shared suite asks: what it cannot is asserted to be refused."""

from dataclasses import dataclass

from headgate.model import tables as t

ICEBERG_TYPES: tuple[t.DataType, ...] = (
    "boolean",
    "integer",
    "long",
    "float",
    "double",
    "decimal(10,2)",
    "date",
    "time",
    "timestamp",
    "timestamp_tz",
    "string",
    "uuid",
    "fixed(16)",
    "binary",
    t.ListDataType("string", False),
    t.MapDataType("string", "long", True),
    t.StructDataType((t.StructField("a", "integer", False, "c"), t.StructField("b", t.ListDataType("date")))),
    t.MapDataType(
        "string", t.StructDataType((t.StructField("deep", t.ListDataType(t.ListDataType("long"))),))
    ),
)


@dataclass(frozen=True)
class Abilities:
    types: tuple[t.DataType, ...] = ICEBERG_TYPES
    nested: bool = True
    """Whether columns have fields inside."""
    layout: bool = True
    """Whether tables are partitioned and sorted."""
    properties: bool = True
    """Whether tables have properties of the clients' own."""
    ordered: bool = True
    """Whether columns can be put before others."""
    more: frozenset[str] = frozenset()
    """What it can do that Iceberg cannot, in the words of the suite."""


ICEBERG = Abilities()
_BOTH = (
    "boolean",
    "short",
    "integer",
    "long",
    "float",
    "double",
    "decimal(10,2)",
    "decimal(38,0)",
    "date",
    "time",
    "time(3)",
    "timestamp",
    "timestamp(3)",
    "timestamp_tz",
    "timestamp_tz(6)",
    "string",
    "varchar(20)",
    "char(3)",
    "binary",
)
_KEYS = frozenset({"flat", "required", "default", "index", "sized", "nullability"})
POSTGRES = Abilities(
    (
        *_BOTH,
        "uuid",
        t.ListDataType("integer"),
        t.ListDataType("varchar(4)"),
        t.ExternalType("jsonb"),
        t.ExternalType("inet"),
        t.ExternalType("bit varying(3)"),
        t.ExternalType("numeric"),
    ),
    nested=False,
    layout=False,
    properties=False,
    ordered=False,
    more=_KEYS | {"counting"},
)
MYSQL = Abilities(
    (
        *_BOTH,
        "byte",
        "byte unsigned",
        "short unsigned",
        "integer unsigned",
        "long unsigned",
        "fixed(16)",
        t.ExternalType("mediumtext"),
        t.ExternalType("varbinary(12)"),
        t.ExternalType("bit(3)"),
        t.ExternalType("mediumint"),
    ),
    nested=False,
    layout=False,
    properties=False,
    more=_KEYS | {"unsigned", "byte", "any type"},
)
