"""How changes of facts are made in Unity Catalog."""

from typing import Any

from headgate.model.errors import ConnectionFailed, HeadgateError
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.connectors.unity.reading import USERS, address, permissions, users
from headgate.sync.pushing.results import Applied, Change, Outcome
from headgate.sync.snapshots.facts import (
    Fact,
    GrantFact,
    Kind,
    Known,
    OwnerFact,
    Principal,
    Securable,
)
from headgate.sync.transport.rest import ServiceClient, ServiceRefused, path

_T = ObjectType


class UnityWriter:
    """Makes changes, one request each: of several in one request those before a failure would stay."""

    def __init__(self, rest: ServiceClient) -> None:
        self.rest = rest

    def make(self, change: Change) -> Applied:
        try:
            for fact, holds in ((change.before, False), (change.after, True)):
                if fact is not None and (why := self._one(fact, holds)):
                    return Applied(Outcome.UNSUPPORTED, why)
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))
        return Applied(Outcome.APPLIED)

    def _one(self, fact: Fact, holds: bool) -> str:
        """Empty, or why there is no such thing here."""
        match fact:
            case GrantFact(Principal(Kind.USER, who), object, word, Condition.ALLOW, False):
                self._grant(who, object, word, holds)
            case Known(Principal(Kind.USER, who)):
                self._user(who, holds)
            case OwnerFact():
                return "an owner cannot be set"
            case _:
                return "there is no such thing"
        return ""

    def _grant(self, who: str, object: Securable, word: str, holds: bool) -> None:
        change: dict[str, Any] = {"principal": who, "add": [], "remove": []}
        change["add" if holds else "remove"] = [word]
        answer = self.rest("PATCH", permissions(object), json={"changes": [change]}) or {}
        assignments = answer.get("privilege_assignments") or ()
        held = {
            p for entry in assignments if entry["principal"] == who for p in entry.get("privileges") or ()
        }
        if holds and word not in held:
            raise HeadgateError(
                "the server said yes and kept nothing", hint="turn its authorization on", about="sync"
            )

    def _user(self, who: str, exists: bool) -> None:
        found = next((user for user in users(self.rest) if address(user) == who), None)
        if exists and found is None:
            body = {"displayName": who, "emails": [{"value": who, "primary": True}]}
            self.rest("POST", USERS, json=body)
        elif not exists and found is not None:
            try:
                self.rest("DELETE", f"{USERS}/{path(found['id'])}")
            except ServiceRefused as refused:
                if refused.status != 404:
                    raise
