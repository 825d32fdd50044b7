"""BigQuery over its REST API: one project, presented as one catalog whose schemas are its datasets.

A user or service account is a user by its e-mail address, a group is one whose members the directory knows. The words are IAM
roles, and what a role gives follows from the permissions in it, those of the project's own roles included. Grants on a dataset
reach everything in it; there are no gates and owners. Bindings of the project itself, and what IAM denies there or above, are shown and
never touched.
Row filters are row access policies; whoever none of them names sees no row. Columns with security of their own are read as hidden.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import httpx
import msgspec

from headgate.model.errors import ConnectionFailed, HeadgateError, IllegalArgument
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.actions import of, reaches, type_of
from headgate.sync.capabilities import NO_GATES, Capabilities, Semantics
from headgate.sync.connectors.bigquery_bindings import Bindings, Project
from headgate.sync.connectors.bigquery_columns import OF_ITS_OWN
from headgate.sync.connectors.bigquery_denials import denied_actions
from headgate.sync.connectors.bigquery_rows import Rows, checked
from headgate.sync.connectors.bigquery_sight import Sight
from headgate.sync.connectors.pacing import Pacing
from headgate.sync.connectors.rest import Rest
from headgate.sync.contract import Connector
from headgate.sync.facts import Facts, Grant, Kind, Principal, RowFilter, Securable
from headgate.sync.restrictions import Rule
from headgate.sync.results import Applied, Change, Outcome
from headgate.sync.run import Reading

_T = ObjectType

# To export or to snapshot is to read; to see that something is there is less than any action.
_PERMISSIONS: Final = {
    "tables.getData": of(_T.TABLE, "read") | of(_T.VIEW, "read"),
    "tables.updateData": of(_T.TABLE, "insert", "update", "delete"),
    "tables.update": of(_T.TABLE, "alter") | of(_T.VIEW, "alter"),
    "tables.delete": of(_T.TABLE, "drop") | of(_T.VIEW, "drop"),
    "tables.create": of(_T.SCHEMA, "create_table", "create_view"),
    "tables.createIndex": of(_T.TABLE, "index"),
    "tables.setIamPolicy": of(_T.TABLE, "manage_grants") | of(_T.VIEW, "manage_grants"),
    "rowAccessPolicies.create": of(_T.TABLE, "manage_grants"),
    "rowAccessPolicies.delete": of(_T.TABLE, "manage_grants"),
    "routines.get": of(_T.FUNCTION, "execute"),
    "routines.create": of(_T.SCHEMA, "register_function"),
    "routines.update": of(_T.FUNCTION, "alter"),
    "routines.delete": of(_T.FUNCTION, "drop"),
    "models.getData": of(_T.MODEL, "use"),
    "models.create": of(_T.SCHEMA, "register_model"),
    "datasets.create": of(_T.CATALOG, "create_schema"),
    "datasets.update": of(_T.SCHEMA, "alter", "manage_grants"),
    "datasets.setIamPolicy": of(_T.SCHEMA, "manage_grants"),
    "datasets.delete": of(_T.SCHEMA, "drop"),
}
_VIEWER: Final = {"tables.getData", "routines.get", "models.getData"}
_EDITOR: Final = _VIEWER | {
    "tables.updateData", "tables.update", "tables.delete", "tables.create", "tables.createIndex", "routines.create",
    "routines.update", "routines.delete", "models.create",
}  # fmt: skip
_OWNER: Final = set(_PERMISSIONS) - {"datasets.create"}
PREDEFINED: Final = {
    "roles/bigquery.dataViewer": frozenset(_VIEWER),
    "roles/bigquery.dataEditor": frozenset(_EDITOR),
    "roles/bigquery.dataOwner": frozenset(_OWNER),
}
_LEVELS: Final = (_T.SCHEMA, _T.TABLE, _T.VIEW)
_UNSURE: Final = " DENIED IN PART"


def _natives(roles: dict[str, frozenset[str]]) -> dict[ObjectType, dict[str, frozenset[str]]]:
    """What each role gives when it is bound to an object of each type."""
    gives = {
        role: frozenset().union(
            *(_PERMISSIONS.get(p.removeprefix("bigquery."), frozenset()) for p in permissions)
        )
        for role, permissions in roles.items()
    }
    return {
        level: {role: here for role, all in gives.items() if (here := frozenset(a for a in all if reaches(level, type_of(a))))}
        for level in _LEVELS
    }  # fmt: skip


def capabilities_with(custom: dict[str, frozenset[str]]) -> Capabilities:
    """What BigQuery can hold with the roles that a project has made for itself."""
    return Capabilities(
        system="bigquery",
        semantics=Semantics(
            natives=_natives({**PREDEFINED, **custom}),
            inherits=frozenset({_T.SCHEMA}),
            gates=NO_GATES,
            owner_inherits=False,
        ),
        groups=True,
        other_roles=True,
        direct=frozenset({Kind.USER, Kind.GROUP}),
        rows=True,
        rows_add_up=True,
        dialect="bigquery",
        versions=True,
    )


CAPABILITIES: Final = capabilities_with({})


class BigQueryConnector(Connector):
    """One project. Who there is, is not BigQuery's to say: `people` are the directory's users and groups."""

    def __init__(
        self,
        client: httpx.Client,
        project: str,
        people: Iterable[Principal] = (),
        name: str | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        super().__init__(name or f"bigquery:{project}")
        self.project = Project(Rest(client, pacing), project)
        self.people = frozenset(people)
        self._known: Capabilities | None = None

    @property
    def capabilities(self) -> Capabilities:
        if self._known is None:
            self._known = capabilities_with(self.project.custom_roles())
        return self._known

    def read(self) -> Reading:
        return Sight(self.project, self.people).reading()

    def spelled_out(self, facts: Facts) -> Facts:
        """INVARIANT: what somebody is denied here is not told as granted."""
        denied = denied_actions(facts.grants, _PERMISSIONS)
        given = self.capabilities.semantics.given
        touched = [grant for grant in facts.grants if given(grant.object.type, grant.privilege) & denied]
        unsure = (msgspec.structs.replace(g, privilege=f"{g.privilege}{_UNSURE}") for g in touched)
        return facts.changed(add=unsure, remove=touched)

    def takes(self, rule: Rule) -> bool:
        if not isinstance(rule, RowFilter):
            return False
        try:
            checked(rule)
        except IllegalArgument:
            return False
        return True

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        return _Hand(self.project).make(changes)


class _Hand:
    """Makes changes: what is taken away first, then what is given, each policy written once with all that concerns it."""

    def __init__(self, project: Project) -> None:
        self.bindings = Bindings(project)
        self.rows = Rows(project)

    def make(self, changes: Sequence[Change]) -> list[Applied]:
        answers = [Applied(Outcome.APPLIED)] * len(changes)
        together = [change.after for change in changes if isinstance(change.after, RowFilter)]
        for holds in (False, True):
            by_object: dict[Securable, list[int]] = {}
            for number, change in enumerate(changes):
                fact = change.after if holds else change.before
                match fact:
                    case None:
                        pass
                    case Grant(_, object, _, Condition.ALLOW, False) if object.type in _LEVELS:
                        by_object.setdefault(object, []).append(number)
                    case RowFilter() if not holds and change.after is not None:
                        # INVARIANT: a filter that is replaced never goes before the other is there.
                        pass
                    case RowFilter(name=name) if name == OF_ITS_OWN:
                        answers[number] = Applied(Outcome.UNSUPPORTED, "it belongs to the view")
                    case RowFilter():
                        answers[number] = self._row(fact, holds, together)
                    case _:
                        answers[number] = Applied(Outcome.UNSUPPORTED, "there is no such thing to be written")
            for object, numbers in by_object.items():
                self._write(object, numbers, holds, changes, answers)
        return answers

    def _row(self, rule: RowFilter, holds: bool, together: list[RowFilter]) -> Applied:
        try:
            why = self.rows.put(rule, together) if holds else self.rows.drop(rule)
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))
        return Applied(Outcome.UNSUPPORTED, why) if why else Applied(Outcome.APPLIED)

    def _write(
        self,
        object: Securable,
        numbers: list[int],
        holds: bool,
        changes: Sequence[Change],
        answers: list[Applied],
    ) -> None:
        facts = [changes[n].after if holds else changes[n].before for n in numbers]
        grants = [fact for fact in facts if isinstance(fact, Grant)]
        try:
            self.bindings.write(object, grants, holds)
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            if len(numbers) == 1:
                answers[numbers[0]] = Applied(Outcome.FAILED, str(error))
                return
            # One of them spoils the whole policy: find out which.
            for number in numbers:
                self._write(object, [number], holds, changes, answers)
