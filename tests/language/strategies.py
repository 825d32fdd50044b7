"""Random schemas, rows and well-typed expressions, as text, over values that tend to break things.

Hypothesis draws the seeds only: a whole table with dozens of expressions is more than it can draw piece by piece without
falling back to trivial ones. What fails names its expression and row, so there is little left to shrink.
"""

import datetime as dt
import decimal
import random
import uuid
from typing import Any

from hypothesis import strategies as st

from headgate.language import values
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
    TIMESTAMPTZ,
    UUID,
    DecimalType,
    Field,
    FixedType,
    Schema,
    StructType,
    Type,
)

D = decimal.Decimal
DECIMALS = [DecimalType(5, 2), DecimalType(18, 4), DecimalType(38, 10), DecimalType(9, 0)]
TYPES: list[Type] = [
    BOOLEAN, INT, LONG, FLOAT, DOUBLE, STRING, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, UUID, BINARY, FixedType(3), *DECIMALS,
]  # fmt: skip
SPARK_TYPES = [t for t in TYPES if t not in (TIME, UUID)]

STRINGS = [
    "", "a", "A", "EU", "Eu", " a ", "  ", "é", "e\u0301", "ß", "İ", "𝒳y", "x%y", "a_b", "\\", "a\nb", "it's", "abc",
    "ABC", "zürich", "${x}", '"', "`", "a\tb", "日本", "aa", "\U0010ffff", "\uffff",
]  # fmt: skip
STAMPS = [
    dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(1970, 1, 1),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 2, 29, 12, 30), dt.datetime(2024, 3, 31, 1, 30),
    dt.datetime(2024, 10, 27, 0, 30), dt.datetime(1582, 10, 10, 3), dt.datetime(1900, 3, 1, 0, 0, 0, 1),
]  # fmt: skip
DOUBLES = [
    float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 0.5, -1.25, 0.1, 1e308, -1e308, 5e-324, 7.0, 2.0**53,
]  # fmt: skip


def pool(type_: Type) -> list[Any]:
    """Values of a type that are worth trying."""
    if isinstance(type_, DecimalType):
        top = D(10**type_.precision - 1).scaleb(-type_.scale, context=values.EXACT)
        unit = D(1).scaleb(-type_.scale)
        zero = D(0).quantize(unit)
        return [
            zero,
            D(1).quantize(unit),
            D(-1).quantize(unit),
            unit,
            top,
            top.copy_negate(),
            D(7).quantize(unit),
        ]
    if isinstance(type_, FixedType):
        return [b"\0" * type_.length, b"\xff" * type_.length, b"abcdefgh"[: type_.length]]
    return {
        BOOLEAN: [True, False],
        INT: [0, 1, -1, 2, 7, 10, 1970, 2024, 2**31 - 1, -(2**31)],
        LONG: [0, 1, -1, 7, 2**31, 2**63 - 1, -(2**63), 2**53 + 1],
        FLOAT: [values.to_float(v) for v in (*DOUBLES, 3.4028235e38)],
        DOUBLE: DOUBLES,
        STRING: STRINGS,
        DATE: [s.date() for s in STAMPS],
        TIME: [dt.time(0), dt.time(23, 59, 59, 999999), dt.time(12, 30)],
        TIMESTAMP: STAMPS,
        TIMESTAMPTZ: [s.replace(tzinfo=dt.UTC) for s in STAMPS],
        UUID: [
            uuid.UUID(int=0),
            uuid.UUID(int=2**128 - 1),
            uuid.UUID("123e4567-e89b-12d3-a456-426614174000"),
        ],
        BINARY: [b"", b"\0", b"\xff\0", b"abc", b"'"],
    }[type_]


NAMES = ["a", "b.c", "Id", "weird name", 'quo"te', "tick`", "x'y", "select", "größe", "principal", "d", "e"]


def random_schema(rng: random.Random, types: list[Type] = TYPES) -> Schema:
    """A schema of two to eight columns, some of them structs."""
    names = rng.sample(NAMES, rng.randint(2, 8))
    fields = []
    for index, name in enumerate(names):
        if rng.random() < 0.2:
            inner = tuple(
                Field(100 + 10 * index + i, f"{rng.choice(NAMES)}{i}", rng.choice(types), rng.random() < 0.3)
                for i in range(2)
            )
            fields.append(Field(index + 1, name, StructType(inner), rng.random() < 0.3))
        else:
            fields.append(Field(index + 1, name, rng.choice(types), rng.random() < 0.3))
    return Schema(tuple(fields))


schemas = st.integers(0, 2**64).map(lambda seed: random_schema(random.Random(seed)))


def every_type(types: list[Type]) -> Schema:
    """Two columns of each type, one of them required, and a struct of all types."""
    fields = [Field(i + 1, f"c{i}", t, False) for i, t in enumerate(types)]
    fields += [Field(i + 51, f"r{i}", t, True) for i, t in enumerate(types)]
    inner = tuple(Field(i + 201, f"f{i}", t, False) for i, t in enumerate(types))
    return Schema((*fields, Field(200, "s", StructType(inner), False)))


def random_cell(rng: random.Random, field: Field) -> Any:
    """A value of one field."""
    if not field.required and rng.random() < 0.15:
        return None
    if isinstance(field.type, StructType):
        return {f.name: random_cell(rng, f) for f in field.type.fields}
    return rng.choice(pool(field.type))


def random_rows(rng: random.Random, schema: Schema, count: int = 12) -> list[dict[str, Any]]:
    """Rows that fit a schema."""
    return [{f.name: random_cell(rng, f) for f in schema.fields} for _ in range(count)]


def quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literal_text(type_: Type, value: Any) -> str:
    """A constant as an author would write it."""
    text = values.to_text(type_, value)
    if type_ in (INT, LONG, BOOLEAN):
        return text
    if type_ == STRING:
        return quote(text)
    if type_ == BINARY or isinstance(type_, FixedType):
        return f"X'{text}'"
    return f"{str(type_).upper()} '{text}'"


class Writer:
    """Writes random expressions over a schema; every text it writes binds, or is refused for a reason the test knows."""

    def __init__(self, rng: random.Random, schema: Schema) -> None:
        self.rng = rng
        self.columns: dict[Type, list[str]] = {}
        for located in schema.walk():
            if not isinstance(located.field.type, StructType):
                path = ".".join('"' + p.replace('"', '""') + '"' for p in located.path)
                self.columns.setdefault(located.field.type, []).append(path)

    def pick(self, items: list[Any]) -> Any:
        return self.rng.choice(items)

    def chance(self, one_in: int) -> bool:
        return self.rng.randrange(one_in) == 0

    def condition(self, depth: int) -> str:
        choices = ["compare", "compare", "null", "in", "bool", "string"]
        if depth > 0:
            choices += ["and", "or", "not", "and", "or", "not", "case", "is", "coalesce"]
        match self.pick(choices):
            case "and":
                return f"({self.condition(depth - 1)} AND {self.condition(depth - 1)})"
            case "or":
                return f"({self.condition(depth - 1)} OR {self.condition(depth - 1)})"
            case "not":
                return f"(NOT {self.condition(depth - 1)})"
            case "is":
                return f"(({self.condition(depth - 1)}) IS {self.pick(['TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE'])})"
            case "case":
                parts = [self.condition(depth - 1) for _ in range(3)]
                return f"CASE WHEN {parts[0]} THEN {parts[1]} ELSE {parts[2]} END"
            case "coalesce":
                return f"coalesce({self.condition(depth - 1)}, {self.condition(depth - 1)})"
            case "null":
                column = self.pick([c for cs in self.columns.values() for c in cs])
                return f"{column} IS {self.pick(['', 'NOT '])}NULL"
            case "in":
                type_ = self.pick(list(self.columns))
                items = ", ".join(
                    literal_text(type_, v) for v in self.rng.choices(pool(type_), k=self.rng.randint(1, 4))
                )
                return f"{self.value(type_, 1)} {self.pick(['', 'NOT '])}IN ({items})"
            case "bool":
                return str(self.pick([*self.columns.get(BOOLEAN, []), "TRUE", "FALSE"]))
            case "string":
                return self.string_test()
        return self.comparison(depth)

    def string_test(self) -> str:
        text = self.value(STRING, 1)
        if self.chance(2):
            pattern = self.pick(["a%", "%a", "%b%", "_", "a_b", "%", "", "é%", "_y", "EU", "%_%", "x%y"])
            return f"{text} {self.pick(['', 'NOT '])}LIKE {quote(pattern)}"
        name = self.pick(["starts_with", "ends_with", "contains"])
        return f"{name}({text}, {self.value(STRING, 0)})"

    def comparison(self, depth: int) -> str:
        type_ = self.pick([*self.columns, INT, STRING])
        ordered = type_ not in (BOOLEAN, UUID, BINARY) and not isinstance(type_, FixedType)
        op = self.pick(["=", "<>", "<", "<=", ">", ">="] if ordered else ["=", "<>"])
        if ordered and self.chance(6):
            low, high = (literal_text(type_, self.pick(pool(type_))) for _ in range(2))
            return f"{self.value(type_, depth)} BETWEEN {low} AND {high}"
        sides = [self.value(type_, depth), literal_text(type_, self.pick(pool(type_)))]
        if self.chance(3):
            sides[1] = self.value(type_, 1)
        return f"{sides[0]} {op} {sides[1]}" if self.chance(2) else f"{sides[1]} {op} {sides[0]}"

    def value(self, type_: Type, depth: int) -> str:
        columns = self.columns.get(type_, [])
        if depth > 0 and self.chance(2) and (derived := self.derived(type_, depth - 1)):
            return derived
        if columns and not self.chance(8):
            return str(self.pick(columns))
        return literal_text(type_, self.pick(pool(type_)))

    def derived(self, type_: Type, depth: int) -> str | None:
        moments = [t for t in (DATE, TIMESTAMP, TIMESTAMPTZ) if t in self.columns]
        options: list[Any] = [
            lambda: f"coalesce({self.value(type_, depth)}, {self.value(type_, depth)})",
            lambda: (
                f"CASE WHEN {self.condition(0)} THEN {self.value(type_, depth)} ELSE {self.value(type_, depth)} END"
            ),
            lambda: f"nullif({self.value(type_, depth)}, {self.value(type_, 0)})",
        ]
        if type_ == STRING:
            options += [
                lambda: (
                    f"{self.pick(['lower', 'upper', 'trim', 'ltrim', 'rtrim'])}({self.value(STRING, depth)})"
                ),
                lambda: (
                    f"substring({self.value(STRING, depth)}, {self.pick([1, 2, 3])}, {self.pick([0, 1, 2])})"
                ),
                lambda: f"substring({self.value(STRING, depth)}, {self.pick([1, 2])})",
                lambda: f"({self.value(STRING, depth)} || {self.value(STRING, 0)})",
                lambda: f"CAST({self.value(self.pick([INT, LONG, DATE, BOOLEAN]), 0)} AS STRING)",
            ]
        elif type_ == INT:
            options += [
                lambda: f"length({self.value(STRING, depth)})",
                lambda: f"({self.value(INT, depth)} % 7)",
            ]
            if moments:
                options.append(
                    lambda: f"{self.pick(['year', 'month', 'day'])}({self.value(self.pick(moments), depth)})"
                )
        elif type_ == LONG:
            options += [
                lambda: f"({self.value(INT, depth)} {self.pick(['+', '-', '*'])} {self.value(INT, 0)})",
                lambda: f"(-({self.value(INT, depth)}))",
                lambda: f"CAST({self.value(INT, depth)} AS LONG)",
                lambda: f"({self.value(LONG, depth)} % 1000)",
            ]
        elif type_ == DOUBLE:
            options += [
                lambda: (
                    f"({self.value(DOUBLE, depth)} {self.pick(['+', '-', '*', '/'])} {self.value(DOUBLE, 0)})"
                ),
                lambda: f"({self.value(INT, depth)} / {self.value(INT, 0)})",
                lambda: f"CAST({self.value(LONG, depth)} AS DOUBLE)",
                lambda: f"CAST({self.value(FLOAT, 0)} AS DOUBLE)",
            ]
        elif isinstance(type_, DecimalType) and type_.precision < 30:
            options += [
                lambda: f"({self.value(type_, depth)} {self.pick(['+', '-', '*'])} {self.value(type_, 0)})",
                lambda: f"({self.value(INT, 0)} * {self.value(type_, depth)})",
            ]
        elif type_ in moments:
            options.append(
                lambda: (
                    f"date_trunc({quote(self.pick(['year', 'quarter', 'month', 'week', 'day']))}, {self.value(type_, depth)})"
                )
            )
            if type_ == DATE:
                options.append(lambda: f"CAST({self.value(self.pick([TIMESTAMP, TIMESTAMPTZ]), 0)} AS DATE)")
            else:
                options.append(lambda: f"date_trunc('hour', {self.value(type_, depth)})")
        return str(self.pick(options)())


def random_condition(rng: random.Random, schema: Schema, depth: int = 3) -> str:
    """The text of one condition over a schema."""
    return Writer(rng, schema).condition(depth)


def random_simple_condition(rng: random.Random, schema: Schema, depth: int = 3) -> str:
    """A condition of the kind Iceberg can express: columns against constants, joined by AND, OR and NOT."""
    writer = Writer(rng, schema)

    def leaf() -> str:
        type_ = writer.pick(list(writer.columns))
        column, ordered = (
            writer.pick(writer.columns[type_]),
            type_ not in (BOOLEAN, UUID, BINARY) and not isinstance(type_, FixedType),
        )
        constants = [literal_text(type_, v) for v in pool(type_)]
        match writer.pick(["compare", "null", "in", "prefix", "default"]):
            case "default":
                op = writer.pick(["=", "<>", "<", ">="] if ordered else ["=", "<>"])
                return f"coalesce({column}, {writer.pick(constants)}) {op} {writer.pick(constants)}"
            case "null":
                return f"{column} IS {writer.pick(['', 'NOT '])}NULL"
            case "in":
                return f"{column} {writer.pick(['', 'NOT '])}IN ({', '.join(rng.choices(constants, k=rng.randint(1, 3)))})"
            case "prefix" if type_ == STRING:
                return f"{column} {writer.pick(['', 'NOT '])}LIKE {quote(writer.pick(['a%', '%', 'é%', 'EU', '']))}"
        op = writer.pick(["=", "<>", "<", "<=", ">", ">="] if ordered else ["=", "<>"])
        return f"{column} {op} {writer.pick(constants)}"

    def build(left: int) -> str:
        match writer.pick(["leaf", "and", "or", "not"]) if left else "leaf":
            case "and" | "or" as op:
                return f"({build(left - 1)} {op} {build(left - 1)})"
            case "not":
                return f"(not {build(left - 1)})"
        return leaf()

    return build(depth)
