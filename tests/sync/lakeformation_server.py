"""Lake Formation for tests: moto's server for the wire, Glue and IAM, with Lake Formation's own rules written anew.

Its refusals follow the service: unknown principals, objects and columns, permissions that do not fit a resource, a revocation
of nothing, batches of more than twenty; lists are paged, a grant on a whole table is told as one on all its columns, and it can
be made to throttle. It answers who may do what from what it holds.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import boto3
from moto.core.exceptions import JsonRESTError
from moto.glue import glue_backends
from moto.iam import iam_backends
from moto.lakeformation import lakeformation_backends, urls
from moto.lakeformation.responses import LakeFormationResponse
from moto.server import ThreadedMotoServer

ACCOUNT = "123456789012"
REGION = "eu-central-1"

_FITS = {
    "Catalog": {"ALL", "SUPER_USER", "ALTER", "CREATE_DATABASE", "DESCRIBE", "DROP", "CREATE_LF_TAG", "CREATE_CATALOG"},
    "Database": {"ALL", "ALTER", "CREATE_TABLE", "DESCRIBE", "DROP"},
    "Table": {"ALL", "ALTER", "DELETE", "DESCRIBE", "DROP", "INSERT", "SELECT"},
    "TableWithColumns": {"SELECT"},
    "DataCellsFilter": {"SELECT", "DESCRIBE", "DROP"},
    "DataLocation": {"DATA_LOCATION_ACCESS"},
    "LFTag": {"ASSOCIATE", "DESCRIBE", "GRANT_WITH_LF_TAG_EXPRESSION", "ALTER", "DROP"},
    "LFTagPolicy": {"ALL", "ALTER", "CREATE_TABLE", "DELETE", "DESCRIBE", "DROP", "INSERT", "SELECT"},
}  # fmt: skip
_VIEW = {"ALL", "SELECT", "DESCRIBE", "DROP"}


def invalid(message: str) -> JsonRESTError:
    return JsonRESTError("InvalidInputException", message)


def absent(message: str) -> JsonRESTError:
    return JsonRESTError("EntityNotFoundException", message)


class Lake:
    """What Lake Formation holds of one account. A grant is held per principal, resource and permission."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
        """Permissions, and whether each may be handed on, by principal and resource."""
        self.filters: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.attached: list[dict[str, Any]] | None = []
        """The policies of row-level security by what they are attached to; None before there were any."""
        self.busy = 0
        """How many requests are still turned away."""
        self.failing: dict[str, str] = {}
        """Error codes for principals whose next batch entry fails."""
        self.asked: list[str] = []

    # -- writing -------------------------------------------------------------------------------------------------

    def grant(self, entry: dict[str, Any]) -> None:
        for holder, key, words, options in self._checked(entry):
            self._whole_or_part(holder, key, words)
            for word in words:
                self.held[holder, key][word] = self.held[holder, key].get(word, False) or word in options

    def _whole_or_part(self, holder: str, key: str, words: set[str]) -> None:
        """Who reads a part of a table may not be let write to it."""
        table = json.loads(key).get("Table")
        if table and "Name" in table and words & {"ALTER", "DROP", "DELETE", "INSERT"}:
            place = (table["DatabaseName"], table["Name"])
            parts = (_cells(*f) for f in self.filters if f[:2] == place)
            if any("SELECT" in self.held.get((holder, part), {}) for part in parts):
                raise invalid("The principal has filtered access to the table.")

    def revoke(self, entry: dict[str, Any]) -> None:
        changed = False
        for holder, key, words, options in self._checked(entry):
            mine = self.held.get((holder, key), {})
            for word in words:
                changed |= mine.pop(word, None) is not None
            for word in options & mine.keys():
                changed |= mine[word]
                mine[word] = False
        if not changed:
            raise invalid(
                "No permissions revoked. Grantee does not have the permissions on the specified resource."
            )

    def _checked(self, entry: dict[str, Any]) -> Iterator[tuple[str, str, set[str], set[str]]]:
        holder = (entry.get("Principal") or {}).get("DataLakePrincipalIdentifier", "")
        self._known(holder)
        resource = entry.get("Resource") or {}
        if len(resource) != 1:
            raise invalid("Resource must have exactly one of its fields populated.")
        ((kind, body),) = resource.items()
        words, options = (set(entry.get(f) or ()) for f in ("Permissions", "PermissionsWithGrantOption"))
        if not words:
            raise invalid("Permissions cannot be empty.")
        if not options <= words:
            raise invalid("Permissions with grant option must be among the permissions.")
        fits = _FITS.get(kind, set())
        if kind == "Table" and body.get("TableWildcard") is None and self._is_view(body):
            fits = _VIEW
        if not words <= fits:
            raise invalid(f"Permissions modification is invalid: {sorted(words - fits)} on {kind}.")
        for part in self._parts(kind, body):
            key = json.dumps(
                part | ({"If": entry["Condition"]} if entry.get("Condition") else {}), sort_keys=True
            )
            yield holder, key, words, options

    def _known(self, holder: str) -> None:
        if holder.startswith("arn:aws:iam::"):
            people = iam_backends[ACCOUNT]["aws"]
            known = {user.arn for user in people.users.values()} | {
                role.arn for role in people.roles.values()
            }
            if holder not in known:
                raise invalid(f"Invalid principal, {holder} does not exist")
        elif not 1 <= len(holder) <= 255:
            raise invalid("Principal is mandatory")

    def _parts(self, kind: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """One resource per column, so that columns are granted and revoked one by one; the rest as it is."""
        if body.get("CatalogId", ACCOUNT) != ACCOUNT:
            raise JsonRESTError("AccessDeniedException", "Cross account access is not set up")
        body = {k: v for k, v in body.items() if k != "CatalogId"}
        if kind == "Database":
            self.database(body["Name"])
        elif kind == "Table":
            if ("Name" in body) == ("TableWildcard" in body):
                raise invalid("Exactly one of table name and table wildcard must be present.")
            if "Name" in body:
                self.table(body["DatabaseName"], body["Name"])
            else:
                self.database(body["DatabaseName"])
        elif kind == "TableWithColumns":
            yield from self._columns(body)
            return
        elif kind == "DataCellsFilter":
            if (body["DatabaseName"], body["TableName"], body["Name"]) not in self.filters:
                raise absent("Data cells filter not found.")
        elif kind == "LFTagPolicy":
            tags = lakeformation_backends[ACCOUNT][REGION].list_lf_tags(ACCOUNT)
            for term in body["Expression"]:
                if not set(term["TagValues"]) <= set(tags.get(term["TagKey"], ())):
                    raise absent("Tag or tag value does not exist.")
        yield {kind: body}

    def _columns(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        table = self.table(body["DatabaseName"], body["Name"])
        place = {"DatabaseName": body["DatabaseName"], "Name": body["Name"]}
        if ("ColumnNames" in body) == ("ColumnWildcard" in body):
            raise invalid("Exactly one of column names and column wildcard must be present.")
        named = body.get("ColumnNames") or body["ColumnWildcard"].get("ExcludedColumnNames") or []
        there = {column["Name"] for column in table.get("StorageDescriptor", {}).get("Columns", [])}
        if not set(named) <= there:
            raise absent(f"Column not found: {sorted(set(named) - there)}")
        if "ColumnWildcard" in body and not named:
            yield {"Table": place}
        elif "ColumnWildcard" in body:
            yield {"TableWithColumns": {**place, "ColumnWildcard": {"ExcludedColumnNames": sorted(named)}}}
        else:
            for name in named:
                yield {"TableWithColumns": {**place, "ColumnNames": [name]}}

    def database(self, name: str) -> Any:
        found = glue_backends[ACCOUNT][REGION].databases.get(name)
        if found is None:
            raise absent(f"Database not found: {name}")
        return found

    def table(self, database: str, name: str) -> dict[str, Any]:
        found = self.database(database).tables.get(name)
        if found is None:
            raise absent(f"Table not found: {name}")
        return dict(found.as_dict())

    def _is_view(self, body: dict[str, Any]) -> bool:
        return self.table(body["DatabaseName"], body["Name"]).get("TableType") == "VIRTUAL_VIEW"

    # -- reading -------------------------------------------------------------------------------------------------

    def listed(self) -> list[dict[str, Any]]:
        """All grants, columns of one table together, a whole table's SELECT as one on all columns."""
        found: list[dict[str, Any]] = []
        columns: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
        for (holder, key), words in sorted(self.held.items()):
            whole = json.loads(key)
            condition = whole.pop("If", None)
            ((kind, body),) = whole.items()
            body = {"CatalogId": ACCOUNT, **body} if kind not in ("Catalog", "DataCellsFilter") else body
            if kind == "TableWithColumns" and "ColumnNames" in body:
                for option in words.values():
                    place = json.dumps({k: v for k, v in body.items() if k != "ColumnNames"})
                    columns[holder, place, option] += body["ColumnNames"]
                continue
            if kind == "Table" and "TableWildcard" in body:
                body = {**body, "Name": "ALL_TABLES"}
            apart = {"SELECT"} if kind == "Table" else set()
            columns_of = {k: v for k, v in body.items() if k != "TableWildcard"}
            for chosen, resource in (
                ({w: o for w, o in words.items() if w not in apart}, {kind: body}),
                (
                    {w: o for w, o in words.items() if w in apart},
                    {"TableWithColumns": {**columns_of, "ColumnWildcard": {}}},
                ),
            ):
                if chosen:
                    found.append(_entry(holder, resource, chosen, condition))
        for (holder, place, option), names in columns.items():
            resource = {"TableWithColumns": {**json.loads(place), "ColumnNames": sorted(names)}}
            found.append(_entry(holder, resource, {"SELECT": option}, None))
        return found

    def may(self, holder: str, word: str, database: str, table: str = "", column: str = "") -> bool:
        """Whether one of these words is held where it counts, directly or by all tables of the database."""

        def has(resource: dict[str, Any], *words: str) -> bool:
            return bool(self.held.get((holder, json.dumps(resource, sort_keys=True)), {}).keys() & set(words))

        place = {"DatabaseName": database, "Name": table}
        if not table:
            return has({"Database": {"Name": database}}, word, "ALL")
        words: tuple[str, ...] = (word,)
        if not self._is_view(place):
            # Whoever may write the files may read them; a view has none.
            words = {"SELECT": ("SELECT", "INSERT", "DELETE"), "INSERT": ("INSERT", "DELETE")}.get(
                word, words
            )
        whole = has({"Table": place}, *words, "ALL") or has(
            {"Table": {"DatabaseName": database, "TableWildcard": {}}}, *words, "ALL"
        )
        return whole or (bool(column) and has({"TableWithColumns": {**place, "ColumnNames": [column]}}, word))

    def sees(self, holder: str, database: str, table: str) -> set[str] | None:
        """The expressions of which a row must meet one to be seen; None for all rows."""
        if self.may(holder, "SELECT", database, table):
            return None
        return {
            data["RowFilter"].get("FilterExpression", "true")
            for (d, t, name), data in self.filters.items()
            if (d, t) == (database, table) and "SELECT" in self.held.get((holder, _cells(d, t, name)), {})
        }


def _cells(database: str, table: str, name: str) -> str:
    place = {"TableCatalogId": ACCOUNT, "DatabaseName": database, "TableName": table, "Name": name}
    return json.dumps({"DataCellsFilter": place}, sort_keys=True)


def _entry(holder: str, resource: dict[str, Any], words: dict[str, bool], condition: Any) -> dict[str, Any]:
    entry = {
        "Principal": {"DataLakePrincipalIdentifier": holder},
        "Resource": resource,
        "Permissions": sorted(words),
        "PermissionsWithGrantOption": sorted(w for w, option in words.items() if option),
    }
    return entry | ({"Condition": condition} if condition else {})


class Answers(LakeFormationResponse):
    """The wire: moto's for settings and the making of tags, ours for everything about permissions."""

    lake = Lake()

    def call_action(self) -> Any:
        lake = self.lake
        lake.asked.append(self._get_action())
        if lake.busy:
            lake.busy -= 1
            error = JsonRESTError("ThrottlingException", "Rate exceeded")
            return error.code, error.get_headers(), error.get_body()
        return super().call_action()

    def _one(self, entry: dict[str, Any], write: str) -> None:
        who = (entry.get("Principal") or {}).get("DataLakePrincipalIdentifier", "")
        if who in self.lake.failing:
            raise JsonRESTError(self.lake.failing.pop(who), "Try again")
        getattr(self.lake, write)(entry)

    def grant_permissions(self) -> str:
        self._one(self._whole(), "grant")
        return "{}"

    def revoke_permissions(self) -> str:
        self._one(self._whole(), "revoke")
        return "{}"

    def _whole(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    def batch_grant_permissions(self) -> str:
        return self._batch("grant")

    def batch_revoke_permissions(self) -> str:
        return self._batch("revoke")

    def _batch(self, write: str) -> str:
        entries = self._get_param("Entries")
        if len(entries) > 20 or len({entry["Id"] for entry in entries}) < len(entries):
            raise invalid("A batch has at most 20 entries, each with an id of its own.")
        failures = []
        for entry in entries:
            try:
                self._one(entry, write)
            except JsonRESTError as error:
                detail = {"ErrorCode": error.error_type, "ErrorMessage": error.message}
                failures.append({"RequestEntry": entry, "Error": detail})
        return json.dumps({"Failures": failures})

    def list_permissions(self) -> str:
        return self._paged("PrincipalResourcePermissions", self.lake.listed())

    def _paged(self, field: str, found: list[dict[str, Any]]) -> str:
        size = min(self._get_param("MaxResults") or 100, self.page)
        start = int(self._get_param("NextToken") or 0)
        answer: dict[str, Any] = {field: found[start : start + size]}
        if start + size < len(found):
            answer["NextToken"] = str(start + size)
        return json.dumps(answer)

    page = 1000

    # -- data cells filters --------------------------------------------------------------------------------------

    def create_data_cells_filter(self) -> str:
        data = self._get_param("TableData")
        key = self._checked_filter(data)
        if key in self.lake.filters:
            raise JsonRESTError("AlreadyExistsException", f"Data cells filter {data['Name']} already exists.")
        self.lake.filters[key] = {**data, "VersionId": "1"}
        return "{}"

    def update_data_cells_filter(self) -> str:
        data = self._get_param("TableData")
        key = self._checked_filter(data)
        if key not in self.lake.filters:
            raise absent("Data cells filter not found.")
        now = self.lake.filters[key]["VersionId"]
        if data.get("VersionId", now) != now:
            raise JsonRESTError("ConcurrentModificationException", "The filter has another version.")
        self.lake.filters[key] = {**data, "VersionId": str(int(now) + 1)}
        return "{}"

    def delete_data_cells_filter(self) -> str:
        key = tuple(self._get_param(field) for field in ("DatabaseName", "TableName", "Name"))
        if key not in self.lake.filters:
            raise absent("Data cells filter not found.")
        del self.lake.filters[key]
        cells = _cells(*key)
        for held in [held for held in self.lake.held if held[1] == cells]:
            del self.lake.held[held]
        return "{}"

    def _checked_filter(self, data: dict[str, Any]) -> tuple[str, str, str]:
        table = self.lake.table(data["DatabaseName"], data["TableName"])
        if ("ColumnNames" in data) == ("ColumnWildcard" in data):
            raise invalid("Exactly one of column names and column wildcard must be present.")
        rows = data.get("RowFilter") or {}
        if ("FilterExpression" in rows) == ("AllRowsWildcard" in rows):
            raise invalid("Exactly one of filter expression and all rows wildcard must be present.")
        if not 1 <= len(data["Name"]) <= 255 or len(rows.get("FilterExpression", "")) >= 2048:
            raise invalid("The name or the expression is too long.")
        there = {column["Name"] for column in table.get("StorageDescriptor", {}).get("Columns", [])}
        if not set(data.get("ColumnNames") or ()) <= there:
            raise absent("Column not found.")
        return data["DatabaseName"], data["TableName"], data["Name"]

    def list_data_cells_filter(self) -> str:
        return self._paged("DataCellsFilters", list(self.lake.filters.values()))

    # -- row-level security --------------------------------------------------------------------------------------

    def list_rls_policy_attachments(self) -> str:
        if self.lake.attached is None:
            raise JsonRESTError("UnknownOperationException", "")
        return self._paged("RLSPolicyAttachments", self.lake.attached)

    # -- tags ----------------------------------------------------------------------------------------------------

    def get_resource_lf_tags(self) -> str:
        backend = self.lakeformation_backend
        ((kind, body),) = self._get_param("Resource").items()
        answer: dict[str, Any] = {}
        if kind == "Database":
            self.lake.database(body["Name"])
            answer["LFTagOnDatabase"] = backend.lf_database_tags.get((ACCOUNT, body["Name"]), [])
        else:
            place = (ACCOUNT, body["DatabaseName"], body["Name"])
            self.lake.table(*place[1:])
            answer["LFTagsOnTable"] = backend.lf_table_tags.get(place, [])
            answer["LFTagsOnColumns"] = [
                {"Name": key[3], "LFTags": tags}
                for key, tags in backend.lf_columns_tags.items()
                if key[:3] == place
            ]
        return json.dumps(answer)


def serve() -> ThreadedMotoServer:
    """The server, on a port of its own on loopback. The rules are those of every server of this process."""
    answers = Answers()
    more = (
        *("CreateDataCellsFilter", "UpdateDataCellsFilter", "DeleteDataCellsFilter"),
        "ListRLSPolicyAttachments",
    )
    urls.url_paths.update(dict.fromkeys(urls.url_paths, answers.dispatch))
    urls.url_paths.update({f"{{0}}/{operation}$": answers.dispatch for operation in more})
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    return server


def session(server: ThreadedMotoServer) -> tuple[boto3.Session, str]:
    """A session with keys that mean nothing, and the address for it."""
    host, port = server.get_host_and_port()
    made = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)
    return made, f"http://{host}:{port}"
