"""A project of BigQuery as facts."""

from collections.abc import Iterable, Iterator

from headgate.model.objects import ObjectType
from headgate.sync.connectors.bigquery.bindings import Bindings, Project
from headgate.sync.connectors.bigquery.columns import kept_back
from headgate.sync.connectors.bigquery.denials import denials
from headgate.sync.connectors.bigquery.rows import EVERYONE, Rows
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    Mask,
    Present,
    Principal,
    RowFilter,
    Securable,
)

_T = ObjectType
_OPEN = frozenset(
    Principal(Kind.GROUP, name)
    for name in ("allUsers", EVERYONE, f"specialGroup:{EVERYONE}", "iamMember:allUsers")
)


class BigQueryReader:
    """Reads everything: datasets, tables and views, who holds which role on each, their row access policies, what columns keep back."""

    def __init__(self, project: Project, people: frozenset[Principal]) -> None:
        self.project = project
        self.bindings = Bindings(project)
        self.rows = Rows(project)
        self.catalog = Securable(_T.CATALOG, (project.name,))
        self.facts: set[Fact] = {Present(self.catalog), *map(Known, people)}
        self.notes: set[str] = set()

    def reading(self) -> Reading:
        for who, role in self.project.bindings():
            self._granted(who, self.catalog, role)
            self.notes.add(f"{role} on the project itself reaches everything in it")
        for denied in denials(self.project):
            self.facts.update((Known(denied.holder), denied))
            self.notes.add(
                f"{denied.privilege} is denied to some: roles that give it are not told as giving it"
            )
        for object in self._objects():
            self.facts.add(Present(object))
            for who, role in self.bindings.read(object):
                self._granted(who, object, role)
            if object.type is _T.TABLE:
                self._restricted(self.rows.read(object))
            if object.type is not _T.SCHEMA:
                self._kept_back(kept_back(self.project, object))
        return Reading(Facts(self.facts), notes=tuple(sorted(self.notes)))

    def _objects(self) -> Iterator[Securable]:
        for dataset in self.project.listed(self.project.at("datasets"), "datasets"):
            name = dataset["datasetReference"]["datasetId"]
            yield Securable(_T.SCHEMA, (*self.catalog.path, name))
            for table in self.project.listed(self.project.at("datasets", name, "tables"), "tables"):
                view = "VIEW" in str(table.get("type", ""))
                leaf = table["tableReference"]["tableId"]
                yield Securable(_T.VIEW if view else _T.TABLE, (*self.catalog.path, name, leaf))

    def _granted(self, who: Principal, object: Securable, role: str) -> None:
        self.facts.update((Known(who), GrantFact(who, object, role)))
        if who in _OPEN:
            self.notes.add(f"{object} is open to {who.name} by {role}")

    def _kept_back(self, rules: Iterable[RowFilter | Mask]) -> None:
        for rule in rules:
            self.facts.add(rule)
            self.notes.add(f"{rule.object} has {rule.name}: read as showing nobody anything of it")

    def _restricted(self, rules: Iterator[RowFilter]) -> None:
        for rule in rules:
            self.facts.add(rule)
            self.facts.update(Known(who) for who in (*rule.to, *rule.exempt))
