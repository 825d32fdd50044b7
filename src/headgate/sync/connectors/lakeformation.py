"""AWS Lake Formation over Glue: the data catalog of one account, presented as one catalog whose schemas are Glue's databases.

A user is an IAM user or role by its ARN; identities of other directories, accounts and organisations are groups whose members
only they know. Grants are additive, there are no roles, owners or gates. A grant that is no plain one on an object of the
catalog — on LF-tags, through a data cells filter, under a condition — is kept whole as a word of its own.
"""

from collections.abc import Sequence
from typing import Any, Final

from headgate.model.errors import HeadgateError
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.model.privileges import Condition
from headgate.sync.actions import of
from headgate.sync.capabilities import NO_GATES, Capabilities, Semantics
from headgate.sync.connectors.aws import Aws, AwsError
from headgate.sync.connectors.lakeformation_words import Entry, Words
from headgate.sync.connectors.lf_tags import by_tags
from headgate.sync.connectors.pacing import Busy
from headgate.sync.contract import Connector
from headgate.sync.facts import Fact, Facts, Grant, Kind, Known, Present, Principal, Securable, Tag
from headgate.sync.results import Applied, Change, Outcome
from headgate.sync.run import Reading

_T = ObjectType

# By the permissions reference INSERT and DELETE are rights to the underlying files, reading included.
_READ = of(_T.TABLE, "read")
_INSERT = of(_T.TABLE, "read", "insert", "update")
_DELETE = of(_T.TABLE, "read", "insert", "update", "delete")
_TABLE: Final = {
    "SELECT": _READ,
    "INSERT": _INSERT,
    "DELETE": _DELETE,
    "ALTER": of(_T.TABLE, "alter"),
    "DROP": of(_T.TABLE, "drop"),
    "DESCRIBE": of(_T.TABLE, "read_metadata"),
    "ALL": _DELETE | of(_T.TABLE, "alter", "drop", "read_metadata"),
}
_VIEW: Final = {
    "SELECT": of(_T.VIEW, "read"),
    "DROP": of(_T.VIEW, "drop"),
    "DESCRIBE": of(_T.VIEW, "read_metadata"),
    "ALL": of(_T.VIEW, "read", "drop", "read_metadata"),
}
_DATABASE: Final = {
    "CREATE_TABLE": of(_T.SCHEMA, "create_table", "create_view"),
    "ALTER": of(_T.SCHEMA, "alter"),
    "DROP": of(_T.SCHEMA, "drop"),
    "DESCRIBE": of(_T.SCHEMA, "read_metadata"),
    "ALL": of(_T.SCHEMA, "create_table", "create_view", "alter", "drop", "read_metadata"),
}

CAPABILITIES: Final = Capabilities(
    system="lakeformation",
    semantics=Semantics(
        natives={
            _T.CATALOG: {
                "CREATE_DATABASE": of(_T.CATALOG, "create_schema"),
                "DESCRIBE": of(_T.CATALOG, "read_metadata"),
                "ALTER": of(_T.CATALOG, "alter"),
                "DROP": of(_T.CATALOG, "drop"),
            },
            _T.SCHEMA: _DATABASE
            | {f"{word} ON ALL TABLES": gives | _VIEW.get(word, frozenset()) for word, gives in _TABLE.items()},
            _T.TABLE: _TABLE,
            _T.VIEW: _VIEW,
            _T.COLUMN: {"SELECT": of(_T.COLUMN, "read")},
        },
        inherits=frozenset({_T.SCHEMA}),
        gates=NO_GATES,
        owner_inherits=False,
    ),
    direct=frozenset({Kind.USER, Kind.GROUP}),
    columns=True,
    grant_option=True,
)  # fmt: skip

UNMANAGED: Final = "IAM_ALLOWED_PRINCIPALS"
"""Whomever IAM lets in: a grant to them means that Lake Formation decides nothing."""

_BATCH: Final = 20
_NOTHING_TO_REVOKE: Final = "No permissions revoked"


class LakeFormationConnector(Connector):
    """The data catalog of one account in one region."""

    def __init__(self, aws: Aws, account: str, catalog: str, name: str | None = None) -> None:
        super().__init__(name or f"lakeformation:{catalog}")
        self.aws = aws
        self.words = Words(account, catalog)

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        return _Sight(self.aws, Words(self.words.account, self.words.catalog.path[0])).reading()

    def spelled_out(self, facts: Facts) -> Facts:
        return by_tags(facts, self.words, CAPABILITIES.semantics)

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        return _Hand(self.aws, self.words).make(changes)


class _Sight:
    """The facts of one data catalog."""

    def __init__(self, aws: Aws, words: Words) -> None:
        self.aws = aws
        self.words = words
        self.account = words.account
        self.facts: set[Fact] = {Present(words.catalog)}
        self.notes: list[str] = []

    def reading(self) -> Reading:
        self._people()
        tables = self._objects()
        self._grants()
        self._tags(tables)
        self._settings()
        return Reading(Facts(self.facts), notes=tuple(sorted(self.notes)))

    def _people(self) -> None:
        for operation, field in (("list_users", "Users"), ("list_roles", "Roles")):
            for entry in self.aws.all("iam", operation, field, token=("Marker", "Marker")):
                self.facts.add(Known(Principal(Kind.USER, entry["Arn"])))

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
        entries = self.aws.all(
            "lakeformation", "list_permissions", "PrincipalResourcePermissions",
            CatalogId=self.account, MaxResults=1000,
        )  # fmt: skip
        for entry in entries:
            holder = principal(entry["Principal"]["DataLakePrincipalIdentifier"])
            self.facts.add(Known(holder))
            if holder.name == UNMANAGED:
                self.notes.append(
                    f"{UNMANAGED} holds a grant: Lake Formation restricts nobody there until it is revoked"
                )
            optional = set(entry.get("PermissionsWithGrantOption") or ())
            for word in {*(entry.get("Permissions") or ()), *optional}:
                for object, said in self.words.told(word, entry["Resource"], entry.get("Condition")):
                    self.facts.add(Grant(holder, object, said, option=word in optional))
        self.notes = sorted(set(self.notes))

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
        resource = self.words.said(object, word).resource
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


class _Hand:
    """Makes changes in batches: runs of grants and runs of revocations, in the order they came."""

    def __init__(self, aws: Aws, words: Words) -> None:
        self.aws = aws
        self.words = words

    def make(self, changes: Sequence[Change]) -> list[Applied]:
        answers = [Applied(Outcome.APPLIED)] * len(changes)
        waiting: list[dict[str, Any]] = []
        doing = ""
        for number, change in enumerate(changes):
            try:
                steps = self._steps(change)
            except HeadgateError as error:
                answers[number] = Applied(Outcome.UNSUPPORTED, str(error))
                continue
            for operation, entry in steps:
                if waiting and (operation != doing or len(waiting) == _BATCH):
                    self._send(doing, waiting, answers)
                    waiting = []
                doing = operation
                waiting.append({"Id": str(number), **entry.arguments})
        if waiting:
            self._send(doing, waiting, answers)
        return answers

    def _steps(self, change: Change) -> list[tuple[str, Entry]]:
        """What a change comes to. To hand on as well is granted on top; no longer to hand on is granted anew."""
        before, after = change.before, change.after
        on_top = isinstance(after, Grant) and after.option and before is not None
        steps = [] if on_top or before is None else [("batch_revoke_permissions", self._entry(before))]
        return steps if after is None else [*steps, ("batch_grant_permissions", self._entry(after))]

    def _entry(self, fact: Fact) -> Entry:
        match fact:
            case Grant(holder, object, word, Condition.ALLOW, option):
                return self.words.said(object, word).to(holder.name, option)
            case Grant():
                raise HeadgateError("there is no deny")
            case Known():
                raise HeadgateError("principals are made in IAM")
            case _:
                raise HeadgateError("there is no such thing")

    def _send(self, operation: str, entries: list[dict[str, Any]], answers: list[Applied]) -> None:
        """INVARIANT: the service answers yes to a batch of which parts failed; each failure is one's own."""
        left = {entry["Id"]: entry for entry in entries}

        def ask() -> None:
            answer = self.aws.once(
                "lakeformation", operation, CatalogId=self.words.account, Entries=list(left.values())
            )
            failures = {f["RequestEntry"]["Id"]: f["Error"] for f in answer.get("Failures") or ()}
            busy = ""
            for id in list(left):
                error = AwsError.of(failures[id]) if id in failures else None
                if error is not None and error.busy:
                    busy = str(error)
                    continue
                del left[id]
                if error is not None and _NOTHING_TO_REVOKE not in str(error):
                    answers[int(id)] = Applied(Outcome.FAILED, str(error))
            if left:
                raise Busy(busy)

        try:
            self.aws.pacing(ask)
        except AwsError as error:
            for id in left:
                answers[int(id)] = Applied(Outcome.FAILED, str(error))
