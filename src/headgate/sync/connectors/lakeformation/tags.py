"""What a grant on LF-tags comes to today: the objects whose tags match its expression.

A tag of a database holds for its tables, and one of a table for its columns, unless they have their own. A table of which only
some columns match gives these columns to read, and nothing else.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from headgate.model.objects import ObjectType
from headgate.sync.access.capabilities import Semantics
from headgate.sync.connectors.lakeformation.words import Words
from headgate.sync.snapshots.facts import Facts, GrantFact, Securable, Tag

_T = ObjectType


def by_tags(facts: Facts, words: Words, semantics: Semantics) -> Facts:
    """The facts with every grant on a tag expression replaced by grants on the objects that match; what comes later is not covered."""
    found: set[GrantFact] = set()
    tree = None
    for grant in facts.grants:
        if grant.object.type is _T.CATALOG and " ON {" in grant.privilege:
            entry = words.render(grant.object, grant.privilege)
            policy = entry.resource.get("LFTagPolicy")
            if policy and policy.get("Expression") and not entry.condition:
                tree = tree or _Tagged(facts)
                found.update(
                    msgspec.structs.replace(grant, object=object, privilege=word)
                    for object, word in tree.matched(policy, entry.permission)
                    if semantics.given(object.type, word)
                )
    return facts.changed(found)


class _Tagged:
    """The objects with the tags that hold for them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.own: dict[Securable, dict[str, str]] = defaultdict(dict)
        self.columns: dict[tuple[str, ...], set[Securable]] = defaultdict(set)
        """By the path of their table the columns that have tags of their own."""
        for fact in facts:
            if isinstance(fact, Tag):
                self.own[fact.object][fact.name] = fact.value
                if fact.object.type is _T.COLUMN:
                    self.columns[fact.object.path[:3]].add(fact.object)

    def tags(self, object: Securable) -> dict[str, str]:
        above = object.parent()
        if above is not None and object.type is _T.COLUMN:
            # A column lies in a table by its path; it may be a view's.
            above = next(
                (o for o in (above, Securable(_T.VIEW, above.path)) if o in self.facts.present), above
            )
        inherited = {} if above is None else self.tags(above)
        return inherited | self.own.get(object, {})

    def matched(self, policy: dict[str, Any], permission: str) -> Iterator[tuple[Securable, str]]:
        expression = {term["TagKey"]: set(term["TagValues"]) for term in policy["Expression"]}

        def meets(object: Securable) -> bool:
            tags = self.tags(object)
            return all(tags.get(key) in values for key, values in expression.items())

        if policy["ResourceType"] == "DATABASE":
            yield from ((o, permission) for o in self.facts.present if o.type is _T.SCHEMA and meets(o))
            return
        for object in self.facts.present:
            if object.type in (_T.TABLE, _T.VIEW):
                columns = self.facts.children.get(object, [])
                # Partition keys, and columns of views, are known by their tags alone.
                if meets(object) and all(map(meets, (*columns, *self.columns[object.path]))):
                    yield object, permission
                elif permission in ("SELECT", "ALL"):
                    yield from ((column, "SELECT") for column in columns if meets(column))
