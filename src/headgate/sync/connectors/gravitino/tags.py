"""Tags of a metalake of Gravitino: what they stand on, and how a push puts and takes them.

Older servers know tags without values; newer ones give a tag one of its allowed values, by the second version of the request.
"""

from typing import Any

from headgate.model.errors import HeadgateError, NotFound
from headgate.model.objects import ObjectRef, ObjectType
from headgate.sync.connectors.gravitino.policies import GravitinoPolicies
from headgate.sync.connectors.gravitino.rest import GravitinoClient, NoRoute
from headgate.sync.pushing.results import Change
from headgate.sync.snapshots.facts import Securable, Tag


def tags_of(rest: GravitinoClient, metalake: str) -> tuple[set[Tag], list[str]]:
    """The tags that stand on objects themselves, and notes on those that cannot be read."""
    found: set[Tag] = set()
    notes: list[str] = []
    try:
        names = rest.listed("names", "tags")
    except NoRoute:
        return found, notes
    places = {
        (place["type"].lower(), place["fullName"])
        for name in names
        for place in rest.listed("metadataObjects", "tags", name, "objects")
    }
    for type, full_name in sorted(places):
        object = _object(metalake, type, full_name)
        if object is None:
            notes.append(f"the tags of {type}:{full_name} are not read")
            continue
        for name, values in _held(rest, type, full_name).items():
            if len(values) > 1:
                notes.append(f"{object} has several values of the tag '{name}', which are not read")
            else:
                found.add(Tag(object, name, next(iter(values), "")))
    return found, notes


def _object(metalake: str, type: str, full_name: str) -> Securable | None:
    try:
        ref = ObjectRef.parse(metalake, ObjectType.parse(type), full_name)
    except HeadgateError:
        return None
    # A part of a column has no name of its own here.
    nested = ref.type is ObjectType.COLUMN and "." in ref.path[3]
    return None if nested else Securable(ref.type, ref.path)


def _held(rest: GravitinoClient, type: str, full_name: str) -> dict[str, set[str]]:
    """The tags on an object itself, each with its values."""
    assigned = rest.listed("tags", "objects", type, full_name, "tags", details="true")
    return {
        tag["name"]: set(tag.get("assignmentValues") or ()) for tag in assigned if not tag.get("inherited")
    }


class GravitinoTagWriter:
    """Puts tags on objects and takes them off."""

    def __init__(self, rest: GravitinoClient, metalake: str) -> None:
        self.rest = rest
        self.metalake = metalake
        self.policies = GravitinoPolicies(rest)

    def make(self, change: Change) -> str:
        """Make a change of a tag; or why not, before anything of it is done."""
        before, after = change.before, change.after
        assert isinstance(change.fact, Tag)
        if why := self._refused(change.fact.name, after.value if isinstance(after, Tag) else ""):
            return why
        if isinstance(before, Tag):
            self._associate(before, False)
        if isinstance(after, Tag):
            try:
                self._associate(after, True)
            except HeadgateError:
                if isinstance(before, Tag):
                    self._associate(before, True)
                raise
        return ""

    def _refused(self, name: str, value: str) -> str:
        try:
            tag = self.rest("GET", "tags", name)["tag"]
        except NotFound:
            return f"there is no tag '{name}'"
        # INVARIANT: a push never changes what policies see to; what they ask for is put and taken by people.
        if self.policies.ask_for(name):
            return f"a policy asks for the tag '{name}'"
        allowed = tag.get("allowedValues")
        if value and allowed is not None and value not in allowed:
            return f"the tag '{name}' does not allow the value '{value}'"
        return ""

    def _associate(self, tag: Tag, holds: bool) -> None:
        type, full_name = tag.object.type.value, self._name(tag.object)
        now = _held(self.rest, type, full_name).get(tag.name)
        same = now is not None and now == ({tag.value} if tag.value else set())
        if same is holds:
            return
        # Only the second version of the request knows values.
        item: Any = {"name": tag.name, "value": tag.value} if tag.value else tag.name
        body = {"tagsToAdd": [item] if holds else [], "tagsToRemove": [] if holds else [item]}
        self.rest("POST", "objects", type, full_name, "tags", json=body, version=2 if tag.value else 1)

    def _name(self, object: Securable) -> str:
        return ObjectRef(self.metalake, object.type, object.path).full_name
