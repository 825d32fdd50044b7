"""The words of the language: operators, functions, types, and those that get a refusal of their own."""

from typing import Final, NamedTuple

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
    Type,
)

COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
CONTEXT_KEYS: Final = {"purpose": STRING, "address": STRING, "engine": STRING, "hour": INT}


class Arity(NamedTuple):
    """How a function is spelled inside and how many arguments it takes."""

    op: str
    low: int
    high: int


FUNCTIONS: Final = {
    "LOWER": Arity("lower", 1, 1), "UPPER": Arity("upper", 1, 1),
    "LENGTH": Arity("length", 1, 1), "CHAR_LENGTH": Arity("length", 1, 1),
    "SUBSTRING": Arity("substring", 2, 3), "SUBSTR": Arity("substring", 2, 3), "LEFT": Arity("left", 2, 2),
    "CONCAT": Arity("concat", 1, 100), "COALESCE": Arity("coalesce", 1, 100),
    "TRIM": Arity("trim", 1, 1), "LTRIM": Arity("ltrim", 1, 1), "RTRIM": Arity("rtrim", 1, 1),
    "STARTS_WITH": Arity("starts_with", 2, 2), "ENDS_WITH": Arity("ends_with", 2, 2),
    "CONTAINS": Arity("contains", 2, 2), "IS_NAN": Arity("is_nan", 1, 1), "ISNAN": Arity("is_nan", 1, 1),
    "YEAR": Arity("year", 1, 1), "MONTH": Arity("month", 1, 1), "DAY": Arity("day", 1, 1),
    "HOUR": Arity("hour", 1, 1), "DATE_TRUNC": Arity("date_trunc", 2, 2),
    "NULLIF": Arity("nullif", 2, 2), "IF": Arity("if", 3, 3), "IN_NETWORK": Arity("in_network", 2, 2),
    "SESSION_USER": Arity("session_user", 0, 0), "IS_MEMBER": Arity("is_member", 1, 1),
    "HAS_TAG": Arity("has_tag", 1, 2), "CURRENT_DATE": Arity("current_date", 0, 0),
}  # fmt: skip
TYPE_WORDS: Final[dict[str, Type]] = {
    "BOOLEAN": BOOLEAN, "INT": INT, "INTEGER": INT, "LONG": LONG, "BIGINT": LONG, "FLOAT": FLOAT, "REAL": FLOAT,
    "DOUBLE": DOUBLE, "STRING": STRING, "VARCHAR": STRING, "TEXT": STRING, "DATE": DATE, "TIME": TIME,
    "TIMESTAMP": TIMESTAMP, "TIMESTAMPTZ": TIMESTAMPTZ, "TIMESTAMP_NS": TIMESTAMP_NS,
    "TIMESTAMPTZ_NS": TIMESTAMPTZ_NS, "UUID": UUID, "BINARY": BINARY,
}  # fmt: skip
CHANGING: Final = frozenset(
    [
        "RAND",
        "RANDOM",
        "RANDN",
        "UUID",
        "GEN_RANDOM_UUID",
        "NOW",
        "SYSDATE",
        "GETDATE",
        "CURRENT_TIMESTAMP",
        "CURRENT_TIME",
        "LOCALTIMESTAMP",
        "LOCALTIME",
        "MONOTONICALLY_INCREASING_ID",
        "NEXTVAL",
        "SHUFFLE",
        "SETSEED",
        "INPUT_FILE_NAME",
    ]
)
CHANGING_WORDS: Final = frozenset(
    {"CURRENT_TIMESTAMP", "CURRENT_TIME", "LOCALTIMESTAMP", "LOCALTIME", "SYSDATE"}
)
"""Those of them that are called without parentheses."""
MANY_ROWS: Final = frozenset(
    [
        "COUNT",
        "SUM",
        "AVG",
        "MIN",
        "MAX",
        "ANY",
        "SOME",
        "EVERY",
        "ROW_NUMBER",
        "RANK",
        "DENSE_RANK",
        "LAG",
        "LEAD",
        "NTILE",
        "FIRST_VALUE",
        "LAST_VALUE",
    ]
)
QUERY_WORDS: Final = frozenset(
    [
        "SELECT",
        "WITH",
        "FROM",
        "JOIN",
        "UNION",
        "VALUES",
        "WHERE",
        "EXISTS",
        "TABLE",
        "LATERAL",
        "INTERSECT",
        "EXCEPT",
    ]
)
RESERVED: Final = (
    frozenset(
        [
            "AND",
            "OR",
            "NOT",
            "IS",
            "IN",
            "BETWEEN",
            "LIKE",
            "CASE",
            "WHEN",
            "THEN",
            "ELSE",
            "END",
            "NULL",
            "AS",
            "ESCAPE",
        ]
    )
    | QUERY_WORDS
)
