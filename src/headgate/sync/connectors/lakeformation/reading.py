"""The data catalog of one account as facts."""

from typing import Any, Final, NamedTuple

from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.sync.connectors.lakeformation.rows import SECURITY, CellsFilter, Filters, reached, shows_rows
from headgate.sync.connectors.lakeformation.words import Words
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    Present,
    Principal,
    RowFilter,
    Securable,
    Tag,
)
from headgate.sync.snapshots.snapshot import ChangeLog, written
from headgate.sync.translating.policy_text import NO_ROW
from headgate.sync.transport.aws import Aws, AwsError

_T = ObjectType

UNMANAGED: Final = "IAM_ALLOWED_PRINCIPALS"
"""Whomever IAM lets in: a grant to them means that Lake Formation decides nothing."""
_NO_SUCH_QUESTION: Final = frozenset({"UnknownOperationException", "InvalidAction"})
"""What an endpoint answers that is older than what it is asked."""


def data_cells_filters(aws: Aws, words: Words) -> Filters:
    """The filters that pushes made; those of others are known by the grants on them alone."""
    found = aws.all("lakeformation", "list_data_cells_filter", "DataCellsFilters", MaxResults=1000)
    own = (entry for entry in found if entry["TableCatalogId"] == words.account)
    return Filters(made for entry in own if (made := CellsFilter.parse(words, entry)) is not None)


class HeldPermissions(NamedTuple):
    """All grants: those on objects, and those of SELECT on a table through a filter that is for the holder."""

    plain: list[GrantFact]
    through: list[tuple[GrantFact, CellsFilter]]


def granted(aws: Aws, words: Words, filters: Filters) -> HeldPermissions:
    """Every grant of the data catalog."""
    held = HeldPermissions([], [])
    entries = aws.all(
        "lakeformation",
        "list_permissions",
        "PrincipalResourcePermissions",
        CatalogId=words.account,
        MaxResults=1000,
    )
    for entry in entries:
        holder = principal(entry["Principal"]["DataLakePrincipalIdentifier"])
        resource, condition = entry["Resource"], entry.get("Condition")
        cells = resource.get("DataCellsFilter")
        way = None
        if cells is not None and not condition:
            table = words.table(cells["DatabaseName"], cells["TableName"])
            way = filters.names.get((table, cells["Name"]))
        optional = set(entry.get("PermissionsWithGrantOption") or ())
        for word in {*(entry.get("Permissions") or ()), *optional}:
            if way is not None and word == "SELECT" and way == filters.way(way.table, holder.name):
                held.through.append((GrantFact(holder, way.table, word, option=word in optional), way))
            else:
                held.plain.extend(
                    GrantFact(holder, object, native, option=word in optional)
                    for object, native in words.parse(word, resource, condition)
                )
    return held


class LakeFormationReader:
    """The facts of one data catalog."""

    def __init__(self, aws: Aws, words: Words) -> None:
        self.aws = aws
        self.words = words
        self.account = words.account
        self.facts: set[Fact] = {Present(words.catalog)}
        self.logs: dict[Principal, ChangeLog] = {}
        self.notes: list[str] = []

    def reading(self) -> Reading:
        self._people()
        tables = self._objects()
        self._grants()
        self._row_level_security(tables)
        self._tags(tables)
        self._settings()
        return Reading(Facts(self.facts), self.logs, notes=tuple(sorted(self.notes)))

    def _people(self) -> None:
        for operation, field in (("list_users", "Users"), ("list_roles", "Roles")):
            for entry in self.aws.all("iam", operation, field, token=("Marker", "Marker")):
                user = Principal(Kind.USER, entry["Arn"])
                self.facts.add(Known(user))
                if entry.get("CreateDate"):
                    self.logs[user] = ChangeLog(created_at=written(entry["CreateDate"]))

    def _objects(self) -> list[Securable]:
        """The databases, tables, views and columns; tables and views are returned."""
        found: list[Securable] = []
        for database in self.aws.all("glue", "get_databases", "DatabaseList", CatalogId=self.account):
            name = database["Name"]
            if SCHEMA_SEPARATOR in name:
                self.notes.append(f"database '{name}' has a colon in its name and cannot be named here")
                continue
            self.facts.add(Present(self.words.schema(name)))
            tables = self.aws.all(
                "glue", "get_tables", "TableList", CatalogId=self.account, DatabaseName=name
            )
            for table in tables:
                view = "VIEW" in str(table.get("TableType", "")).upper()
                object = Securable(
                    _T.VIEW if view else _T.TABLE, (*self.words.schema(name).path, table["Name"])
                )
                found.append(object)
                self.facts.add(Present(object))
                if view:
                    self.words.views.add(object.path)
                else:
                    # Partition keys are left out: a grant on columns cannot name them.
                    columns = table.get("StorageDescriptor", {}).get("Columns", [])
                    self.facts.update(
                        Present(Securable(_T.COLUMN, (*object.path, column["Name"]))) for column in columns
                    )
        return found

    def _grants(self) -> None:
        filters = data_cells_filters(self.aws, self.words)
        held = granted(self.aws, self.words, filters)
        every = [*held.plain, *(grant for grant, _ in held.through)]
        self.facts.update(every)
        self.facts.update(Known(grant.holder) for grant in every)
        if any(grant.holder.name == UNMANAGED for grant in every):
            self.notes.append(
                f"{UNMANAGED} holds a grant: Lake Formation restricts nobody there until it is revoked"
            )
        rows = [grant for grant in held.plain if shows_rows(grant)]
        passing = {
            table: {grant.holder.name for grant in rows if reached(grant, table)}
            for table in {f.table for f in filters.all}
        }
        self.facts.update(filters.rules(passing))

    def _row_level_security(self, tables: list[Securable]) -> None:
        """INVARIANT: whom a row-level policy is for, and what it shows them, is not known: nobody is taken to see a row."""
        try:
            attached = self.aws.all(
                "lakeformation", "list_rls_policy_attachments", "RLSPolicyAttachments", MaxResults=100
            )
        except AwsError as error:
            if error.code not in _NO_SUCH_QUESTION:
                raise
            return
        for entry in attached:
            ((kind, body),) = entry["Resource"].items()
            if body.get("CatalogId", body.get("Id", self.account)) != self.account:
                continue
            place: tuple[str, ...] = self.words.catalog.path
            if kind in ("Table", "TableWithColumns"):
                named = () if body.get("TableWildcard") is not None else (body["Name"],)
                place = (*place, body["DatabaseName"], *named)
            elif kind == "Database":
                place = (*place, body["Name"])
            for table in tables:
                if table.path[: len(place)] == place:
                    self.facts.add(RowFilter(table, SECURITY, NO_ROW))
                    self.notes.append(
                        f"{table} has the row-level policy '{entry['PolicyName']}': no row is read"
                    )

    def _tags(self, tables: list[Securable]) -> None:
        if not self.aws.all("lakeformation", "list_lf_tags", "LFTags", CatalogId=self.account):
            return
        schemas = {table.path[:2] for table in tables}
        schemas |= {
            f.object.path for f in self.facts if isinstance(f, Present) and f.object.type is _T.SCHEMA
        }
        for path in sorted(schemas):
            schema = Securable(_T.SCHEMA, path)
            self._tagged(self._tags_of(schema, "DESCRIBE").get("LFTagOnDatabase"), schema)
        for table in tables:
            answer = self._tags_of(table, "DESCRIBE")
            self._tagged(answer.get("LFTagsOnTable"), table)
            for column in answer.get("LFTagsOnColumns") or ():
                self._tagged(column["LFTags"], Securable(_T.COLUMN, (*table.path, column["Name"])))

    def _tags_of(self, object: Securable, word: str) -> dict[str, Any]:
        resource = self.words.render(object, word).resource
        answer: dict[str, Any] = self.aws(
            "lakeformation", "get_resource_lf_tags", CatalogId=self.account, Resource=resource,
            ShowAssignedLFTags=True,
        )  # fmt: skip
        return answer

    def _tagged(self, pairs: list[dict[str, Any]] | None, object: Securable) -> None:
        for pair in pairs or ():
            self.facts.update(Tag(object, pair["TagKey"], value) for value in pair["TagValues"])

    def _settings(self) -> None:
        answer = self.aws("lakeformation", "get_data_lake_settings", CatalogId=self.account)
        settings = answer["DataLakeSettings"]
        for admin in settings.get("DataLakeAdmins") or ():
            who = admin["DataLakePrincipalIdentifier"]
            self.notes.append(f"'{who}' is a data lake administrator and may grant itself anything")
        for field, what in (
            ("CreateDatabaseDefaultPermissions", "database"),
            ("CreateTableDefaultPermissions", "table"),
        ):
            if settings.get(field):
                self.notes.append(f"a new {what} is open to {UNMANAGED} by the default permissions")


def principal(identifier: str) -> Principal:
    """An identity of IAM acts by itself; everything else — a directory's group, an account, an organisation — is many."""
    single = identifier.startswith("arn:") and identifier.split(":")[2] in ("iam", "sts")
    single = single and identifier.split(":", 5)[5].startswith(("user/", "role/", "assumed-role/"))
    single = single or ":user/" in identifier
    return Principal(Kind.USER if single else Kind.GROUP, identifier)
