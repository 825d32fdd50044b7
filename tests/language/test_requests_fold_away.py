"""Promise: everything about the request is gone after folding, and what is missing denies."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.language.ast import FALSE, TRUE, Expr, facts
from headgate.language.bind import bind
from headgate.language.canonical import canonical, text
from headgate.language.fold import Folded, Request, fold
from headgate.language.parse import parse
from headgate.model.schema import DATE, INT, STRING, Field, Schema

SCHEMA = Schema((Field(1, "region", STRING), Field(2, "level", INT), Field(3, "day", DATE)))
ANN = Request(
    "ann",
    frozenset({"sales"}),
    {"region": "EU", "level": "3", "regions": ("US", "EU"), "none": (), "odd": "x"},
    purpose="audit",
    address="10.1.2.3",
    hour=9,
    engine="spark",
    date=dt.date(2025, 3, 10),
)


def folded(source: str, request: Request = ANN, tags: dict[str, str] | None = None) -> Folded:
    return fold(bind(parse(source), SCHEMA), request, tags)


@pytest.mark.parametrize(
    ("source", "same_as"),
    [
        ("region = principal.region", "region = 'EU'"),
        ("region IN (principal.regions)", "region IN ('EU', 'US')"),
        ("region IN ('ASIA', principal.regions)", "region IN ('ASIA', 'EU', 'US')"),
        ("region IN (principal.none)", "FALSE"),
        ("level <= CAST(principal.level AS INT)", "level <= 3"),
        ("region = principal.region OR is_member('sales')", "TRUE"),
        ("region = principal.region AND is_member('hr')", "FALSE"),
        ("region = session_user()", "region = 'ann'"),
        ("context.purpose = 'audit' AND level > 1", "level > 1"),
        ("context.hour BETWEEN 8 AND 18 AND region = 'EU'", "region = 'EU'"),
        ("context.engine LIKE 'sp%'", "TRUE"),
        ("in_network(context.address, '10.0.0.0/8')", "TRUE"),
        ("in_network(context.address, '192.168.0.0/16')", "FALSE"),
        ("day >= current_date - INTERVAL 30 DAY", "day >= DATE '2025-02-08'"),
        ("day >= current_date - INTERVAL '2' WEEK", "day >= DATE '2025-02-24'"),
        ("CASE WHEN is_member('hr') THEN TRUE WHEN is_member('sales') THEN region = 'EU' ELSE FALSE END", "region = 'EU'"),
        ("region = coalesce(principal.missing, 'none')", "region = 'none'"),
        ("principal.missing IS NULL", "TRUE"),
        ("principal.region IS NOT NULL", "TRUE"),
    ],
)  # fmt: skip
def test_what_remains_speaks_of_columns_only(source: str, same_as: str) -> None:
    out = folded(source)
    assert not out.denied
    assert not facts(out.expr)
    assert text(canonical(out.expr)) == text(canonical(bind(parse(same_as), SCHEMA)))


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("region = principal.missing", "principal.missing is not known"),
        ("NOT (region = principal.missing)", "principal.missing is not known"),
        ("region = principal.missing OR level > 1", "principal.missing is not known"),
        ("region <> principal.missing AND level > 1", "principal.missing is not known"),
        ("region = 'x' || principal.missing", "principal.missing is not known"),
        ("coalesce(region, 'x' || principal.missing) = 'x'", "principal.missing is not known"),
        ("region = principal.regions", "has 2 values"),
        ("level < CAST(principal.odd AS INT)", "whole numbers"),
        ("CASE WHEN principal.missing = 'a' THEN TRUE ELSE TRUE END", "principal.missing is not known"),
    ],
)
def test_a_missing_fact_denies_and_never_becomes_null(source: str, problem: str) -> None:
    out = folded(source)
    assert out.denied
    assert problem in out.problems[0]
    assert out.expr == FALSE


@pytest.mark.parametrize("name", ["purpose", "address", "hour", "engine", "date"])
def test_every_part_of_the_context_may_be_missing_and_then_denies(name: str) -> None:
    source = {"date": "day < current_date", "hour": "context.hour > 1"}.get(name, f"context.{name} = 'x'")
    assert not folded(source).denied
    assert folded(source, replace(ANN, **{name: None})).denied


def test_a_missing_fact_that_cannot_matter_does_not_deny() -> None:
    assert folded("region = principal.missing OR is_member('sales')").expr == TRUE
    assert folded("is_member('hr') AND region = principal.missing").expr == FALSE
    assert not folded("CASE WHEN is_member('sales') THEN TRUE ELSE region = principal.missing END").denied


def test_tags_are_those_of_the_object_at_hand() -> None:
    for source, tags, expected in (
        ("has_tag('pii')", {"pii": "email"}, TRUE),
        ("has_tag('pii', 'email')", {"pii": "email"}, TRUE),
        ("has_tag('pii', 'phone')", {"pii": "email"}, FALSE),
        ("has_tag('pii')", {}, FALSE),
    ):
        assert folded(source, tags=tags).expr == expected


def test_the_facts_used_are_recorded_with_their_answers() -> None:
    used = folded("region = principal.region OR is_member('hr') OR principal.missing IS NULL").facts
    assert [(f.kind, f.key, answer) for f, answer in used] == [
        ("attribute", "missing", None),
        ("attribute", "region", "EU"),
        ("member", "hr", False),
    ]


CONDITIONS = [
    "region = principal.region", "is_member('hr')", "is_member('sales')", "context.purpose = 'audit'", "level > 2",
    "region IN (principal.regions)", "coalesce(principal.region, 'US') = region", "context.hour < 12", "has_tag('pii')",
]  # fmt: skip
REQUESTS = st.builds(
    Request,
    st.sampled_from(["ann", "bob"]),
    st.frozensets(st.sampled_from(["hr", "sales", "unused"])),
    st.dictionaries(
        st.sampled_from(["region", "regions", "unused"]), st.sampled_from(["EU", "US", ("EU", "US")])
    ),
    st.sampled_from([None, "audit", "ads"]),
    hour=st.sampled_from([None, 3, 15]),
)


@given(
    st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=4),
    st.sampled_from([" AND ", " OR "]),
    REQUESTS,
    REQUESTS,
)
def test_equal_facts_give_equal_results(parts: list[str], joined: str, one: Request, two: Request) -> None:
    expr: Expr = bind(parse(joined.join(parts)), SCHEMA)
    first, second = fold(expr, one), fold(expr, two)
    answered: Any = {f for f, _ in first.facts}
    assert answered == facts(expr)
    if first.facts == second.facts:
        assert first.expr == second.expr
        assert first.denied == second.denied
