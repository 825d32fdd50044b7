"""What a hosted Unity Catalog keeps from people who may read a table: row filters, masks, and policies by attribute.

They are functions that only the server evaluates, for whom and for which columns only it knows. INVARIANT: nobody is taken to see
what one of them may keep back: not the column with a mask, of all else not a row. The open-source server has none of them.
"""

from collections.abc import Iterator
from typing import Any, Final

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.sync.snapshots.facts import Mask, RowFilter, Securable
from headgate.sync.translating.policy_text import NOTHING
from headgate.sync.transport.rest import ServiceClient, ServiceRefused, path

_T = ObjectType
_ON: Final = {_T.CATALOG: "CATALOG", _T.SCHEMA: "SCHEMA", _T.TABLE: "TABLE", _T.VIEW: "TABLE"}
_GIVES: Final = "POLICY_TYPE_GRANT"
_DENIES: Final = "POLICY_TYPE_DENY"


class UnityRestrictions:
    """Told of every object, a container before what is in it."""

    def __init__(self, rest: ServiceClient, policies: str) -> None:
        self.rest = rest
        self.address = policies
        self.policies: dict[Securable, list[str]] = {}
        """By object the policies on it that take something away."""
        self.without: set[str] = set()
        """Catalogs of which the server knows no policies."""

    def of(self, object: Securable, entry: dict[str, Any]) -> Iterator[RowFilter | Mask]:
        """What is restricted on an object as the server lists it."""
        if object.type not in _ON:
            return
        self.policies[object] = self._policies(object)
        if object.type in (_T.CATALOG, _T.SCHEMA):
            return
        masked = [column["name"] for column in entry.get("columns") or () if column.get("mask")]
        for step in object.chain():
            for name in self.policies.get(step, ()):
                yield RowFilter(object, f"policy {name}", "FALSE")
        if entry.get("row_filter") or (masked and object.type is _T.VIEW):
            yield RowFilter(object, "row filter", "FALSE")
        elif object.type is _T.TABLE:
            for name in masked:
                yield Mask(Securable(_T.COLUMN, (*object.path, name)), "mask", NOTHING)

    def _policies(self, object: Securable) -> list[str]:
        if object.type is not _T.CATALOG and object.path[0] in self.without:
            return []
        address = f"{self.address}/{path(_ON[object.type], '.'.join(object.path))}"
        try:
            found = self.rest.listed(address, "policies")
        except ServiceRefused as refused:
            # The catalog was listed a moment ago: what is not found is the question.
            if refused.status != 404 or object.type is not _T.CATALOG:
                raise
            self.without.add(object.path[0])
            return []
        for policy in found:
            if policy.get("policy_type") == _DENIES:
                raise IllegalArgument(
                    f"policy '{policy.get('name')}' on {object} denies what is granted",
                    hint="a metastore with denials cannot be synchronised",
                )
        return [str(policy.get("name")) for policy in found if policy.get("policy_type") != _GIVES]
