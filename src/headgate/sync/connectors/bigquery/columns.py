"""What a column or a view keeps back by means that BigQuery alone can judge.

Policy tags, data policies and data governance tags let some people read a column, others read it masked and the rest not at all;
who that is follows from policies of other services. A view with a privacy policy gives out aggregates. INVARIANT: where any of
these stands, nobody is taken to see the column, or a row of the view.
"""

from collections.abc import Iterator
from typing import Any, Final

from headgate.model.objects import ObjectType
from headgate.sync.connectors.bigquery.bindings import Project
from headgate.sync.connectors.bigquery.rows import NO_ROW
from headgate.sync.snapshots.facts import Mask, RowFilter, Securable
from headgate.sync.translating.policy_text import NOTHING

_T = ObjectType

SECURED: Final = "column-level security"
"""Names the masks that stand for unknown readers of a column."""
OF_ITS_OWN: Final = "restrictions of the view"
"""Names the filters that stand for what a view keeps back by itself."""
_MARKS: Final = ("policyTags", "categories", "dataPolicies", "dataPolicyList", "dataGovernanceTagsInfo")


def kept_back(project: Project, object: Securable) -> Iterator[RowFilter | Mask]:
    """The columns of a table that not everybody may read, as masks; a view that has any such thing, as a filter."""
    table = project.rest("GET", project.table(object), query={"view": "BASIC"})
    outside = table.get("externalDataConfiguration") or {}
    fields = [f for part in (table, outside) for f in (part.get("schema") or {}).get("fields") or ()]
    secured = sorted({field["name"] for field in fields if _secured(field)})
    if object.type is _T.TABLE:
        for name in secured:
            yield Mask(Securable(_T.COLUMN, (*object.path, name)), SECURED, NOTHING)
    elif secured or (table.get("view") or {}).get("privacyPolicy"):
        yield RowFilter(object, OF_ITS_OWN, NO_ROW)


def _secured(field: dict[str, Any]) -> bool:
    """Whether a column, or a part of it, has something that says who may read it."""
    return any(_is_set(field.get(mark)) for mark in _MARKS) or any(map(_secured, field.get("fields") or ()))


def _is_set(value: Any) -> bool:
    return any(map(_is_set, value.values())) if isinstance(value, dict) else bool(value)
