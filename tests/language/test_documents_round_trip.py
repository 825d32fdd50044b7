"""Promise: policy documents are read strictly, and what is exported reads back to the byte."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.language.errors import LanguageError, Position
from headgate.language.fold import Request, fold
from headgate.language.policies.documents import MAX_BYTES, load, load_all
from headgate.language.policies.export import dump
from headgate.language.policies.policy import Policy
from headgate.model.schema import STRING, Field, Schema, StructType

EXAMPLE = """\
policy: sales-by-region
on: lake.sales                        # a catalog of the lake
to: [group:analysts]
except: [group:privacy-office]
when: has_tag('scope', 'regional')    # about the table
columns: {region: has_tag('geo')}
rows: region = principal.region OR is_member('global-sales')
---
policy: mask-email
on: lake
to: everyone
except: ["group:privacy office"]
columns:
  email: has_tag('pii', 'email')
mask:
  email: show_last_4(email)
priority: 10
from: 2025-01-01
until: 2025-06-30T12:00:00Z
purpose: [support, billing]
enabled: false
comment: "agreed with: legal"
"""
HEAD = "policy: p\non: lake\nto: [everyone]\n"


def test_the_example_reads_as_it_looks() -> None:
    rows, mask = load(EXAMPLE, "a.yaml")
    assert (rows.effect, rows.on, rows.rows) == (
        "rows", ("lake", "sales"), "region = principal.region OR is_member('global-sales')",
    )  # fmt: skip
    assert (mask.except_, mask.priority, mask.purpose, mask.enabled) == (
        ("group:privacy office",), 10, ("support", "billing"), False,
    )  # fmt: skip
    assert mask.from_ == dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    assert mask.until == dt.datetime(2025, 6, 30, 12, tzinfo=dt.UTC)
    assert mask.at == Position(9, 1)


def test_a_policy_is_in_force_from_its_first_moment_until_just_before_its_last() -> None:
    policy = load(HEAD + "deny: true\nfrom: 2025-01-01\nuntil: 2025-02-01")[0]
    for moment, expected in (
        (dt.datetime(2024, 12, 31, 23, 59, tzinfo=dt.UTC), False), (dt.datetime(2025, 1, 1, tzinfo=dt.UTC), True),
        (dt.datetime(2025, 2, 1, tzinfo=dt.UTC), False),
    ):  # fmt: skip
        assert policy.in_force(moment) is expected


def test_policies_bind_to_a_table_by_alias_and_by_path() -> None:
    schema = Schema((Field(1, "mail", STRING), Field(2, "home", StructType((Field(3, "zip.code", STRING),)))))
    policy = load(
        HEAD
        + "columns: {email: has_tag('pii')}\nmask:\n  email: sha256(email)\n  'home.\"zip.code\"': prefix(home.\"zip.code\", 3)"
    )[0]
    condition = dict(policy.column_exprs())["email"]
    assert fold(condition, Request("ann"), {"pii": "email"}).expr.value is True  # type: ignore[union-attr]
    masks = policy.bind_masks(schema, {"email": 1})
    assert [m.text for m in masks] == ["#1 := sha256()", "#3 := prefix(3)"]
    hidden = load(HEAD + "hide: [mail, home]")[0]
    assert hidden.bind_hidden(schema, {}) == (1, 2)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (HEAD + "deny: true\nx: &a 1", (5, 4), "anchors"),
        (HEAD + "deny: *a", (4, 7), "anchors"),
        (HEAD + "deny: !!python/object/apply:os.system [ls]", (4, 7), "tags"),
        (HEAD + "rows: a = 1\nrows: b = 1", (5, 1), "occurs twice"),
        (HEAD + "columns: {a: has_tag('x'), a: has_tag('y')}\ndeny: true", (4, 28), "occurs twice"),
        (HEAD + "row: a = 1", (4, 1), "unknown field"),
        (HEAD, (1, 1), "exactly one thing"),
        (HEAD + "deny: true\nhide: [a]", (1, 1), "exactly one thing"),
        ("policy: p\nto: [everyone]\ndeny: true", (1, 1), "'on' is missing"),
        ("policy: p\non: lake\ndeny: true", (1, 1), "'to' is missing"),
        ("policy: p\non: lake\nto: []\ndeny: true", (3, 5), "list of texts"),
        ("policy: p\non: lake\nto: [ann]\ndeny: true", (3, 5), "no principal"),
        ("policy: p\non: lake\nto: [user:a, user:a]\ndeny: true", (3, 14), "occurs twice"),
        ("policy: p q\non: lake\nto: [everyone]\ndeny: true", (1, 9), "not a name"),
        ("policy: p\non: a.b.c.d.e\nto: [everyone]\ndeny: true", (2, 5), "names no object"),
        ("policy: p\non: a..b\nto: [everyone]\ndeny: true", (2, 5), "names no object"),
        (HEAD + "deny: false", (4, 7), "does nothing"),
        (HEAD + "deny: yes", (4, 7), "neither true nor false"),
        (HEAD + "deny: true\npriority: high", (5, 11), "not a priority"),
        (HEAD + "deny: true\nfrom: tomorrow", (5, 7), "no moment"),
        (HEAD + "deny: true\nfrom: 2025-02-01\nuntil: 2025-01-01", (6, 8), "ends before"),
        (HEAD + "when: region = 'x'\ndeny: true", (4, 7), "no column region"),
        (HEAD + "columns: {principal: has_tag('x')}\ndeny: true", (4, 11), "cannot be an alias"),
        (HEAD + "rows: a = rand()", (4, 11), "changes from call"),
        (HEAD + 'rows: "a = rand()"', (4, 12), "changes from call"),
        (HEAD + "rows: |\n  a = 1\n  AND b = rand()", (6, 11), "changes from call"),
        (HEAD + "mask: {a: sha1(a)}", (4, 11), "unknown function"),
        (HEAD + "mask: {1 + 1: sha256(a)}", (4, 8), "names no column"),
        (HEAD + "mask: {}", (4, 7), "names no column"),
        (HEAD + "deny: true\naccept: {}", (5, 9), "names no finding"),
        (HEAD + "deny: true\naccept: [shadowed]", (5, 9), "is a mapping"),
        (HEAD + "deny: true\naccept: {shadowed: ''}", (5, 20), "a reason is a text"),
        (HEAD + "rows: [a, b]", (4, 7), "is a text"),
        (HEAD + "hide: [[[[[a]]]]]", (4, 10), "too deep"),
        ("just text", (1, 1), "is a mapping"),
        (HEAD + "rows: 'a", (4, 9), "not YAML"),
        (HEAD + "mask: {a: token(a, 'k')}", (4, 23), "not YAML"),
        ("policy: p\n  on: x", (2, 5), "not YAML"),
    ],
)
def test_malformed_documents_are_refused_with_file_line_and_column(
    text: str, place: tuple[int, int], message: str
) -> None:
    with pytest.raises(LanguageError) as refused:
        load(text, "policies/p.yaml")
    assert message in refused.value.message
    assert (refused.value.at, refused.value.file) == (Position(*place), "policies/p.yaml")
    assert str(refused.value).startswith(f"policies/p.yaml:{place[0]}:{place[1]}: ")
    assert refused.value.fix


def test_names_are_unique_across_files_and_sizes_are_limited() -> None:
    with pytest.raises(LanguageError, match="is taken"):
        load_all([("a.yaml", HEAD + "deny: true"), ("b.yaml", HEAD + "hide: [a]")])
    with pytest.raises(LanguageError, match="larger than"):
        load("#" * (MAX_BYTES + 1))
    assert load("") == load("---\n---\n") == ()


NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x7f\ufeff"), min_size=1, max_size=40
)
VISIBLE = TEXTS.map(str.strip).filter(bool)
PRINCIPALS = st.one_of(st.just("everyone"), NAMES.map("group:{}".format), st.sampled_from(["user:ann b", "user:a,b", "role:ü", "user:a: b", "user:#x", "service:[x]"]))  # fmt: skip
CONDITIONS = st.sampled_from(["has_tag('pii')", "has_tag('a: b', '# c')", "is_member('x') OR\n  has_tag('y')", "TRUE", "(TRUE)", "context.hour > 5"])  # fmt: skip
ROWS = st.sampled_from(["a = 1", "'x' = b", "a = 'it''s: # \"x\"'", "a = 1\nAND b = 2", "a = 1\n\n  AND b", "\"a.b\" = 'é\u2028'", "-1 < a", "TRUE"])  # fmt: skip
MASKS = st.sampled_from(
    ["sha256(a)", "'***'", "CASE WHEN a = 'x' THEN 'y'\nELSE a END", "NULL", "123", "'a: b #c'"]
)
MOMENTS = st.sampled_from(
    [None, dt.datetime(2025, 1, 1, tzinfo=dt.UTC), dt.datetime(2025, 1, 1, 3, 4, 5, 6, tzinfo=dt.UTC)]
)


@st.composite
def policies(draw: st.DrawFn, name: str) -> Policy:
    effect = draw(st.sampled_from(["rows", "mask", "hide", "deny"]))
    unique = st.lists(PRINCIPALS, min_size=1, max_size=3, unique=True).map(tuple)
    columns = st.sampled_from(["a", "b.c", '"weird: name"', '"#x"', "on", "null"])
    return Policy(
        name=name,
        on=draw(st.lists(st.one_of(NAMES, st.sampled_from(["a b", 'q"q', "ü", "x.y"])), min_size=1, max_size=4).map(tuple)),
        to=draw(unique),
        effect=effect,
        except_=draw(st.one_of(st.just(()), unique)),
        when=draw(st.one_of(st.none(), CONDITIONS)),
        columns=tuple(draw(st.dictionaries(st.sampled_from(["a", "b", "on", "Yes"]), CONDITIONS)).items()),
        rows=draw(ROWS) if effect == "rows" else None,
        mask=tuple(draw(st.dictionaries(columns.filter(lambda c: c != "null"), MASKS, min_size=1)).items()) if effect == "mask" else (),
        hide=draw(st.lists(columns.filter(lambda c: c != "null"), min_size=1, unique=True).map(tuple)) if effect == "hide" else (),
        priority=draw(st.integers(-999_999, 999_999)),
        from_=draw(MOMENTS),
        until=draw(st.sampled_from([None, dt.datetime(2026, 1, 1, tzinfo=dt.UTC)])),
        purpose=draw(st.lists(VISIBLE, max_size=3, unique=True).map(tuple)),
        accept=tuple(draw(st.dictionaries(st.sampled_from(["to-nobody", "shadowed", "on", "a b"]), VISIBLE, max_size=2)).items()),
        enabled=draw(st.booleans()),
        comment=draw(st.one_of(st.none(), VISIBLE)),
    )  # fmt: skip


@given(
    st.lists(NAMES, min_size=1, max_size=4, unique=True).flatmap(
        lambda names: st.tuples(*(policies(n) for n in names))
    )
)
def test_export_and_import_are_inverse(made: tuple[Policy, ...]) -> None:
    text = dump(made)
    read = load(text)
    assert read == made
    assert dump(read) == text
