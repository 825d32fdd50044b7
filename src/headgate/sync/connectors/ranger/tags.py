"""Tags of Ranger's tag store: what of a service bears which tag. They are read and never written: others put them there.

A tag has a type and attributes; its type is its name here. Policies on tags that restrict are refused elsewhere, all but the one
that every service of tags is made with: what is tagged as expiring is denied once its day has come. INVARIANT: whatever bears
that tag is read as hidden from everyone, whatever the day.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.sync.connectors.ranger.policies import KEYS, objects
from headgate.sync.snapshots.facts import Mask, RowFilter, Securable, Tag
from headgate.sync.translating.policy_text import NO_ROW, NOTHING

_T = ObjectType

EXPIRES: Final = "EXPIRES_ON"
"""The tag of the policy that every service of tags is made with, and the name of the rules that stand for it."""


class TagStore:
    """The tags of one service, as its plugins download them."""

    def __init__(
        self, answer: dict[str, Any], leaves: Mapping[tuple[str, str], Securable], catalog: str
    ) -> None:
        self.answer = answer
        self.leaves = leaves
        self.catalog = catalog
        self.notes: list[str] = []

    def _assigned(self) -> Iterator[tuple[list[Securable], dict[str, Any]]]:
        """Every tag with what it is on; on nothing, if a pattern names the object."""
        tags, of = self.answer.get("tags") or {}, self.answer.get("resourceToTagIds") or {}
        for resource in self.answer.get("serviceResources") or ():
            # A resource without a table or a column is about all of them.
            elements = {key: {"values": ["*"]} for key in KEYS} | (resource.get("resourceElements") or {})
            about = objects({"resources": elements}, self.leaves, self.catalog)
            for id in of.get(str(resource["id"])) or ():
                yield about, tags[str(id)]

    def facts(self) -> Iterator[Tag]:
        """The tags that hold always, by their types."""
        for about, tag in self._assigned():
            type = tag["type"]
            if not about or tag.get("validityPeriods"):
                self.notes.append(
                    f"the tag '{type}' is on a pattern or holds only sometimes, and is not read"
                )
                continue
            if tag.get("attributes"):
                self.notes.append(f"of the tag '{type}' on {about[0]} the attributes are not read")
            yield from (Tag(object, type) for object in about)

    def expiring(self) -> Iterator[RowFilter | Mask]:
        """What is tagged as expiring, as rules that hide it."""
        for about, tag in self._assigned():
            if tag["type"] != EXPIRES:
                continue
            if not about:
                raise IllegalArgument(
                    f"the tag '{EXPIRES}' is on a pattern", hint="name the tables that expire one by one"
                )
            for object in about:
                yield from self._hidden(object)

    def _hidden(self, object: Securable) -> Iterator[RowFilter | Mask]:
        if object.type is _T.COLUMN:
            yield Mask(object, EXPIRES, NOTHING)
            return
        for leaf in self.leaves.values():
            if object in leaf.chain():
                yield RowFilter(leaf, EXPIRES, NO_ROW)
