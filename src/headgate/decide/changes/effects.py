"""What a change of policies does: whose lens on which table becomes another, from what to what.

People who answer alike to everything that policies ask are looked at once, and so are tables with the same policies,
tags and columns: two hundred people and a thousand tables are often a handful of each.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from headgate.decide.authority import Authority, Node
from headgate.decide.changes.widening import Side, wider
from headgate.decide.operations import Op
from headgate.decide.policies.clauses import TableRules, rules_of
from headgate.decide.policies.lens import LensVerdict, binding, decide
from headgate.decide.policies.people import Person, person, request_of
from headgate.decide.policies.reasons import summary
from headgate.decide.policies.shape import Shape
from headgate.decide.verdict import allowed
from headgate.model.principals import Identity, PrincipalKind


class Effect(msgspec.Struct, frozen=True):
    """All of these people see all of these tables otherwise than before, and alike."""

    before: str
    after: str
    tables: tuple[str, ...]
    people: tuple[str, ...]


class WiderView(msgspec.Struct, frozen=True):
    """These people would see more of these tables than now, if not at once then in some circumstances."""

    tables: tuple[str, ...]
    people: tuple[str, ...]


class LostWriting(msgspec.Struct, frozen=True):
    """These people may write these tables now, and could not any more: who sees a part of a table changes nothing of it."""

    tables: tuple[str, ...]
    people: tuple[str, ...]


class ComparedCircumstances(msgspec.Struct, frozen=True):
    """The circumstances that lenses are compared in."""

    now: dt.datetime
    purpose: str | None = None
    engine: str | None = None
    address: str | None = None

    def identity(self, user: str) -> Identity:
        return Identity(user, address=self.address, engine=self.engine, purpose=self.purpose)


def effects(
    before: Authority,
    after: Authority,
    metalake: Node,
    tables: Iterable[tuple[Node, Shape]],
    circumstances: ComparedCircumstances,
) -> list[Effect]:
    """Whose lens changes, of the people who may read the tables."""
    changed: dict[tuple[str, str], dict[str, list[str]]] = {}
    alike = _alike(before, after, tables)
    for who, names in _everyone(before, metalake, alike, circumstances):
        for old, new, same in alike:
            was, will = _verdict(old, who, circumstances), _verdict(new, who, circumstances)
            if _same(was, will):
                continue
            schema = new.shape.schema
            key = summary(was, old.shape.schema), summary(will, schema)
            for table, name in _readers(before, names, same, circumstances):
                changed.setdefault(key, {}).setdefault(table, []).append(name)
    return [
        Effect(was, will, tables, people)
        for (was, will), by_table in sorted(changed.items())
        for tables, people in _together(by_table)
    ]


def widened(
    before: Authority,
    after: Authority,
    metalake: Node,
    tables: Iterable[tuple[Node, Shape]],
    circumstances: ComparedCircumstances,
) -> list[WiderView]:
    """Who, of the people who may read the tables, would see more of them: for any purpose and at any time.

    INVARIANT: what cannot be shown to be no more counts as more.
    """
    found: dict[str, list[str]] = {}
    alike = _alike(before, after, tables)
    for who, names in _everyone(before, metalake, alike, circumstances):
        for old, new, same in alike:
            if next(wider(Side(old, who), Side(new, who), circumstances.now), None) is None:
                continue
            for table, name in _readers(before, names, same, circumstances):
                found.setdefault(table, []).append(name)
    return [WiderView(tables, people) for tables, people in _together(found)]


def losing_writers(
    before: Authority,
    after: Authority,
    metalake: Node,
    tables: Iterable[tuple[Node, Shape]],
    circumstances: ComparedCircumstances,
) -> list[LostWriting]:
    """Who, of the people who may write the tables and see them whole, would see a part of them only."""
    found: dict[str, list[str]] = {}
    alike = _alike(before, after, tables)
    for who, names in _everyone(before, metalake, alike, circumstances):
        for old, new, same in alike:
            was, will = _verdict(old, who, circumstances), _verdict(new, who, circumstances)
            if was.lens is None or not was.lens.whole or (will.lens is not None and will.lens.whole):
                continue
            for table, name in _permitted(before, names, same, circumstances, Op.ALTER_TABLE):
                found.setdefault(table, []).append(name)
    return [LostWriting(tables, people) for tables, people in _together(found)]


_Alike = list[tuple[TableRules, TableRules, list[Node]]]
"""Tables with the same policies, tags and columns, before and after."""


def _alike(before: Authority, after: Authority, tables: Iterable[tuple[Node, Shape]]) -> _Alike:
    found: dict[tuple[int, int], tuple[TableRules, TableRules, list[Node]]] = {}
    for table, shape in tables:
        old, new = rules_of(before, table, shape), rules_of(after, table, shape)
        found.setdefault((id(old), id(new)), (old, new, []))[2].append(table)
    return list(found.values())


def _everyone(
    authority: Authority, metalake: Node, alike: _Alike, circumstances: ComparedCircumstances
) -> list[tuple[Person, list[str]]]:
    rules = (each for old, new, _ in alike for each in (old, new))
    return people(authority, metalake, rules, circumstances)


def _readers(
    authority: Authority, names: list[str], tables: list[Node], circumstances: ComparedCircumstances
) -> Iterator[tuple[str, str]]:
    """Every table by name with each of these people who may read it."""
    return _permitted(authority, names, tables, circumstances, Op.LOAD_TABLE)


def _permitted(
    authority: Authority,
    names: list[str],
    tables: list[Node],
    circumstances: ComparedCircumstances,
    op: Op,
) -> Iterator[tuple[str, str]]:
    """Every table by name with each of these people to whom the operation is granted on it."""
    for name in names:
        caller = authority.caller(circumstances.identity(name), authority.objects[tables[0].id].metalake)
        for table in tables:
            if allowed(authority, caller, op, table):
                yield authority.ref(table).full_name, name


def people(
    authority: Authority, metalake: Node, rules: Iterable[TableRules], circumstances: ComparedCircumstances
) -> list[tuple[Person, list[str]]]:
    """The enabled users, together where no policy can tell them apart; one that no policy can name is called "them"."""
    # By document and not by id: a policy that changes says two things, and either may tell people apart.
    clauses = [clause for each in rules for clause in each.clauses]
    policies = {clause.parsed for clause in clauses}
    facts = {fact for policy in policies for fact in policy.facts}
    audiences = [audience for policy in policies for audience in (policy.to, policy.except_)]
    for clause in clauses:
        audiences += [clause.standing.authors, clause.standing.changers]
    users = frozenset().union(*(audience.users for audience in audiences))
    groups = frozenset().union(*(audience.groups for audience in audiences))
    groups |= {fact.key for fact in facts if fact.kind == "member"}
    roles = frozenset().union(*(audience.roles for audience in audiences))
    asked = sorted({fact.key for fact in facts if fact.kind == "attribute"})
    by_user = any(fact.kind == "user" for fact in facts)
    found: dict[Any, tuple[Person, list[str]]] = {}
    for member in authority.members.values():
        if member.metalake != metalake.id or member.kind is not PrincipalKind.USER or not member.enabled:
            continue
        whole = person(authority, authority.caller(circumstances.identity(member.name), metalake.id))
        who = Person(
            whole.user if by_user or whole.user in users else "them",
            whole.groups & groups,
            whole.claimed & groups,
            whole.roles & roles,
            whole.active & roles,
            {key: whole.attributes[key] for key in asked if key in whole.attributes},
            kept=whole.kept,
        )
        key = (who.user, who.groups, who.roles, tuple(sorted(who.attributes.items())))
        found.setdefault(key, (who, []))[1].append(whole.user)
    return [(who, sorted(names)) for who, names in found.values()]


def _verdict(rules: TableRules, who: Person, circumstances: ComparedCircumstances) -> LensVerdict:
    identity = circumstances.identity(who.user)
    bits = binding(rules, who, identity.purpose, circumstances.now)
    return decide(rules, bits, request_of(who, identity, circumstances.now))


def _same(was: LensVerdict, will: LensVerdict) -> bool:
    if was.lens is None or will.lens is None:
        return was.lens is will.lens
    return was.lens.id == will.lens.id


def _together(tables: dict[str, list[str]]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Tables that are the same for the same people, together."""
    found: dict[tuple[str, ...], list[str]] = {}
    for table, people in tables.items():
        found.setdefault(tuple(sorted(people)), []).append(table)
    return [(tuple(sorted(names)), people) for people, names in sorted(found.items())]
