"""Nobody widens their own view: every change is held against what its actor sees before it and after it."""

import datetime as dt
from collections.abc import Sequence
from typing import Any, Final

from headgate.decide import Authority, Node, Op, allowed
from headgate.decide.changes.waiting import WaitingTarget, binds, reaches, sheds, slips
from headgate.decide.changes.widening import More, Side, probes, wider
from headgate.decide.policies.clauses import policies_on_the_way, rules_of
from headgate.decide.policies.people import Person
from headgate.decide.policies.rules import readable
from headgate.decide.policies.shape import Shape
from headgate.decide.policies.standing import named_in_policies, overruled
from headgate.language.bind import shown
from headgate.model import changes as c
from headgate.model.objects import ObjectType, clip
from headgate.model.principals import Identity
from headgate.model.schema import LONG, Field, Schema
from headgate.steward.findings import Widens
from headgate.steward.metadata.shapes import Shapes, tables_below
from headgate.steward.policies.checks import unseen
from headgate.steward.policies.touched import Touched

_ANY: Final = Shape.of(Schema((Field(1, "any", LONG),)))
"""A table that is still to come, of which only the tags above it are known."""


class Guard:
    """Judges the changes of one transaction before it is committed."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes = shapes

    def check(self, before: Authority, identity: Identity, changes: Sequence[c.Change]) -> None:
        """Refuse changes that show the actor more of any table, or that decide whom policies of others are for.

        Costs nothing where no policy is, and next to nothing for changes that no lens rests on: grants, comments, new
        tables, other people. Otherwise the tables with a policy on the way are looked at, those without labels of
        their own once for each schema, and columns are read only of tables whose policies, tags or answers become
        others for this actor, and only if the actor may not change all policies that bind them there.
        """
        if not before.policies or all(isinstance(each, c.SHOWS_NO_MORE) for each in changes):
            return
        touched = Touched(before, before.applied(changes, before.revision), identity, changes)
        for metalake in sorted(touched.metalakes()):
            _check_named(touched, metalake)
            _check_taken_over(touched, metalake)
            people = touched.people(metalake)
            if people:
                _check_let_go(touched, metalake, people)
                _check_retagged(touched, metalake, people)
                _check_answers(touched, metalake, people)
                self._check_lenses(touched, metalake, people)
                self._check_probing(touched, metalake, [will for _, will in people])

    def _check_lenses(self, touched: Touched, metalake: int, people: list[tuple[Person, Person]]) -> None:
        """INVARIANT: after a change its actor sees no more of any table than before, or than they would without the
        policies that they may change themselves."""
        now = dt.datetime.now(dt.UTC)
        in_doubt = touched.in_doubt(metalake)
        known: dict[Any, bool] = {}
        for table in touched.tables(metalake):
            if touched.rests(table, people, known):
                continue
            changeable = touched.changeable(table, people)
            if changeable is None:
                continue
            old, new = touched.before.objects[table], touched.after.objects[table]
            shape = self.shapes.of(touched.after, new) or self.shapes.of(touched.before, old)
            if shape is None:
                raise _widens(touched, old, More(), None)
            for was, will in people:
                sides = (
                    Side(rules_of(touched.before, old, shape), was),
                    Side(rules_of(touched.after, new, shape), will),
                )
                more = next(wider(*sides, now, changeable), None)
                if more is not None:
                    raise _widens(touched, old, more, shape)
                # INVARIANT: nor does a policy lapse for them that does nothing to the table yet.
                targets = (
                    WaitingTarget(touched.before, old, shape, was),
                    WaitingTarget(touched.after, new, shape, will),
                )
                shed = next(sheds(*targets, now, changeable, in_doubt=in_doubt), None)
                if shed is not None:
                    raise _sheds(touched, old, shed)

    def _check_probing(self, touched: Touched, metalake: int, people: list[Person]) -> None:
        """Refuse a policy that uses what its author does not see as it is, whomever it is for.

        Whether they can read the table does not count: somebody whom it is for could tell them which rows remain.
        """
        now = dt.datetime.now(dt.UTC)
        written = frozenset(
            each.id for each in touched.changes if isinstance(each, c.PolicySet) and each.document is not None
        )
        caller = touched.caller(touched.after, metalake)
        for id in sorted(written):
            on = touched.on_after(id)
            for table in [] if on is None else tables_below(touched.after, on):
                shape = self.shapes.of(touched.after, table)
                if shape is None:
                    continue
                rules = rules_of(touched.after, table, shape)
                if any(probes(Side(rules, who), written, now) for who in people):
                    seen = allowed(touched.after, caller, Op.LOAD_TABLE, table)
                    raise unseen(touched.after, table, named=seen)


def _check_named(touched: Touched, metalake: int) -> None:
    """INVARIANT: whom a policy is for, and whom it excepts, is decided by those who may change the policy."""
    named = named_in_policies(touched.before, metalake)
    for each in touched.changes:
        match each:
            case c.GroupMember(group, _, _):
                found = {"this group": [named.groups.get(name) for name in touched.groups_above(group)]}
                # Who is in a group holds its roles.
                found["a role of this group"] = [named.roles.get(name) for name in touched.roles_above(group)]
            case c.RoleHeld(role, _, _):
                node = touched.before.objects.get(role) or touched.after.objects.get(role)
                here = node is not None and node.metalake == metalake
                found = {"this role": [named.roles.get(node.name)] if node is not None and here else []}
            case _:
                continue
        policies = {id: what for what, every in found.items() for ids in every if ids for id in ids}
        for policy, what in sorted(policies.items()):
            if policy in touched.after.policies and not touched.may_change(policy):
                raise Widens(
                    f"{named_policy(touched.before, touched.identity, policy)} names {what}, and you may not "
                    "change that policy",
                    hint="ask its owner, or the owner of the metalake",
                    about=ObjectType.POLICY,
                )


def _check_taken_over(touched: Touched, metalake: int) -> None:
    """INVARIANT: words become nobody's by a new owner of the policy. A mask that could not overrule others under its owner
    of before does not under the next one either, unless whoever wrote it may change those others."""
    given = {each.object for each in touched.changes if isinstance(each, c.OwnerSet)}
    written = {each.id for each in touched.changes if isinstance(each, c.PolicySet)}
    for id in sorted(given - written):
        if id not in touched.before.policies or id not in touched.after.policies:
            continue
        if touched.before.objects[id].metalake != metalake:
            continue
        for other in overruled(touched.before, touched.after, id):
            raise Widens(
                f"policy '{clip(touched.before.objects[id].name)}' would overrule the mask of "
                f"{named_policy(touched.before, touched.identity, other)} in words of somebody who may not change that one",
                hint="write the policy again as somebody who may change both, then set its owner",
                about=ObjectType.POLICY,
            )


def _check_let_go(touched: Touched, metalake: int, people: list[tuple[Person, Person]]) -> None:
    """INVARIANT: nobody renames or drops what a policy stands on by name or by tag, if it binds them and they may not
    change it: somebody would make another under the old name, which the policy does not reach."""
    now = dt.datetime.now(dt.UTC)
    for node, policy in (*touched.let_go(metalake), *touched.tagged_and_gone(metalake)):
        read = readable(touched.before.policies[policy].document)
        if any(binds(read, who, now) for who, _ in people) and not touched.may_change(policy):
            raise Widens(
                f"{named_policy(touched.before, touched.identity, policy)} stands on {node.type} "
                f"'{clip(node.name)}' and is for you, and you may not change that policy",
                hint="ask its owner, or the owner of the metalake",
                about=node.type,
            )


def _check_retagged(touched: Touched, metalake: int, people: list[tuple[Person, Person]]) -> None:
    """INVARIANT: nobody changes the tags of what holds tables so that a policy which binds them, and which they may not
    change, would reach less of a table that is still to come, or that was dropped and may come back."""
    now = dt.datetime.now(dt.UTC)
    for place in touched.retagged(metalake):
        for id, policy in policies_on_the_way(touched.before, place):
            if policy is None or touched.may_change(id):
                continue
            for was, will in people:
                if not binds(policy, was, now):
                    continue
                before = WaitingTarget(touched.before, place, _ANY, was)
                after = WaitingTarget(touched.after, touched.after.objects[place.id], _ANY, will)
                if not reaches(policy, before, after):
                    raise _sheds_from_new(touched, place, id)


def _check_answers(touched: Touched, metalake: int, people: list[tuple[Person, Person]]) -> None:
    """INVARIANT: nobody answers a policy otherwise than before while the tables that it waits for are still to come."""
    changed = [(was, will) for was, will in people if was != will]
    now = dt.datetime.now(dt.UTC)
    for policy in touched.empty(metalake) if changed else ():
        read = readable(touched.before.policies[policy].document)
        if any(slips(read, *sides, now) for sides in changed) and not touched.may_change(policy):
            raise Widens(
                f"{named_policy(touched.before, touched.identity, policy)} would keep less from User "
                f"'{clip(touched.identity.user)}' than it would have",
                hint="ask its owner, or the owner of the metalake",
                about=ObjectType.POLICY,
            )


def named_policy(authority: Authority, identity: Identity, policy: int) -> str:
    """A policy by name for those who may see it."""
    node = authority.objects[policy]
    seen = allowed(authority, authority.caller(identity, node.metalake), Op.LOAD_POLICY, node)
    return f"policy '{clip(node.name)}'" if seen else "a policy"


def _widens(touched: Touched, table: Node, more: More, shape: Shape | None) -> Widens:
    """The refusal: what would be seen, in words that tell nothing but what is seen already."""
    if not allowed(touched.before, touched.caller(touched.before, table.metalake), Op.LOAD_TABLE, table):
        gain = "more of a table that you may not load"
    else:
        gain = f"more of table '{clip(touched.before.ref(table).full_name)}'{_details(more, shape)}"
    return Widens(
        f"User '{clip(touched.identity.user)}' would see {gain}",
        hint="ask somebody who may change the policies that keep this from you",
        about=ObjectType.TABLE,
    )


def _sheds(touched: Touched, table: Node, policy: int) -> Widens:
    """The refusal of a change after which a policy of others would reach less of a table."""
    seen = allowed(touched.before, touched.caller(touched.before, table.metalake), Op.LOAD_TABLE, table)
    where = (
        f"table '{clip(touched.before.ref(table).full_name)}'" if seen else "a table that you may not load"
    )
    return Widens(
        f"{named_policy(touched.before, touched.identity, policy)} would no longer keep from User "
        f"'{clip(touched.identity.user)}' all that it may come to keep of {where}",
        hint="ask its owner, or the owner of the metalake",
        about=ObjectType.TABLE,
    )


def _sheds_from_new(touched: Touched, place: Node, policy: int) -> Widens:
    return Widens(
        f"{named_policy(touched.before, touched.identity, policy)} would keep less from User "
        f"'{clip(touched.identity.user)}' of tables that come to {place.type} '{clip(place.name)}'",
        hint="ask its owner, or the owner of the metalake",
        about=place.type,
    )


def _details(more: More, shape: Shape | None) -> str:
    if shape is None:
        return ", whose columns cannot be read now"
    names = ", ".join(shown(shape.path(id)) for id in more.unmasked)
    effects = [
        f"{names} unmasked or masked otherwise" if names else "",
        "columns that are hidden now" if more.unhidden else "",
        "rows that are kept away now" if more.rows else "",
        "it cannot be read at all now" if more.table else "",
    ]
    return ": " + clip("; ".join(part for part in effects if part), 500)
