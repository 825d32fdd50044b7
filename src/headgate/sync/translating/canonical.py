"""From a system's own facts to canonical ones with the same meaning, or a narrower one with the rest kept as opaque."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from headgate.model.objects import LEAVES, ObjectType
from headgate.model.privileges import Condition
from headgate.sync.access import actions
from headgate.sync.access.actions import type_of
from headgate.sync.access.capabilities import CANONICAL, Capabilities, Natives
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    Mask,
    MemberFact,
    OwnerFact,
    Principal,
    Property,
    RowFilter,
    Securable,
)
from headgate.sync.translating.dialects import shows_all

OWNER_WORD = "OWNER"
"""Stands for ownership that the canonical model would read as more than it is."""


def opaque(system: str, word: str) -> str:
    """A native privilege that has no canonical name."""
    return f"{system}:{word}"


def word_of(privilege: str, system: str) -> str | None:
    """The native word of an opaque privilege, if it is this system's."""
    owner, colon, word = privilege.partition(":")
    return word if colon and owner == system else None


def direct_role(holder: Principal) -> Principal:
    """The role that stands for what is granted to one user or group itself, where only roles can be granted to."""
    name = holder.name
    plain = re.sub(r"[^\w.@-]", "_", name)[:96]
    if plain != name:
        plain = f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return Principal(Kind.ROLE, f"direct-{holder.kind}-{plain}")


def canonical(native: Facts, capabilities: Capabilities) -> Facts:
    """The same policies in canonical words, meaning under canonical semantics no more than they do here."""
    facts = _unfolded(native)
    result: set[Fact] = {
        fact for fact in facts if not isinstance(fact, GrantFact | OwnerFact | RowFilter | Mask)
    }
    result.update(_canonical_rule(rule, capabilities) for rule in facts.restrictions if not shows_all(rule))
    held: dict[tuple[Principal, Securable, Condition], list[GrantFact]] = defaultdict(list)
    for grant in facts.grants:
        held[grant.holder, grant.object, grant.decision].append(grant)
    for (_, object, _), grants in held.items():
        result.update(_renamed(grants, object, capabilities))
    asked = {use for uses in capabilities.semantics.gates.values() for use in uses}
    result.update(_gates(facts, capabilities.semantics.natives, actions.GATES - asked))
    for owner in facts.owners:
        if owner.object.type in LEAVES or capabilities.semantics.owner_inherits:
            result.add(owner)
        else:
            # INVARIANT: the canonical owner of a container may do everything below it; one who may not is none.
            result.add(GrantFact(owner.principal, owner.object, opaque(capabilities.system, OWNER_WORD)))
    return Facts(result)


def _canonical_rule(rule: RowFilter | Mask, capabilities: Capabilities) -> RowFilter | Mask:
    """A rule together with its dialect."""
    return msgspec.structs.replace(rule, dialect=rule.dialect or capabilities.dialect or "")


def _renamed(grants: list[GrantFact], object: Securable, capabilities: Capabilities) -> Iterator[GrantFact]:
    """Canonical privileges that give nothing but what is held, and what is held beyond them as opaque."""
    first = grants[0]
    table = capabilities.semantics.natives.get(object.type, {})
    words = {grant.privilege: grant for grant in grants}
    names = CANONICAL.natives.get(object.type, {})
    if all(word in names and table.get(word) == names[word] for word in words):
        yield from grants
        return
    if first.decision is Condition.DENY:
        yield from _denied(words, table, names, capabilities.system)
        return
    given = frozenset().union(*(table.get(word, frozenset()) for word in words))
    optional = frozenset().union(*(table.get(w, frozenset()) for w, g in words.items() if g.option))
    covered: frozenset[str] = frozenset()
    covered_with_option: frozenset[str] = frozenset()
    for name, gives in names.items():
        # A privilege that is bound to a container is canonical only if it reaches below, as canonical ones do.
        far = any(type_of(a) is not object.type for a in gives)
        if gives and gives <= given and (not far or object.type in capabilities.semantics.inherits):
            option = gives <= optional
            covered |= gives
            covered_with_option |= gives if option else frozenset()
            yield GrantFact(first.holder, object, name, option=option)
    for word, grant in words.items():
        gives = table.get(word, frozenset())
        if not gives or not gives <= (covered_with_option if grant.option else covered):
            yield GrantFact(first.holder, object, opaque(capabilities.system, word), option=grant.option)


def _denied(
    words: dict[str, GrantFact], table: dict[str, frozenset[str]] | object, names: object, system: str
) -> Iterator[GrantFact]:
    """A denial becomes one of every privilege that gives something of what is denied: never weaker."""
    assert isinstance(table, dict)
    assert isinstance(names, dict)
    for word, grant in words.items():
        taken = table.get(word, frozenset())
        hit = [name for name, gives in names.items() if gives & taken]
        for name in hit:
            yield GrantFact(grant.holder, grant.object, name, Condition.DENY)
        if not hit:
            yield GrantFact(grant.holder, grant.object, opaque(system, word), Condition.DENY)


def _gates(facts: Facts, natives: Natives, unasked: frozenset[str]) -> Iterator[GrantFact]:
    """The uses that a system never asks for, at the narrowest place for whoever holds something below."""
    for grant in facts.grants:
        gives = natives.get(grant.object.type, {}).get(grant.privilege, frozenset())
        if grant.decision is Condition.DENY or not gives:
            continue
        path = grant.object.path
        deep = any(type_of(a) not in (ObjectType.METALAKE, ObjectType.CATALOG) for a in gives)
        if actions.USE_CATALOG in unasked and (path or deep):
            place = Securable(ObjectType.CATALOG, path[:1]) if path else grant.object
            yield GrantFact(grant.holder, place, "USE_CATALOG")
        if actions.USE_SCHEMA in unasked and (len(path) > 1 or deep):
            place = Securable(ObjectType.SCHEMA, path[:2]) if len(path) > 1 else grant.object
            yield GrantFact(grant.holder, place, "USE_SCHEMA")


def _unfolded(facts: Facts) -> Facts:
    """Roles that stand for one holder's own grants become those grants again."""
    holders: dict[Principal, list[Principal]] = defaultdict(list)
    for member in facts.members:
        holders[member.of].append(member.who)
    roles = {
        role: whos[0] for role, whos in holders.items() if len(whos) == 1 and role == direct_role(whos[0])
    }
    if not roles:
        return facts
    return Facts(_refolded(facts, roles))


def _refolded(facts: Iterable[Fact], roles: dict[Principal, Principal]) -> Iterator[Fact]:
    for fact in facts:
        match fact:
            case Known(principal) | Property(principal) if principal in roles:
                pass
            case MemberFact(of) if of in roles:
                pass
            case GrantFact(holder, object, privilege, decision, option) if holder in roles:
                yield GrantFact(roles[holder], object, privilege, decision, option)
            case _:
                yield fact


def vocabulary(all_capabilities: Iterable[Capabilities]) -> Natives:
    """The canonical privileges, and every system's own as opaque ones: what any snapshot may hold."""
    merged: dict[ObjectType, dict[str, frozenset[str]]] = {
        type: dict(table) for type, table in actions.CANONICAL.items()
    }
    for capabilities in all_capabilities:
        for type, table in capabilities.semantics.natives.items():
            for word, gives in table.items():
                merged.setdefault(type, {})[opaque(capabilities.system, word)] = gives
    return merged
