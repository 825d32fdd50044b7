"""What is asked of a policy before it is written: its words, the people it names, what its author sees, whom it overrules."""

import datetime as dt
from collections.abc import Iterator, Sequence

from headgate.decide import Authority, Node, Op, allowed
from headgate.decide.policies.clauses import Clause, rules_of
from headgate.decide.policies.lens import Lens, binding, decide, doubtful
from headgate.decide.policies.people import person, request_of
from headgate.decide.policies.rules import ready
from headgate.decide.policies.shape import Shape
from headgate.language.masks.mask import ColumnMask
from headgate.language.policies.policy import Policy
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType, clip
from headgate.model.principals import Identity, PrincipalKind
from headgate.steward.findings import Widens


def seen_by_author(authority: Authority, identity: Identity, table: Node, shape: Shape) -> Lens | None:
    """What the author of a policy sees of a table, but for the policies that they may change themselves."""
    caller = authority.caller(identity, table.metalake)
    rules, who, now = rules_of(authority, table, shape), person(authority, caller), dt.datetime.now(dt.UTC)
    bits = binding(rules, who, identity.purpose, now)
    for number, clause in enumerate(rules.clauses):
        if allowed(authority, caller, Op.ALTER_POLICY, authority.objects[clause.id]):
            bits &= ~(1 << number)
    return decide(rules, bits, request_of(who, identity, now), doubtful(rules, who)).lens


def unseen(authority: Authority, table: Node, *, named: bool) -> Widens:
    """The refusal of a policy that uses what its author does not see; the table is named to those who may load it."""
    name = f"table '{clip(authority.ref(table).full_name)}'" if named else "a table below what it is on"
    return Widens(
        f"the policy uses a column of {name} that you do not see as it is",
        hint="use only columns that no policy hides from you or masks",
        about=ObjectType.POLICY,
    )


def unlifted(clauses: Sequence[Clause]) -> Iterator[tuple[Clause, Clause]]:
    """Pairs of policies whose masks meet on a column for somebody, of which the first may not overrule the second."""
    masks = [(clause, found) for clause in clauses if (found := _masks(clause))]
    for upper, above in masks:
        for lower, below in masks:
            if upper.parsed.policy.priority <= lower.parsed.policy.priority or _apart(upper, lower):
                continue
            meet = any(a.text != b.text and a.column.field_id in b.column.ids for a in above for b in below)
            if meet and not upper.standing.lifts(lower.standing):
                yield upper, lower


def _masks(clause: Clause) -> tuple[ColumnMask, ...]:
    every = tuple((alias, tuple(id for id, _ in columns)) for alias, columns in clause.aliases)
    return () if clause.problem is not None else clause.bound(every).masks


def _apart(one: Clause, other: Clause) -> bool:
    """Whether two policies can never bind the same person: by name, or because the one is excepted from the other."""
    to, others = one.parsed.to, other.parsed.to
    for mine, theirs in ((to, other.parsed.except_), (others, one.parsed.except_)):
        within = mine.users <= theirs.users and mine.groups <= theirs.groups and not mine.roles
        if within and not mine.everyone and (mine.users or mine.groups):
            return True
    named = to.everyone or others.everyone or to.groups or others.groups or to.roles or others.roles
    return not named and to.users.isdisjoint(others.users)


def problem_of(clause: Clause) -> str | None:
    """Why a clause cannot be evaluated on its table, whoever asks."""
    if clause.problem is not None:
        return clause.problem
    every = tuple((alias, tuple(id for id, _ in columns)) for alias, columns in clause.aliases)
    return clause.bound(every).problem


def check_words(policy: Policy, tags: frozenset[str], attributes: set[str]) -> None:
    """Refuse tags that are not defined and attributes that nobody has."""
    for fact in sorted(ready(policy).facts, key=lambda fact: (fact.kind, fact.key)):
        if fact.kind == "tag" and fact.key not in tags:
            raise wrong_policy(
                policy, f"asks for tag '{clip(fact.key)}', which does not exist", "create the tag first"
            )
        if fact.kind == "attribute" and fact.key not in attributes:
            raise wrong_policy(
                policy, f"asks for principal.{clip(fact.key)}, which nobody has", "set it for a user first"
            )


def check_people(authority: Authority, metalake: Node, policy: Policy) -> None:
    """Refuse users, groups and roles that the metalake does not have: nobody could say whom the policy is for."""
    read = ready(policy)
    members = frozenset(fact.key for fact in read.facts if fact.kind == "member")
    for kind, names in (
        (PrincipalKind.USER, read.to.users | read.except_.users),
        (PrincipalKind.GROUP, read.to.groups | read.except_.groups | members),
    ):
        for name in sorted(names):
            if authority.member(metalake.id, kind, name) is None:
                raise wrong_policy(
                    policy, f"names {kind} '{clip(name)}', which does not exist", f"add the {kind} first"
                )
    for name in sorted(read.to.roles | read.except_.roles):
        if authority.child(metalake.id, ObjectType.ROLE, name) is None:
            raise wrong_policy(
                policy, f"names role '{clip(name)}', which does not exist", "create the role first"
            )


def wrong_policy(policy: Policy, what: str, next: str) -> IllegalArgument:
    where = f"{policy.file}:{policy.at.line}: " if policy.file else ""
    return IllegalArgument(f"{where}policy '{clip(policy.name)}' {what}", hint=next)
