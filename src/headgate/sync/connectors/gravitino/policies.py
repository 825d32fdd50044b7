"""Policies of a metalake behind Gravitino's API: which tables they may restrict, and which tags they ask for.

Gravitino itself enforces none. A server that is Headgate does, and tells them by the same API; what they come to for each user is
known by `headgate` as a connector, so here a table under one is read as showing nobody a row.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

import msgspec

from headgate.decide.policies.rules import parsed
from headgate.language.errors import LanguageError
from headgate.model.objects import ObjectRef, ObjectType
from headgate.store.policies import OWN
from headgate.sync.connectors.gravitino.rest import GravitinoClient, NoRoute
from headgate.sync.snapshots.facts import RowFilter, Securable
from headgate.sync.translating.policy_text import NO_ROW

_WITHOUT_TAGS: Final = "system_"
"""How types of policies begin whose content the server itself defines; none of them asks for tags."""


class GravitinoPolicies:
    """The policies at one moment, asked for when they are needed."""

    def __init__(self, rest: GravitinoClient) -> None:
        self.rest = rest

    @cached_property
    def _all(self) -> list[dict[str, Any]]:
        try:
            return self.rest.listed("policies", "policies", details="true")
        except NoRoute:
            return []

    def _places(self, policy: dict[str, Any]) -> list[dict[str, str]]:
        return self.rest.listed("metadataObjects", "policies", policy["name"], "objects")

    # -- what they restrict --------------------------------------------------------------------------------------

    def restrictions(self, metalake: str, objects: Iterable[Securable]) -> list[RowFilter]:
        """INVARIANT: nobody is taken to see a row of a table that a policy may filter, mask or deny."""
        tables = [object for object in objects if object.type is ObjectType.TABLE]
        found = []
        for policy in self._all:
            if policy.get("policyType") == OWN and policy.get("enabled", True):
                for place in self._places(policy):
                    ref = ObjectRef.parse(metalake, ObjectType.parse(place["type"]), place["fullName"])
                    under = Securable(ref.type, ref.path)
                    found += [
                        RowFilter(table, f"policy {policy['name']}", NO_ROW)
                        for table in tables
                        if under in table.chain(nested=True)
                    ]
        return found

    # -- which tags they ask for ---------------------------------------------------------------------------------

    def ask_for(self, tag: str) -> bool:
        """Whether a policy asks for a tag, or may."""
        written = msgspec.json.encode(tag).decode()[1:-1]
        asked = self._asked_for
        return asked is None or tag in asked or any(written in text for text in self._mentions)

    @cached_property
    def _asked_for(self) -> frozenset[str] | None:
        """The tags that policies name, or stand on; None if that is unknown of one of them."""
        found: set[str] = set()
        for policy in self._all:
            on = [p["fullName"] for p in self._places(policy) if p["type"].lower() == ObjectType.TAG]
            found.update(on)
            if policy.get("policyType") == OWN:
                try:
                    found |= parsed(_text(policy)).tags
                except LanguageError:
                    return None
        return frozenset(found)

    @cached_property
    def _mentions(self) -> list[str]:
        """What policies of others say, in which a name may be that of a tag."""
        types = [(str(policy.get("policyType")), policy) for policy in self._all]
        return [_text(p) for type, p in types if type != OWN and not type.startswith(_WITHOUT_TAGS)]


def _text(policy: dict[str, Any]) -> str:
    return msgspec.json.encode(policy.get("content") or {}, order="sorted").decode()
