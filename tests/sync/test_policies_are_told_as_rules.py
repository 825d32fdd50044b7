"""Headgate's own policies as row filters and masks: whoever asks, they show no more than the lens does, and mostly the same."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
import yaml

from headgate.decide import Authority
from headgate.decide.policies.lens import fresh
from headgate.decide.policies.shape import Shape
from headgate.decide.policies.view import seen
from headgate.decide.trials.trial import World
from headgate.language.ast import Call
from headgate.language.bind import bind
from headgate.language.evaluate import by_field_id, keeps
from headgate.language.masks.mask import bind_mask, parse_mask
from headgate.language.masks.python import apply
from headgate.language.parse import parse
from headgate.language.policies.documents import load
from headgate.model.objects import ObjectType
from headgate.model.principals import Identity
from headgate.model.schema import Schema
from headgate.sync.access.effective import restricted
from headgate.sync.connectors.headgate import rules as headgate_rules
from headgate.sync.connectors.headgate.rules import PolicyRules
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    Kind,
    Known,
    Mask,
    MemberFact,
    Principal,
    RowFilter,
    Securable,
)
from tests.decide import lens_worlds as worlds

HIDDEN = object()
ROWS = [
    {"id": id, "email": text, "mail": text, "region": text, "home": {"zip": text}}
    for id in (1, 4, 7, 200)
    for text in ("EU", "US", "ann", "longer than four", None)
]


def known(authority: Authority) -> Facts:
    """Who there is and who is in what, as the connector reads it."""
    people = {
        member.id: Principal(Kind(member.kind.value), member.name) for member in authority.members.values()
    }
    roles = {id: Principal(Kind.ROLE, authority.objects[id].name) for id in worlds.ROLES}
    found: set[Fact] = {Known(who) for who in (*people.values(), *roles.values())}
    for id, who in people.items():
        found |= {MemberFact(people[group], who) for group in authority.groups_of.get(id) or ()}
        found |= {MemberFact(roles[role], who) for role in authority.held.get(id) or ()}
    return Facts(found)


def through_rules(rules: set[RowFilter | Mask], schema: Schema) -> list[dict[str, Any]]:
    """The rows as the rules alone show them; a rule without the types of its columns shows nothing."""
    filters = [rule for rule in rules if isinstance(rule, RowFilter)]
    if any(rule.sql == "false" or not rule.columns for rule in filters):
        return []
    kept = [bind(parse(rule.sql), schema) for rule in filters]
    found = []
    for row in ROWS:
        cells = by_field_id(schema, row)
        if not all(keeps(expr, cells) for expr in kept):
            continue
        shown = {field.name: row[field.name] for field in schema.fields}
        for rule in rules:
            if isinstance(rule, Mask):
                name = rule.object.path[-1]
                field = next(field for field in schema.fields if field.name == name)
                told = None if rule.sql == "NULL" or not rule.columns else parse_mask(rule.sql)
                mask = None if told is None else bind_mask(told, schema, field.id)
                shown[name] = HIDDEN if mask is None else apply(mask, row[name])
        found.append(shown)
    return found


def through_lens(
    authority: Authority, who: Identity, table: int, shape: Shape, now: dt.datetime
) -> list[dict[str, Any]]:
    node = authority.objects[table]
    verdict = fresh(authority, authority.caller(who, worlds.LAKE), node, shape, now)
    if verdict.lens is None:
        return []
    return list(seen(verdict.lens, shape.schema, ROWS))


def within(inner: list[dict[str, Any]], outer: list[dict[str, Any]]) -> bool:
    """Whether every row is one of the other's, its cells the same or hidden; each row of the other used once."""
    left = list(outer)
    for row in inner:
        match = next(
            (
                other
                for other in left
                if all(v is HIDDEN or other.get(k, HIDDEN) == v for k, v in row.items())
            ),
            None,
        )
        if match is None:
            return False
        left.remove(match)
    return True


AT_ONCE = (worlds.NOW, worlds.NOW)
THE_NEXT_DAY = (worlds.NOW + dt.timedelta(hours=2), worlds.NOW + dt.timedelta(days=1))
"""At another hour of another day, when no policy has begun that had not begun before."""


def told(
    seed: int, when: tuple[dt.datetime, dt.datetime] = AT_ONCE
) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """What rules made at one moment show of each table to each user, beside what a lens shows at another."""
    r = Random(seed)
    authority = Authority().applied(worlds.start(r), 1)
    facts, shape = known(authority), worlds.SHAPES[seed % 2]
    rules = PolicyRules(authority, "m", facts, lambda _a, _t: shape, when[0])
    for table in worlds.TABLES:
        at = Securable(ObjectType.TABLE, ("c", "s", f"t{table}"))
        made = list(rules.on(authority.objects[table], at))
        assert len({(type(rule), rule.object, rule.name) for rule in made}) == len(set(made))
        meets = restricted(facts.changed(made))
        for name in worlds.USERS.values():
            shown = through_rules(meets.get(Principal(Kind.USER, name), set()), shape.schema)
            # Elsewhere nobody states a purpose, and whoever states none is bound by the policies of every purpose.
            yield shown, through_lens(authority, Identity(name), table, shape, when[1])


@pytest.mark.parametrize("when", [AT_ONCE, THE_NEXT_DAY], ids=["at once", "the next day"])
@pytest.mark.parametrize("seed", range(40))
def test_nobody_is_shown_more_than_their_lens_shows(seed: int, when: tuple[dt.datetime, dt.datetime]) -> None:
    for shown, lens in told(seed, when):
        assert within(shown, lens)


def test_most_are_shown_just_what_their_lens_shows() -> None:
    kinds = Counter(
        "same" if len(shown) == len(lens) else "narrower"
        for seed in range(40)
        for shown, lens in told(seed)
        if lens
    )
    assert kinds["same"] > 2 * kinds["narrower"] > 0


def test_the_comparison_would_notice_rules_that_forget_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headgate_rules, "_PERSONAL", frozenset())
    assert not all(within(*pair) for seed in range(40) for pair in told(seed))


LAKE = """
tables:
  m.c.s.t: {columns: {id: long, email: string, region: string}}
users:
  ann: {groups: [analysts], attributes: {region: EU}}
  bob: {groups: [analysts], attributes: {region: US}}
  cat: {groups: [privacy]}
"""
TABLE = Securable(ObjectType.TABLE, ("c", "s", "t"))
ANN, BOB, CAT = (Principal(Kind.USER, name) for name in ("ann", "bob", "cat"))
ANALYSTS, PRIVACY = (Principal(Kind.GROUP, name) for name in ("analysts", "privacy"))


def rules_of(*policies: str, at: dt.datetime = worlds.NOW) -> dict[tuple[str, str], tuple[Any, ...]]:
    """What policies on the table come to: by column (empty for rows) and name, the SQL, whom it is for and whom not."""
    world = World.of(yaml.safe_load(LAKE)).governed_by(
        load("---\n".join(f"policy: p{n}\non: m.c.s.t\n{text}" for n, text in enumerate(policies)))
    )
    members = (MemberFact(ANALYSTS, ANN), MemberFact(ANALYSTS, BOB), MemberFact(PRIVACY, CAT))
    people = (Known(who) for who in (ANN, BOB, CAT, ANALYSTS, PRIVACY))
    shape, node = world.shapes["m.c.s.t"], world.authority.objects[world.ids["m", "c", "s", "t"]]
    rules = PolicyRules(world.authority, "m", Facts([*members, *people]), lambda _a, _t: shape, at)
    return {
        ("".join(rule.object.path[3:]), rule.name): (rule.sql, rule.to, rule.exempt)
        for rule in rules.on(node, TABLE)
    }


def test_a_policy_keeps_its_name_and_its_audience() -> None:
    assert rules_of("to: [group:analysts]\nexcept: [user:bob]\nrows: region = 'EU' AND id < 5\n") == {
        ("", "p0"): ("(id < 5) AND (region = 'EU')", (ANALYSTS,), (BOB,))
    }
    assert rules_of("to: [everyone]\nexcept: [group:privacy]\nmask: {email: show_last_4(email)}\n") == {
        ("email", "p0"): ("show_last_4(email)", (), (PRIVACY,))
    }
    assert rules_of("to: [user:ann]\nhide: [email]\n") == {("email", "p0"): ("NULL", (ANN,), ())}
    assert rules_of("to: [user:ann]\ndeny: true\n") == {("", "p0"): ("false", (ANN,), ())}


def test_what_depends_on_the_person_is_worked_out_for_those_who_are_known() -> None:
    assert rules_of("to: [everyone]\nrows: region = principal.region\n") == {
        ("", "p0 #1"): ("region = 'EU'", (ANN,), ()),
        ("", "p0 #2"): ("region = 'US'", (BOB,), ()),
        ("", "p0 #3"): ("false", (CAT,), ()),
        ("", "p0 #4"): ("false", (), (ANN, BOB, CAT)),
    }


@pytest.mark.parametrize("hour", [2, 14])
def test_what_depends_on_the_circumstances_shows_nothing(hour: int) -> None:
    text = "to: [everyone]\nwhen: context.hour < 13\nrows: region = principal.region\n"
    assert rules_of(text, at=worlds.NOW.replace(hour=hour)) == {("", "p0"): ("false", (), ())}


def test_of_several_masks_each_user_has_the_one_that_stands_and_strangers_see_nothing() -> None:
    found = rules_of(
        "to: [everyone]\nmask: {email: show_last_4(email)}\n",
        "to: [group:privacy]\nmask: {email: mask_alphanum(email)}\npriority: 5\n",
        "to: [user:bob]\nhide: [email]\n",
    )
    assert sorted(found.values(), key=str) == [
        ("NULL", (), (ANN, BOB, CAT)),
        ("NULL", (BOB,), ()),
        ("mask_alphanum(email)", (CAT,), ()),
        ("show_last_4(email)", (ANN,), ()),
    ]


def test_a_group_of_which_nobody_is_kept_here_may_be_anybodys() -> None:
    found = rules_of("to: [group:claimed]\nrows: id < 5\n")
    assert found == {("", "p0"): ("id < 5", (), ())}


def test_a_filter_reads_the_same_when_it_is_read_again() -> None:
    found = [
        rule for seed in range(20) for rule in _rules(seed) if rule.columns and isinstance(rule, RowFilter)
    ]
    assert found
    for rule in found:
        schema = worlds.SHAPES[0].schema if "mail" not in dict(rule.columns) else worlds.SHAPES[1].schema
        assert isinstance(bind(parse(rule.sql), schema), Call)


def _rules(seed: int) -> Iterator[RowFilter | Mask]:
    authority = Authority().applied(worlds.start(Random(seed)), 1)
    rules = PolicyRules(authority, "m", known(authority), lambda _a, _t: worlds.SHAPES[0], worlds.NOW)
    for table in worlds.TABLES:
        yield from rules.on(authority.objects[table], Securable(ObjectType.TABLE, ("c", "s", f"t{table}")))


def test_a_table_whose_columns_cannot_be_told_is_hidden_by_any_policy() -> None:
    authority = Authority().applied(worlds.start(Random(1)), 1)
    rules = PolicyRules(authority, "m", known(authority), lambda _a, _t: None, worlds.NOW)
    at = Securable(ObjectType.TABLE, ("c", "s", "t"))
    made = [list(rules.on(authority.objects[table], at)) for table in worlds.TABLES]
    assert any(made)
    assert {(rule.sql, rule.to) for found in made for rule in found} == {("false", ())}
    assert rules.notes
