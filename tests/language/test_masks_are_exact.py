"""Promise: every mask gives exactly the documented bytes, in Python and in Spark alike."""

import datetime as dt
import decimal
import hashlib
import hmac
import json
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.language.engines import arrow_type

from headgate.language.errors import ExpressionTypeError, LanguageError, LoweringError
from headgate.language.fold import Request
from headgate.language.masks.mask import (
    ICEBERG_ACTIONS,
    ColumnMask,
    bind_mask,
    check_together,
    fold_mask,
    parse_mask,
)
from headgate.language.masks.python import Secrets, apply
from headgate.language.masks.spark import SparkSecrets, hmac_pads, literal_secrets, lower_mask
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
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    ListType,
    MapType,
    Schema,
    Simple,
    StructType,
)  # fmt: skip

GOLDEN = Path(__file__).parent / "golden" / "masks.json"
SECRETS = Secrets({"customers": b"0123456789abcdef0123456789abcdef", "long": b"k" * 100}, b"saltsaltsaltsalt")
STRUCT = StructType(
    (
        Field(31, "a", INT, False),
        Field(32, "b.c", STRING, True),
        Field(33, "n", StructType((Field(34, "x", DATE),))),
    )
)
COLUMNS = {
    "boolean": BOOLEAN, "int": INT, "long": LONG, "float": FLOAT, "double": DOUBLE, "string": STRING, "date": DATE,
    "time": TIME, "timestamp": TIMESTAMP, "timestamptz": TIMESTAMPTZ, "timestamp_ns": TIMESTAMP_NS,
    "timestamptz_ns": TIMESTAMPTZ_NS, "uuid": UUID, "binary": BINARY, "fixed": FixedType(3), "decimal": DecimalType(9, 2),
    "struct": STRUCT, "list": ListType(Field(40, "element", LONG)),
    "map": MapType(Field(41, "key", STRING, True), Field(42, "value", INT)), "geometry": Simple("geometry"),
}  # fmt: skip
SCHEMA = Schema(tuple(Field(i + 1, name, t) for i, (name, t) in enumerate(COLUMNS.items())))
IN_SPARK = [n for n in COLUMNS if n not in ("time", "timestamp_ns", "timestamptz_ns", "geometry")]
UTC = dt.UTC
VALUES: dict[str, list[Any]] = {
    "boolean": [True], "int": [0, 1, -1, 2**31 - 1, -(2**31), 123456], "long": [0, -1, 42, 2**63 - 1, -(2**63)],
    "float": [1.5, float("nan"), -0.0, -7.25], "double": [0.1, float("-inf"), -1e300, -0.5],
    "string": ["ann.b7@x.io 1", "", "a", "1234", "12345", "é日𝒳7", "(0) 1,2.3-4@", "line\nbreak", "  sp  ", "𝒳𝒳𝒳𝒳𝒳"],
    "date": [dt.date(2024, 2, 29), dt.date(1969, 12, 31), dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "time": [dt.time(12, 30)],
    "timestamp": [dt.datetime(2024, 3, 31, 1, 30, 0, 5), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)],
    "timestamptz": [dt.datetime(2024, 1, 1, 0, 30, tzinfo=UTC), dt.datetime(1582, 10, 10, 5, tzinfo=UTC)],
    "timestamp_ns": [1_700_000_000_123_456_789, -1], "timestamptz_ns": [1_700_000_000_123_456_789, -1],
    "uuid": [uuid.UUID(int=7)], "binary": [b"", b"\0\xff", b"abc"], "fixed": [b"abc"],
    "decimal": [decimal.Decimal("12.34"), decimal.Decimal("-9999999.99"), decimal.Decimal("0.00")],
    "struct": [{31: 5, 32: "x", 33: {34: dt.date(2020, 1, 1)}}], "list": [[1, None]], "map": [{"k": 1}],
    "geometry": [b"\1"],
}  # fmt: skip
MASKS = [
    *(f"{name}({column})" for column in COLUMNS for name in ("mask_to_fixed_value", "replace_with_null")),
    *(f"{name}(string)" for name in ("mask_alphanum", "show_first_4", "show_last_4", "show_first_4_strict", "show_last_4_strict")),
    *(f"{name}({column})" for column in ("date", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns") for name in ("truncate_to_year", "truncate_to_month")),
    *(f"{name}({column})" for column in ("string", "int", "long", "binary") for name in ("sha256", "sha256_query_local")),
    *(f"token({column}, '{key}')" for column in ("string", "int", "long", "binary") for key in ("customers", "long")),
    "bucket(int, 10)", "bucket(long, 1000)", "bucket(decimal, 100)", "bucket(decimal, 0.50)", "bucket(float, 2)", "bucket(double, 2.5)",
    "date_range(date, 'week')", "date_range(timestamp, 'quarter')", "date_range(timestamptz, 'day')",
    "prefix(string, 3)", "constant('***')", "CASE WHEN length(string) > 4 THEN upper(string) ELSE 'short' END",
]  # fmt: skip


def mask_of(source: str) -> ColumnMask:
    column = next((n for n in COLUMNS if f"({n})" in source or f"({n}," in source), "string")
    return bind_mask(parse_mask(source), SCHEMA, SCHEMA.by_path[(column,)].field.id)


def shown(value: Any) -> Any:
    """A value as JSON that a person can check."""
    match value:
        case bytes() | bytearray():
            return "0x" + bytes(value).hex()
        case dict():
            return {str(k): shown(v) for k, v in value.items()}
        case list():
            return [shown(v) for v in value]
        case None | bool() | int() | str():
            return value
        case dt.datetime():
            return value.astimezone(UTC).isoformat(" ") if value.tzinfo else value.isoformat(" ")
        case float():
            return repr(value)
    return str(value)


def golden_text() -> str:
    entries = []
    for source in MASKS:
        mask = mask_of(source)
        column = SCHEMA.by_id[mask.column.field_id].field.name
        pairs = [[shown(v), shown(apply(mask, v, SECRETS))] for v in [*VALUES[column], None]]
        entries.append(json.dumps({"mask": source, "gives": pairs}, ensure_ascii=False))
    return "[\n" + ",\n".join(entries) + "\n]\n"


def test_the_python_reference_gives_the_golden_bytes() -> None:
    assert golden_text() == GOLDEN.read_text()


def test_the_golden_bytes_are_those_of_the_hash_functions_themselves() -> None:
    assert apply(mask_of("sha256(string)"), "abc") == hashlib.sha256(b"abc").hexdigest()
    assert apply(mask_of("sha256(int)"), 1) == int.from_bytes(
        hashlib.sha256(b"\1\0\0\0").digest()[:4], "little", signed=True
    )
    expected = hmac.new(SECRETS.keys["customers"], b"\xff" * 8, hashlib.sha256).digest()[:8]
    assert apply(mask_of("token(long, 'customers')"), -1, SECRETS) == int.from_bytes(
        expected, "little", signed=True
    )
    assert apply(mask_of("mask_alphanum(string)"), "ann.b7@x.io 1") == "xxx.xn@x.xxxn"
    assert apply(mask_of("show_last_4(string)"), "1234") == "1234"
    assert apply(mask_of("show_last_4_strict(string)"), "1234") == "nnnn"
    assert apply(mask_of("mask_to_fixed_value(string)"), None) == "XXXXXXXX"


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_spark_gives_the_golden_bytes(spark: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    golden = {entry["mask"]: entry["gives"] for entry in json.loads(GOLDEN.read_text())}
    fields = [SCHEMA.by_path[(column,)].field for column in IN_SPARK]
    height = max(len(v) for v in VALUES.values()) + 1
    columns = {}
    for field in fields:
        type_ = {"list": pa.list_(pa.int64()), "map": pa.map_(pa.string(), pa.int32())}.get(
            field.name
        ) or arrow_type(field.type)
        cells = [named(field, v) for v in VALUES[field.name]]
        columns[field.name] = pa.array([*cells, *[None] * (height - len(cells))], type_)
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet")).coalesce(1)
    masks = {s: m for s in MASKS if (m := mask_of(s)).column.field_id in {f.id for f in fields}}
    texts = [lower_mask(m, SCHEMA, literal_secrets(SECRETS)) for m in masks.values()]
    masked = frame.selectExpr(*(f"{t} AS m{i}" for i, t in enumerate(texts)))
    table, types = masked.toArrow(), dict(frame.dtypes)
    for i, (source, mask) in enumerate(masks.items()):
        field = SCHEMA.by_id[mask.column.field_id].field
        assert masked.dtypes[i][1] == types[field.name]
        found = [
            shown(numbered(field, v)) for v in table.column(i).to_pylist()[: len(VALUES[field.name]) + 1]
        ]
        assert found == [pair[1] for pair in golden[source]], texts[i]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_secrets_handed_over_as_columns_are_in_no_plan(spark: Any) -> None:
    inner, outer = hmac_pads(SECRETS.keys["customers"])
    mask = mask_of("token(string, 'customers')")
    text = lower_mask(mask, SCHEMA, SparkSecrets({"customers": ("pads.inner", "pads.outer")}))
    pads = spark.createDataFrame([(bytearray(inner), bytearray(outer))], "inner binary, outer binary").alias(
        "pads"
    )
    people = spark.sql("SELECT 'ann' AS string")
    masked = people.crossJoin(pads).selectExpr(f"{text} AS token")
    assert masked.collect()[0].token == apply(mask, "ann", SECRETS)
    plan = masked._jdf.queryExecution().toString()
    assert "pads.inner" in plan or "inner#" in plan
    for secret in (inner, outer, SECRETS.keys["customers"]):
        assert secret.hex() not in plan.lower()


def named(field: Field, value: Any) -> Any:
    """A reference value as Arrow takes it."""
    if isinstance(field.type, StructType) and value is not None:
        return {f.name: named(f, value[f.id]) for f in field.type.fields}
    if isinstance(field.type, MapType) and value is not None:
        return list(value.items())
    return str(value) if field.type == UUID and value is not None else value


def numbered(field: Field, value: Any) -> Any:
    """What Arrow gives as a reference value."""
    if isinstance(field.type, StructType) and value is not None:
        return {f.id: numbered(f, value[f.name]) for f in field.type.fields}
    return dict(value) if isinstance(field.type, MapType) and value is not None else value


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ("show_last_4(int)", "int", "is for string, not int"),
        ("truncate_to_year(string)", "string", "is for date"),
        ("sha256(fixed)", "fixed", "is for string, int, long, binary"),
        ("sha256(double)", "double", "is for string, int, long, binary"),
        ("show_last_4(string)", "int", "takes the masked column first"),
        ("show_last_4()", "string", "takes the masked column first"),
        ("bucket(string, 10)", "string", "is for numbers"),
        ("bucket(int, 0)", "int", "does not take 0"),
        ("bucket(int, 1.5)", "int", "does not become"),
        ("prefix(string, 0)", "string", "does not take 0"),
        ("date_range(date, 'century')", "date", "does not take 'century'"),
        ("token(string, '')", "string", "does not take ''"),
        ("length(string)", "string", "gives int, the column is string"),
        ("string || date", "string", "takes string"),
        ("uuid", "string", "sees only its own column"),
        ("lower(sha256(string))", "string", "a mask stands alone"),
        ("k_anonymous(int, 1)", "int", "does not take 1"),
        ("noisy(string, 1)", "string", "is for numbers"),
        ("'x'", "int", "does not become"),
        ("'x'", "list", "takes no expression"),
    ],
)
def test_a_mask_that_does_not_fit_its_column_is_refused_when_written(
    source: str, column: str, message: str
) -> None:
    with pytest.raises(LanguageError) as refused:
        bind_mask(parse_mask(source), SCHEMA, SCHEMA.by_path[(column,)].field.id)
    assert message in str(refused.value)
    assert refused.value.at.line == 1
    assert refused.value.fix


def test_required_columns_never_become_null() -> None:
    schema = Schema((Field(1, "a", STRING, True), Field(2, "v", VARIANT)))
    for source in ("replace_with_null(a)", "nullif(a, 'x')", "NULL"):
        with pytest.raises(ExpressionTypeError, match="required"):
            bind_mask(parse_mask(source), schema, 1)
    assert apply(bind_mask(parse_mask("coalesce(nullif(a, 'x'), '-')"), schema, 1), "x") == "-"
    with pytest.raises(ExpressionTypeError, match="no fixed value"):
        bind_mask(parse_mask("mask_to_fixed_value(v)"), schema, 2)


def test_map_keys_list_elements_and_masked_structs_are_left_alone() -> None:
    for field_id, message in (
        (41, "key of a map"),
        (42, "inside a list or map"),
        (40, "inside a list or map"),
    ):
        with pytest.raises(ExpressionTypeError, match=message):
            bind_mask(parse_mask("constant('x')"), SCHEMA, field_id)
    whole = mask_of("mask_to_fixed_value(struct)")
    inner = bind_mask(parse_mask("constant('-')"), SCHEMA, 32)
    with pytest.raises(ExpressionTypeError, match="lies inside field"):
        check_together([whole, inner])
    with pytest.raises(ExpressionTypeError, match="masked twice"):
        check_together([inner, inner])
    check_together([inner, mask_of("sha256(string)")])


def test_masks_that_need_other_rows_are_recognised_and_not_applied() -> None:
    for source in ("k_anonymous(int, 5)", "noisy(double, 0.5)"):
        mask = mask_of(source)
        assert mask.needs_other_rows
        assert mask.iceberg_action is None
        with pytest.raises(ValueError, match="other rows"):
            apply(mask, 1)
        with pytest.raises(LoweringError, match="other rows"):
            lower_mask(mask, SCHEMA)


def test_the_nine_actions_have_their_iceberg_names() -> None:
    assert len(ICEBERG_ACTIONS) == 9
    assert mask_of("sha256(string)").iceberg_action == "sha-256-global"
    assert mask_of("show_first_4_strict(string)").iceberg_action is None


def test_secrets_are_needed_checked_and_never_shown() -> None:
    with pytest.raises(KeyError, match="customers"):
        apply(mask_of("token(string, 'customers')"), "a", Secrets({"customers": b"short"}))
    with pytest.raises(ValueError, match="16 random bytes"):
        apply(mask_of("sha256_query_local(string)"), "a", Secrets({}, b"short"))
    for source in ("token(string, 'customers')", "sha256_query_local(string)"):
        with pytest.raises(LoweringError):
            lower_mask(mask_of(source), SCHEMA)
    assert "0123" not in repr(SECRETS)
    assert "salt" not in repr(SECRETS)
    assert "X'" not in repr(literal_secrets(SECRETS))
    passed = lower_mask(
        mask_of("token(string, 'customers')"), SCHEMA, SparkSecrets({"customers": ("k.inner", "k.outer")})
    )
    assert "k.inner" in passed
    assert SECRETS.keys["customers"].hex() not in passed


def test_a_mask_may_ask_about_the_request_and_equal_masks_have_equal_text() -> None:
    mask = mask_of("CASE WHEN is_member('privacy') THEN string ELSE '***' END")
    plain, used = fold_mask(mask, Request("ann", frozenset({"privacy"})))
    hidden, _ = fold_mask(mask, Request("bob"))
    assert (apply(plain, "x"), apply(hidden, "x")) == ("x", "***")
    assert [fact.key for fact, _ in used.facts] == ["privacy"]
    assert hidden.text == mask_of("constant('***')").text
