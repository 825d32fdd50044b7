"""The same rows in DuckDB, Arrow and pyiceberg's terms, and a reader of Iceberg's JSON that follows its two-valued rules."""

import datetime as dt
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNaN,
    IsNull,
    LessThan,
    LessThanOrEqual,
    NotEqualTo,
    NotIn,
    NotNaN,
    NotNull,
    NotStartsWith,
    Or,
    StartsWith,
)
from pyiceberg.expressions.literals import literal
from pyiceberg.schema import Schema as PySchema
from pyiceberg.typedef import Record

from headgate.language import values
from headgate.language.lower.duckdb import DuckPrinter
from headgate.language.lower.postgres import PostgresPrinter
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
    parse_simple_type,
)

ARROW = {
    BOOLEAN: pa.bool_(), INT: pa.int32(), LONG: pa.int64(), FLOAT: pa.float32(), DOUBLE: pa.float64(),
    STRING: pa.string(), DATE: pa.date32(), TIME: pa.time64("us"), TIMESTAMP: pa.timestamp("us"),
    TIMESTAMPTZ: pa.timestamp("us", "UTC"), UUID: pa.string(), BINARY: pa.binary(),
}  # fmt: skip


def arrow_type(type_: Type) -> pa.DataType:
    if isinstance(type_, DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, FixedType):
        return pa.binary()
    if isinstance(type_, StructType):
        return pa.struct([pa.field(f.name, arrow_type(f.type)) for f in type_.fields])
    return ARROW[type_]


def arrow_table(schema: Schema, rows: list[dict[str, Any]]) -> pa.Table:
    columns = {
        f.name: pa.array([_plain(f, r[f.name]) for r in rows], arrow_type(f.type)) for f in schema.fields
    }
    return pa.table(columns)


def _plain(field: Field, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(field.type, StructType):
        return {f.name: _plain(f, value[f.name]) for f in field.type.fields}
    return str(value) if field.type == UUID else value


def duck_type(type_: Type) -> str:
    printer = DuckPrinter(Schema(()))
    if isinstance(type_, StructType):
        return (
            "STRUCT(" + ", ".join(f"{printer.quote(f.name)} {duck_type(f.type)}" for f in type_.fields) + ")"
        )
    return printer.type_name(type_)


def in_duckdb(schema: Schema, rows: list[dict[str, Any]], texts: list[str]) -> list[tuple[Any, ...]]:
    """What DuckDB makes of expressions, one tuple per row."""
    with duckdb.connect() as connection:
        connection.register("given", arrow_table(schema, rows))
        quoted = [DuckPrinter(schema).quote(f.name) for f in schema.fields]
        casts = [
            f"CAST({q} AS {duck_type(f.type)}) AS {q}" for q, f in zip(quoted, schema.fields, strict=True)
        ]
        connection.execute(f"CREATE TABLE t AS SELECT {', '.join(casts)} FROM given")
        return connection.execute("SELECT " + ", ".join(texts) + " FROM t").fetchall()


def in_postgres(
    connection: psycopg.Connection[Any], schema: Schema, rows: list[dict[str, Any]], texts: list[str]
) -> list[tuple[Any, ...]]:
    """What PostgreSQL makes of expressions over plain columns, one tuple per row."""
    printer = PostgresPrinter(schema)
    columns = ", ".join(f"{printer.quote(f.name)} {printer.type_name(f.type)}" for f in schema.fields)
    values_ = ", ".join(f"%s::{printer.type_name(f.type)}" for f in schema.fields)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS t; CREATE TEMP TABLE t (n int, {columns})")  # type: ignore[arg-type]
        for number, row in enumerate(rows):
            cursor.execute(
                f"INSERT INTO t VALUES ({number}, {values_})", [row[f.name] for f in schema.fields]
            )  # type: ignore[arg-type]
        cursor.execute(f"SELECT {', '.join(texts)} FROM t ORDER BY n")  # type: ignore[arg-type]
        return cursor.fetchall()


# -- pyiceberg ----------------------------------------------------------------------------------------------------------

PREDICATES = {
    "eq": EqualTo, "not-eq": NotEqualTo, "lt": LessThan, "lt-eq": LessThanOrEqual, "gt": GreaterThan,
    "gt-eq": GreaterThanOrEqual, "starts-with": StartsWith, "not-starts-with": NotStartsWith,
    "is-null": IsNull, "not-null": NotNull, "is-nan": IsNaN, "not-nan": NotNaN, "in": In, "not-in": NotIn,
}  # fmt: skip


def to_pyiceberg(data: Any, schema: Schema) -> BooleanExpression:
    """A pyiceberg expression from the JSON of the term form."""
    if isinstance(data, bool):
        return AlwaysTrue() if data else AlwaysFalse()
    if data["type"] in ("and", "or"):
        joined = And if data["type"] == "and" else Or
        return joined(to_pyiceberg(data["left"], schema), to_pyiceberg(data["right"], schema))
    make, term = PREDICATES[data["type"]], data["term"]
    located = schema.named(term)
    assert located is not None
    if "values" in data:
        return make(term, {_constant(located.field.type, v) for v in data["values"]})
    return make(term, _constant(located.field.type, data["value"])) if "value" in data else make(term)


def _constant(type_: Type, value: Any) -> Any:
    if type_ == BINARY or isinstance(type_, FixedType):
        return literal(bytes.fromhex(value))
    if isinstance(type_, DecimalType):
        return literal(values.from_text(type_, value))
    return literal(values.from_text(UUID, value)) if type_ == UUID else literal(value)


def py_schema(schema: Schema) -> PySchema:
    return PySchema.model_validate(schema.to_json())


def record(schema: Schema, row: dict[str, Any]) -> Record:
    return Record(*(_internal(f, row[f.name]) for f in schema.fields))


def _internal(field: Field, value: Any) -> Any:
    """A value as pyiceberg holds it: dates and times as numbers, structs as records; it cannot look into a NULL struct."""
    if isinstance(field.type, StructType):
        return Record(*(_internal(f, (value or {}).get(f.name)) for f in field.type.fields))
    if value is None:
        return None
    if field.type == DATE:
        return (value - dt.date(1970, 1, 1)).days
    if field.type in (TIMESTAMP, TIMESTAMPTZ):
        return values.micros(value)
    if field.type == TIME:
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    return value.bytes if field.type == UUID else value


# -- the newer JSON form --------------------------------------------------------------------------------------------------


def two_valued(data: Any, schema: Schema, row: dict[int, Any]) -> bool:
    """Whether an expression of the reference form holds, by the two-valued rules of Iceberg's expressions."""
    if isinstance(data, bool):
        return data
    kind = data["type"]
    if kind in ("and", "or"):
        left, right = two_valued(data["left"], schema, row), two_valued(data["right"], schema, row)
        return (left and right) if kind == "and" else (left or right)
    if "child" in data:
        value = _operand(data["child"], schema, row)
        if kind in ("in", "not-in"):
            type_ = _type(data["child"], schema)
            items = [_single(type_, v) for v in data["values"]["values"]]
            return (value in items) == (kind == "in")
        nan = isinstance(value, float) and value != value
        return {"is-null": value is None, "not-null": value is not None, "is-nan": nan, "not-nan": not nan}[
            kind
        ]
    left, right = _operand(data["left"], schema, row), _operand(data["right"], schema, row)
    if kind in ("starts-with", "not-starts-with"):
        return (left is not None and left.startswith(right)) == (kind == "starts-with")
    nans = [isinstance(v, float) and v != v for v in (left, right)]
    equal = all(nans) if any(nans) else left == right
    comparable = left is not None and right is not None and not any(nans)
    less, greater = comparable and left < right, comparable and left > right
    return bool(
        {
            "eq": equal,
            "not-eq": not equal,
            "lt": less,
            "gt": greater,
            "lt-eq": equal or less,
            "gt-eq": equal or greater,
        }[kind]
    )


def _type(reference: Any, schema: Schema) -> Type:
    located = schema.find(reference["id"])
    assert located is not None
    return located.field.type


def _operand(data: Any, schema: Schema, row: dict[int, Any]) -> Any:
    if data["type"] == "literal":
        return _single(parse_simple_type(data["data-type"]), data["value"])
    located = schema.find(data["id"])
    assert located is not None
    value: Any = row
    for field_id in located.ids:
        value = None if value is None else value[field_id]
    return value


def _single(type_: Type, value: Any) -> Any:
    return (
        values.from_text(type_, value.replace("T", " "))
        if isinstance(value, str) and type_ != STRING
        else value
    )
