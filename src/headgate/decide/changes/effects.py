"""What a change of policies does: whose lens on which table becomes another, from what to what.

People who answer alike to everything that policies ask are looked at once, and so are tables with the same policies,
tags and columns: two hundred people and a thousand tables are often a handful of each.
"""

import datetime as dt
from collections.abc import Iterable
from typing import Any

import msgspec

from headgate.decide.authority import Authority, Node
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
    rules = [
        (table, rules_of(before, table, shape), rules_of(after, table, shape)) for table, shape in tables
    ]
    alike: dict[tuple[int, int], tuple[TableRules, TableRules, list[Node]]] = {}
    for table, old, new in rules:
        alike.setdefault((id(old), id(new)), (old, new, []))[2].append(table)
    everyone = people(before, metalake, (r for _, old, new in rules for r in (old, new)), circumstances)
    changed: dict[tuple[str, str], dict[str, list[str]]] = {}
    for who, names in everyone:
        for old, new, same in alike.values():
            was, will = _verdict(old, who, circumstances), _verdict(new, who, circumstances)
            if _same(was, will):
                continue
            schema = new.shape.schema
            key = summary(was, old.shape.schema), summary(will, schema)
            for name in names:
                caller = before.caller(circumstances.identity(name), metalake.id)
                for table in same:
                    if allowed(before, caller, Op.LOAD_TABLE, table):
                        changed.setdefault(key, {}).setdefault(before.ref(table).full_name, []).append(name)
    return _grouped(changed)


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


def _grouped(changed: dict[tuple[str, str], dict[str, list[str]]]) -> list[Effect]:
    """Tables that change alike for the same people, together."""
    found: list[Effect] = []
    for (was, will), tables in sorted(changed.items()):
        together: dict[tuple[str, ...], list[str]] = {}
        for table, people in tables.items():
            together.setdefault(tuple(sorted(people)), []).append(table)
        found += [
            Effect(was, will, tuple(sorted(names)), people) for people, names in sorted(together.items())
        ]
    return found
