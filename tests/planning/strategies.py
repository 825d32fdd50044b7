"""Random tables and filters, with their rows known and an oracle for each filter."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from pyiceberg import expressions as ex
from pyiceberg.expressions.literals import literal
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import parse_transform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from tests.planning.forge import (
    ADDED,
    DATA,
    DELETED,
    EXISTING,
    PATH_COLUMN,
    POSITION_DELETES,
    ForgedFile,
    ForgedManifest,
    ForgedSnapshot,
    Row,
)

SMALL = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
DAY_MICROS = 86_400_000_000
DOMAINS: dict[int, tuple[str, IcebergType, list[Any]]] = {
    1: ("a", IntegerType(), [-11, -1, 0, 1, 5, 10, 99]),
    2: ("b", LongType(), [-(2**40), -10, 0, 3, 10, 2**40]),
    3: ("s", StringType(), ["", "a", "ab", "abc", "abd", "b", "zoë", "\U0010ffff"]),
    4: ("f", FloatType(), [-1.5, 0.0, 0.25, 2.0, float("nan")]),
    5: ("d", DoubleType(), [-1e9, -0.5, 0.0, 0.1, 7.5, float("nan")]),
    6: ("day", DateType(), [-400, -1, 0, 1, 30, 365, 19_000]),
    7: ("ts", TimestampType(), [-1, 0, 3_600_000_000, DAY_MICROS, 365 * DAY_MICROS + 5, -40 * DAY_MICROS]),
    8: ("tz", TimestamptzType(), [-DAY_MICROS, 0, 59, 31 * DAY_MICROS]),
    9: ("dec", DecimalType(9, 2), [Decimal("-10.05"), Decimal("0.00"), Decimal("0.07"), Decimal("12.34")]),
    10: ("flag", BooleanType(), [False, True]),
    11: ("u", UUIDType(), [UUID(int=0).bytes, UUID(int=2**127 + 5).bytes]),
    12: ("bin", BinaryType(), [b"", b"\x00", b"\xff\xff", b"ab"]),
}
TRANSFORMS: dict[int, list[str]] = {
    1: ["identity", "bucket[3]", "truncate[10]", "void"],
    2: ["identity", "bucket[4]", "truncate[7]"],
    3: ["identity", "bucket[5]", "truncate[2]"],
    6: ["identity", "year", "month", "day", "bucket[2]"],
    7: ["year", "month", "day", "hour"],
    8: ["day", "hour", "identity"],
    9: ["identity", "truncate[50]", "bucket[3]"],
    10: ["identity"],
}
NUMERIC = (1, 2, 4, 5, 6, 7, 8, 9)
OPERATIONS = {
    "eq": ex.EqualTo,
    "not-eq": ex.NotEqualTo,
    "lt": ex.LessThan,
    "lt-eq": ex.LessThanOrEqual,
    "gt": ex.GreaterThan,
    "gt-eq": ex.GreaterThanOrEqual,
}
UNARY = {"is-null": ex.IsNull, "not-null": ex.NotNull, "is-nan": ex.IsNaN, "not-nan": ex.NotNaN}


@dataclass(frozen=True)
class RandomTable:
    """What to forge, and the files that hold which rows."""

    version: int
    schemas: tuple[Schema, ...]
    specs: tuple[PartitionSpec, ...]
    snapshot: ForgedSnapshot
    files: tuple[ForgedFile, ...]

    @property
    def schema(self) -> Schema:
        return self.schemas[-1]


@dataclass(frozen=True)
class RandomFilter:
    """A filter on the wire and as pyiceberg has it, and the columns that it names."""

    json: Any
    expression: ex.BooleanExpression
    columns: frozenset[int]


def first_schema() -> Schema:
    """Before evolution: column 1 is an int, column 12 does not exist yet, column 3 has another name."""
    fields = [NestedField(i, name, kind, required=False) for i, (name, kind, _) in DOMAINS.items() if i != 12]
    renamed = [
        f if f.field_id != 3 else NestedField(3, "old_s", StringType(), required=False) for f in fields
    ]
    return Schema(*renamed, schema_id=0)


def last_schema() -> Schema:
    fields = [NestedField(i, name, kind, required=False) for i, (name, kind, _) in DOMAINS.items()]
    promoted = [f if f.field_id != 1 else NestedField(1, "a", LongType(), required=False) for f in fields]
    return Schema(*promoted, schema_id=1)


@st.composite
def specs(draw: st.DrawFn, spec_id: int, first_field_id: int) -> PartitionSpec:
    sources = draw(st.lists(st.sampled_from(sorted(TRANSFORMS)), max_size=2, unique=True))
    fields = [
        PartitionField(
            source_id=source,
            field_id=first_field_id + place,
            transform=parse_transform(draw(st.sampled_from(TRANSFORMS[source]))),
            name=f"p{first_field_id + place}",
        )
        for place, source in enumerate(sources)
    ]
    return PartitionSpec(*fields, spec_id=spec_id)


@st.composite
def rows(draw: st.DrawFn, evolved: bool) -> Row:
    row: Row = {}
    for field_id, (_, _, domain) in DOMAINS.items():
        if field_id == 12 and not evolved:
            continue
        row[field_id] = draw(st.one_of(st.none(), st.sampled_from(domain), st.sampled_from(domain)))
    return row


def partition_of(row: Row, spec: PartitionSpec, schema: Schema) -> tuple[Any, ...]:
    values = []
    for part in spec.fields:
        source = schema.find_field(part.source_id).field_type
        values.append(part.transform.transform(source)(row.get(part.source_id)))
    return tuple(values)


@st.composite
def tables(draw: st.DrawFn, versions: tuple[int, ...] = (1, 2, 3), deletes: bool = True) -> RandomTable:
    version = draw(st.sampled_from(versions))
    before, after = first_schema(), last_schema()
    spec_list = (draw(specs(0, 1000)), draw(specs(1, 1010)))
    manifests: list[ForgedManifest] = []
    files: list[ForgedFile] = []
    for number in range(draw(st.integers(1, 3))):
        spec = draw(st.sampled_from(spec_list))
        evolved = draw(st.booleans())
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in draw(st.lists(rows(evolved), min_size=1, max_size=6)):
            groups.setdefault(partition_of(row, spec, after), []).append(row)
        here = []
        for place, (partition, members) in enumerate(groups.items()):
            file = ForgedFile(
                path=f"s3://lake/t/{number}-{place}.parquet",
                rows=tuple(members),
                partition=partition,
                spec_id=spec.spec_id,
                metrics=draw(st.sampled_from(["full", "full", "truncated", "counts", "none"])),
                status=draw(st.sampled_from([ADDED, EXISTING, ADDED, EXISTING, DELETED])),
                sequence=draw(st.integers(1, 4)) if version > 1 else None,
                snapshot=1,
            )
            here.append(file)
        manifests.append(
            ForgedManifest(
                tuple(here),
                spec_id=spec.spec_id,
                sequence=5 if version > 1 else 0,
                summaries=draw(st.booleans()),
                codec=draw(st.sampled_from(["deflate", "null", "deflate"])),
                first_row_id=100 * number if version == 3 else None,
            )
        )
        files += here
    if deletes and version > 1 and draw(st.booleans()):
        target = draw(st.sampled_from(files))
        whole = draw(st.booleans())
        bounds = {} if whole else {PATH_COLUMN: target.path.encode()}
        delete = ForgedFile(
            path="s3://lake/t/deletes.parquet",
            partition=target.partition,
            spec_id=target.spec_id,
            content=POSITION_DELETES,
            sequence=draw(st.integers(1, 5)),
            records=1,
            raw_metrics={"value_counts": {PATH_COLUMN: 1}, "lower_bounds": bounds, "upper_bounds": bounds},
        )
        manifests.append(ForgedManifest((delete,), spec_id=target.spec_id, content=1, sequence=5))
    live = tuple(file for file in files if file.status != DELETED)
    assert all(file.content == DATA for file in live)
    return RandomTable(version, (before, after), spec_list, ForgedSnapshot(tuple(manifests)), live)


def _iso(field_id: int, value: int) -> str:
    if field_id == 6:
        return str(np.datetime64(value, "D"))
    return str(np.datetime64(value, "us")) + ("+00:00" if field_id == 8 else "")


def _on_wire(draw: st.DrawFn, field_id: int, value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if field_id == 11:
        return str(UUID(bytes=value))
    if field_id == 12:
        return value.hex()
    if field_id in (6, 7, 8) and draw(st.booleans()):
        return _iso(field_id, value)
    return value


def _for_oracle(field_id: int, value: Any) -> Any:
    if field_id == 11:
        return literal(UUID(bytes=value))
    kind = LongType() if field_id == 1 else DOMAINS[field_id][1]
    return literal(value).to(kind)


def _spelled(draw: st.DrawFn, kind: str, field_id: int, value: Any) -> dict[str, Any]:
    name = DOMAINS[field_id][0]
    if draw(st.booleans()):
        return {"type": kind, "term": name} | ({} if value is None else {value[0]: value[1]})
    reference = {"type": "reference", "id": field_id} if draw(st.booleans()) else name
    if value is None:
        return {"type": kind, "child": reference}
    return {"type": kind, "left": reference, "right": {"type": "literal", "value": value[1]}}


@st.composite
def predicates(draw: st.DrawFn) -> RandomFilter:
    field_id = draw(st.sampled_from(sorted(DOMAINS)))
    name, _, domain = DOMAINS[field_id]
    values = [value for value in domain if value == value]
    choices = ["unary", "compare", "compare", "set"]
    if field_id == 3:
        choices += ["prefix", "prefix"]
    shape = draw(st.sampled_from(choices))
    columns = frozenset({field_id})
    if shape == "unary":
        kinds = sorted(UNARY) if field_id in (4, 5) else ["is-null", "not-null"]
        kind = draw(st.sampled_from(kinds))
        return RandomFilter(_spelled(draw, kind, field_id, None), UNARY[kind](name), columns)
    if shape == "set":
        kind = draw(st.sampled_from(["in", "not-in"]))
        chosen = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True))
        wire = [_on_wire(draw, field_id, value) for value in chosen]
        make = ex.In if kind == "in" else ex.NotIn
        oracle = make(name, {_for_oracle(field_id, value) for value in chosen})
        return RandomFilter(_spelled(draw, kind, field_id, ("values", wire)), oracle, columns)
    value = draw(st.sampled_from(values))
    if shape == "prefix":
        kind = draw(st.sampled_from(["starts-with", "not-starts-with"]))
        value = value[: draw(st.integers(1, 3))] or "a"
        make_prefix = ex.StartsWith if kind == "starts-with" else ex.NotStartsWith
        return RandomFilter(
            _spelled(draw, kind, field_id, ("value", value)), make_prefix(name, value), columns
        )
    kind = draw(
        st.sampled_from(sorted(OPERATIONS) if field_id in NUMERIC or field_id == 3 else ["eq", "not-eq"])
    )
    wire_value = _on_wire(draw, field_id, value)
    oracle = OPERATIONS[kind](name, _for_oracle(field_id, value))
    return RandomFilter(_spelled(draw, kind, field_id, ("value", wire_value)), oracle, columns)


def _combine(children: st.SearchStrategy[RandomFilter]) -> st.SearchStrategy[RandomFilter]:
    def both(pair: tuple[RandomFilter, RandomFilter, bool]) -> RandomFilter:
        left, right, conjunction = pair
        node = {"type": "and" if conjunction else "or", "left": left.json, "right": right.json}
        make = ex.And if conjunction else ex.Or
        return RandomFilter(node, make(left.expression, right.expression), left.columns | right.columns)

    def negation(child: RandomFilter) -> RandomFilter:
        return RandomFilter({"type": "not", "child": child.json}, ex.Not(child.expression), child.columns)

    return st.one_of(st.tuples(children, children, st.booleans()).map(both), children.map(negation))


filters: st.SearchStrategy[RandomFilter] = st.recursive(predicates(), _combine, max_leaves=4)
