"""How changes of facts are made in a Gravitino server."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from headgate.model.errors import ConnectionFailed, HeadgateError, NotFound
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.privileges import FORMER
from headgate.sync.connectors.gravitino.rest import GravitinoClient
from headgate.sync.connectors.gravitino.tags import GravitinoTagWriter
from headgate.sync.pushing.results import Applied, Change, Outcome
from headgate.sync.snapshots.facts import (
    Fact,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    OwnerFact,
    Principal,
    Property,
    Tag,
)

_T = ObjectType


class GravitinoWriter:
    """Makes changes, one request each; a role is made with its properties, which nothing can change afterwards."""

    def __init__(self, rest: GravitinoClient, metalake: str, changes: Sequence[Change]) -> None:
        self.rest = rest
        self.metalake = metalake
        self.tags = GravitinoTagWriter(rest, metalake)
        self.described: dict[Principal, dict[str, str]] = defaultdict(dict)
        for change in changes:
            if isinstance(change.after, Property):
                self.described[change.after.principal][change.after.name] = change.after.value
        self.going = {c.before.principal for c in changes if isinstance(c.before, Known) and c.after is None}

    def make(self, change: Change) -> Applied:
        try:
            if isinstance(change.fact, Tag | Property):
                why = self._property(change) if isinstance(change.fact, Property) else self.tags.make(change)
                return Applied(Outcome.UNSUPPORTED, why) if why else Applied(Outcome.APPLIED)
            for fact, holds in ((change.before, False), (change.after, True)):
                if fact is not None and not (isinstance(fact, OwnerFact) and not holds):
                    answer = self._one(fact, holds)
                    if answer is not None:
                        return answer
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))
        if isinstance(change.before, OwnerFact) and change.after is None:
            return Applied(Outcome.UNSUPPORTED, "an object cannot be left without its owner")
        return Applied(Outcome.APPLIED)

    def _one(self, fact: Fact, holds: bool) -> Applied | None:
        word = "grant" if holds else "revoke"
        match fact:
            case Known(principal):
                self._principal(principal, holds)
            case MemberFact(of, who) if of.kind is Kind.ROLE and who.kind is not Kind.ROLE:
                roles = {"roleNames": [of.name]}
                self.rest("PUT", "permissions", f"{who.kind}s", who.name, word, json=roles)
            case GrantFact(holder, object, privilege, decision):
                name = ObjectRef(self.metalake, object.type, object.path).full_name
                names = [privilege] if holds else _names(privilege)
                body = {"privileges": [{"name": n.lower(), "condition": decision.value} for n in names]}
                at = ("permissions", "roles", holder.name, object.type.value, name, word)
                self.rest("PUT", *at, json=body)
            case OwnerFact(object, principal):
                name = ObjectRef(self.metalake, object.type, object.path).full_name
                owner = {"name": principal.name, "type": principal.kind.value}
                self.rest("PUT", "owners", object.type.value, name, json=owner)
            case _:
                return Applied(Outcome.UNSUPPORTED, "there is no such thing")
        return None

    def _principal(self, principal: Principal, exists: bool) -> None:
        kinds = f"{principal.kind}s"
        if not exists:
            self.rest("DELETE", kinds, principal.name)
            return
        try:
            self.rest("GET", kinds, principal.name)
        except NotFound:
            body: dict[str, Any] = {"name": principal.name}
            if principal.kind is Kind.ROLE:
                body |= {"properties": self.described[principal], "securableObjects": []}
            self.rest("POST", kinds, json=body)

    def _property(self, change: Change) -> str:
        """Empty if it is so, by how the role was made or because the role goes too; else why it cannot be."""
        fact = change.fact
        assert isinstance(fact, Property)
        if change.after is None and fact.principal in self.going:
            return ""
        now = (self.rest("GET", "roles", fact.principal.name)["role"].get("properties") or {}).get(fact.name)
        wanted = None if change.after is None else fact.value
        return "" if now == wanted else "the properties of a role are set when it is made, and not changed"


def _names(privilege: str) -> list[str]:
    """A privilege under every name that a role may have it by."""
    return [privilege, *(former.name for former, current in FORMER.items() if current.name == privilege)]
