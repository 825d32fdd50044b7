"""The person behind a caller, in the words that policies use: names of groups and roles, attributes, circumstances."""

import datetime as dt
from dataclasses import dataclass

from headgate.decide.authority import Authority, Caller
from headgate.decide.policies.standing import known_groups
from headgate.language.fold import Request
from headgate.model.principals import Attributes, Identity


@dataclass(frozen=True)
class Person:
    user: str
    groups: frozenset[str]
    """Groups of the metalake that they are in."""
    claimed: frozenset[str]
    """Those, and whatever else their token claims: a policy for a group binds before the metalake knows the group."""
    roles: frozenset[str]
    active: frozenset[str]
    attributes: Attributes
    groups_known: bool = True
    """Whether they are in no other groups than these."""
    possible: frozenset[str] = frozenset()
    """Those of the roles that they hold only if they are in a group that is not known."""
    kept: frozenset[str] | None = None
    """Every group that the metalake keeps; nothing is known of any other."""


def person(authority: Authority, caller: Caller) -> Person:
    """Who a caller is."""
    identity = caller.identity
    key = (
        "person",
        identity.user,
        identity.groups,
        identity.groups_known,
        identity.active_roles,
        caller.metalake,
        caller.member,
    )
    return authority.kept(key, lambda: _person(authority, caller))


def _person(authority: Authority, caller: Caller) -> Person:
    groups = frozenset(authority.members[p].name for p in caller.principals if p != caller.member)
    names = {role: authority.objects[role].name for role in caller.roles}
    return Person(
        caller.identity.user,
        groups,
        groups | caller.identity.groups,
        frozenset(names.values()),
        frozenset(name for role, name in names.items() if role not in caller.inactive),
        {} if caller.member is None else authority.members[caller.member].attributes,
        caller.identity.groups_known,
        frozenset(names[role] for role in caller.possible),
        known_groups(authority, caller.metalake),
    )


def request_of(who: Person, identity: Identity, now: dt.datetime) -> Request:
    """What the policy language may ask of a request. Hours and days are those of UTC."""
    moment = now.astimezone(dt.UTC)
    return Request(
        who.user,
        who.groups,
        who.attributes,
        identity.purpose,
        identity.address,
        moment.hour,
        identity.engine,
        moment.date(),
        who.groups_known,
        who.kept,
    )
