"""Every operation as the HTTP request that asks for it."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from headgate.decide import Op
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.privileges import Privilege
from tests.decide.scenario import LAKE, Row

Request = tuple[str, str, Any]
"""Method, path, body."""

_LAKES = "/api/metalakes"
_LAKE = f"{_LAKES}/{LAKE}"
_PLURAL = {
    ObjectType.POLICY: "policies",
    ObjectType.JOB_TEMPLATE: "jobs/templates",
    ObjectType.JOB: "jobs/runs",
}
_COMMENT = {"updates": [{"@type": "updateComment", "newComment": "new"}]}
_PROPERTY = {"updates": [{"@type": "setProperty", "property": "k", "value": "v"}]}
_COLUMNS = [{"name": "id", "type": "integer", "nullable": True}]
_SQL = [{"type": "sql", "dialect": "spark", "sql": "SELECT 1 AS id"}]
_DEFINITION = {
    "parameters": [{"name": "x", "dataType": "integer"}],
    "returnType": "integer",
    "impls": [{"language": "SQL", "runtime": "SPARK", "sql": "x + 1"}],
}
_CONTENT = {"customRules": {"k": "v"}, "supportedObjectTypes": ["table", "catalog"], "properties": {}}
_JOB = {"jobType": "shell", "name": "new", "executable": "/bin/true", "arguments": [], "environments": {}}

NEW: dict[ObjectType, dict[str, Any]] = {
    ObjectType.SCHEMA: {"name": "new"},
    ObjectType.TABLE: {"name": "new", "columns": _COLUMNS},
    ObjectType.VIEW: {"name": "new", "columns": _COLUMNS, "representations": _SQL},
    ObjectType.FUNCTION: {
        "name": "new",
        "functionType": "scalar",
        "deterministic": True,
        "definitions": [_DEFINITION],
    },
    ObjectType.FILESET: {"name": "new", "type": "managed"},
    ObjectType.TOPIC: {"name": "new"},
    ObjectType.MODEL: {"name": "new"},
    ObjectType.TAG: {"name": "new"},
    ObjectType.POLICY: {"name": "new", "policyType": "custom", "enabled": True, "content": _CONTENT},
    ObjectType.JOB_TEMPLATE: {"jobTemplate": _JOB},
}
"""The smallest body that makes one of each."""

CATALOGS = {
    ObjectType.TABLE: ("relational", "lakehouse-iceberg"),
    ObjectType.VIEW: ("relational", "lakehouse-iceberg"),
    ObjectType.FUNCTION: ("relational", "lakehouse-iceberg"),
    ObjectType.FILESET: ("fileset", "fileset"),
    ObjectType.TOPIC: ("messaging", "topic"),
    ObjectType.MODEL: ("model", "model"),
}
"""The type and provider of the catalog that may hold a leaf."""


def plural(type: ObjectType) -> str:
    return _PLURAL.get(type, f"{type}s")


def path(ref: ObjectRef) -> str:
    """Where an object is served."""
    if ref.type is ObjectType.METALAKE:
        return _LAKE
    kinds = (
        [ObjectType.CATALOG, ObjectType.SCHEMA, ref.type][: len(ref.path)]
        if len(ref.path) > 1
        else [ref.type]
    )
    return _LAKE + "".join(
        f"/{plural(kind)}/{quote(name, safe='')}" for kind, name in zip(kinds, ref.path, strict=True)
    )


def collection(holder: ObjectRef, type: ObjectType) -> str:
    return f"{path(holder)}/{plural(type)}"


def _object(ref: ObjectRef, part: str) -> str:
    return f"{_LAKE}/objects/{ref.type}/{quote(ref.full_name, safe='')}/{part}"


def new(type: ObjectType) -> Callable[[Row], Request]:
    return lambda row: ("POST", collection(row.ref, type), NEW[type])


def listing(type: ObjectType) -> Callable[[Row], Request]:
    return lambda row: ("GET", collection(row.ref, type), None)


def at(method: str, tail: str = "", body: Any = None) -> Callable[[Row], Request]:
    return lambda row: (method, path(row.ref) + tail, body)


def _new_schema(row: Row) -> Request:
    """A nested schema is made in its catalog, under a name that begins with the outer one's."""
    if row.ref.type is ObjectType.CATALOG:
        return "POST", collection(row.ref, ObjectType.SCHEMA), {"name": "new"}
    return "POST", collection(row.ref.parent, ObjectType.SCHEMA), {"name": f"{row.ref.name}:new"}


def _privilege(verb: str) -> Callable[[Row], Request]:
    def request(row: Row) -> Request:
        fitting = next(p for p in Privilege if row.ref.type in p.bindable)
        where = f"{_LAKE}/permissions/roles/spare/{row.ref.type}/{quote(row.ref.full_name, safe='')}/{verb}"
        return "PUT", where, {"privileges": [{"name": fitting.wire, "condition": "allow"}]}

    return request


def _apply(word: str) -> Callable[[Row], Request]:
    def request(row: Row) -> Request:
        assert row.beside is not None, "a tag or policy is put on something"
        return "POST", _object(row.beside, word), {f"{word}ToAdd": [row.ref.name], f"{word}ToRemove": []}

    return request


def _person(row: Row, default: str) -> str:
    return row.about.name if row.about else default


_FILE = {"name": "new", "metadata-location": "file:///nowhere/metadata/0.metadata.json"}
_CATALOG = {"name": "new", "type": "model", "provider": "model", "properties": {}}


def _iceberg(ref: ObjectRef, what: str) -> str:
    """Data is read through the Iceberg door only."""
    catalog, schema, table = ref.path
    return f"/iceberg/v1/{ref.metalake}.{catalog}/namespaces/{schema}/tables/{table}/{what}"


REQUESTS: dict[Op, Callable[[Row], Request]] = {
    Op.CREATE_METALAKE: lambda row: ("POST", _LAKES, {"name": "new"}),
    Op.LIST_METALAKES: lambda row: ("GET", _LAKES, None),
    Op.LOAD_METALAKE: at("GET"),
    Op.ALTER_METALAKE: at("PUT", body=_COMMENT),
    Op.SET_METALAKE_IN_USE: at("PATCH", body={"inUse": True}),
    Op.DROP_METALAKE: at("DELETE", "?force=true"),
    Op.LIST_CATALOGS: listing(ObjectType.CATALOG),
    Op.CREATE_CATALOG: lambda row: ("POST", f"{_LAKE}/catalogs", _CATALOG),
    Op.TEST_CONNECTION: lambda row: ("POST", f"{_LAKE}/catalogs/testConnection", _CATALOG),
    Op.TEST_CATALOG_CONNECTION: at("POST", "/testConnection", {"updates": []}),
    Op.LOAD_CATALOG: at("GET"),
    Op.SET_CATALOG_IN_USE: at("PATCH", body={"inUse": True}),
    Op.ALTER_CATALOG: at("PUT", body=_COMMENT),
    Op.CHOOSE_PLACE: lambda row: ("POST", f"/iceberg/v1/{LAKE}.{row.ref.name}/namespaces/s/register", _FILE),
    Op.DROP_CATALOG: at("DELETE", "?force=true"),
    Op.LIST_SCHEMAS: listing(ObjectType.SCHEMA),
    Op.CREATE_SCHEMA: _new_schema,
    Op.LOAD_SCHEMA: at("GET"),
    Op.ALTER_SCHEMA: at("PUT", body=_PROPERTY),
    Op.DROP_SCHEMA: at("DELETE", "?cascade=true"),
    Op.LIST_TABLES: listing(ObjectType.TABLE),
    Op.CREATE_TABLE: new(ObjectType.TABLE),
    Op.LOAD_TABLE: at("GET"),
    Op.READ_TABLE: lambda row: ("POST", _iceberg(row.ref, "plan"), {}),
    Op.ALTER_TABLE: at("PUT", body=_COMMENT),
    Op.DROP_TABLE: at("DELETE"),
    Op.READ_PARTITIONS: at("GET", "/partitions"),
    Op.WRITE_PARTITIONS: at("POST", "/partitions", {"partitions": []}),
    Op.READ_STATISTICS: lambda row: ("GET", _object(row.ref, "statistics"), None),
    Op.WRITE_STATISTICS: lambda row: ("PUT", _object(row.ref, "statistics"), {"updates": {"custom-x": 1}}),
    Op.LIST_VIEWS: listing(ObjectType.VIEW),
    Op.CREATE_VIEW: new(ObjectType.VIEW),
    Op.LOAD_VIEW: at("GET"),
    Op.ALTER_VIEW: at("PUT", body=_PROPERTY),
    Op.DROP_VIEW: at("DELETE"),
    Op.LIST_FUNCTIONS: listing(ObjectType.FUNCTION),
    Op.REGISTER_FUNCTION: new(ObjectType.FUNCTION),
    Op.LOAD_FUNCTION: at("GET"),
    Op.ALTER_FUNCTION: at("PUT", body=_COMMENT),
    Op.DROP_FUNCTION: at("DELETE"),
    Op.LIST_FILESETS: listing(ObjectType.FILESET),
    Op.CREATE_FILESET: new(ObjectType.FILESET),
    Op.LOAD_FILESET: at("GET"),
    Op.ALTER_FILESET: at("PUT", body=_COMMENT),
    Op.DROP_FILESET: at("DELETE"),
    Op.LIST_FILES: at("GET", "/files?sub_path=/"),
    Op.LIST_TOPICS: listing(ObjectType.TOPIC),
    Op.CREATE_TOPIC: new(ObjectType.TOPIC),
    Op.LOAD_TOPIC: at("GET"),
    Op.ALTER_TOPIC: at("PUT", body=_COMMENT),
    Op.DROP_TOPIC: at("DELETE"),
    Op.LIST_MODELS: listing(ObjectType.MODEL),
    Op.REGISTER_MODEL: new(ObjectType.MODEL),
    Op.LOAD_MODEL: at("GET"),
    Op.ALTER_MODEL: at("PUT", body=_COMMENT),
    Op.DROP_MODEL: at("DELETE"),
    Op.READ_MODEL_VERSIONS: at("GET", "/versions"),
    Op.LINK_MODEL_VERSION: at("POST", "/versions", {"uri": "s3://bucket/model", "aliases": []}),
    Op.ALTER_MODEL_VERSION: at("PUT", "/versions/0", _COMMENT),
    Op.DELETE_MODEL_VERSION: at("DELETE", "/versions/0"),
    Op.LIST_USERS: lambda row: ("GET", f"{_LAKE}/users", None),
    Op.GET_USER: lambda row: ("GET", f"{_LAKE}/users/{_person(row, 'spare')}", None),
    Op.ADD_USER: lambda row: ("POST", f"{_LAKE}/users", {"name": "new"}),
    Op.REMOVE_USER: lambda row: ("DELETE", f"{_LAKE}/users/spare", None),
    Op.SET_USER_ATTRIBUTES: lambda row: ("PUT", f"{_LAKE}/users/spare/attributes", {"attributes": {}}),
    Op.LIST_GROUPS: lambda row: ("GET", f"{_LAKE}/groups", None),
    Op.GET_GROUP: lambda row: ("GET", f"{_LAKE}/groups/{_person(row, 'spare')}", None),
    Op.ADD_GROUP: lambda row: ("POST", f"{_LAKE}/groups", {"name": "new"}),
    Op.REMOVE_GROUP: lambda row: ("DELETE", f"{_LAKE}/groups/others", None),
    Op.SET_GROUP_MEMBERS: lambda row: ("PUT", f"{_LAKE}/groups/others/members", {"users": [], "groups": []}),
    Op.LIST_ROLES: listing(ObjectType.ROLE),
    Op.CREATE_ROLE: lambda row: ("POST", f"{_LAKE}/roles", {"name": "new", "securableObjects": []}),
    Op.GET_ROLE: at("GET"),
    Op.DELETE_ROLE: at("DELETE"),
    Op.GRANT_ROLE: lambda row: (
        "PUT",
        f"{_LAKE}/permissions/users/spare/grant",
        {"roleNames": ["r"]},
    ),
    Op.REVOKE_ROLE: lambda row: (
        "PUT",
        f"{_LAKE}/permissions/users/spare/revoke",
        {"roleNames": ["r"]},
    ),
    Op.OVERRIDE_ROLE: lambda row: ("PUT", f"{_LAKE}/permissions/roles/r", {"overrides": []}),
    Op.GRANT_PRIVILEGE: _privilege("grant"),
    Op.REVOKE_PRIVILEGE: _privilege("revoke"),
    Op.SET_OWNER: lambda row: (
        "PUT",
        f"{_LAKE}/owners/{row.ref.type}/{quote(row.ref.full_name, safe='')}",
        {"name": "spare", "type": "user"},
    ),
    Op.LIST_OBJECT_ROLES: lambda row: ("GET", _object(row.ref, "roles"), None),
    Op.LIST_TAGS: listing(ObjectType.TAG),
    Op.CREATE_TAG: new(ObjectType.TAG),
    Op.LOAD_TAG: at("GET"),
    Op.ALTER_TAG: at("PUT", body=_COMMENT),
    Op.DROP_TAG: at("DELETE"),
    Op.APPLY_TAG: _apply("tags"),
    Op.LIST_POLICIES: listing(ObjectType.POLICY),
    Op.CREATE_POLICY: new(ObjectType.POLICY),
    Op.LOAD_POLICY: at("GET"),
    Op.ALTER_POLICY: at("PUT", body=_COMMENT),
    Op.SET_POLICY: at("PATCH", body={"enable": True}),
    Op.DROP_POLICY: at("DELETE"),
    Op.APPLY_POLICY: _apply("policies"),
    Op.LIST_JOB_TEMPLATES: listing(ObjectType.JOB_TEMPLATE),
    Op.REGISTER_JOB_TEMPLATE: new(ObjectType.JOB_TEMPLATE),
    Op.LOAD_JOB_TEMPLATE: at("GET"),
    Op.ALTER_JOB_TEMPLATE: at("PUT", body=_COMMENT),
    Op.DROP_JOB_TEMPLATE: at("DELETE"),
    Op.RUN_JOB: lambda row: (
        "POST",
        f"{_LAKE}/jobs/runs",
        {"jobTemplateName": row.ref.name, "jobConf": {}},
    ),
    Op.LIST_JOBS: listing(ObjectType.JOB),
    Op.GET_JOB: at("GET"),
    Op.CANCEL_JOB: at("POST"),
    Op.ASK: lambda row: (
        "POST",
        "/api/headgate/check",
        {
            "metalake": LAKE,
            "type": "metalake",
            "fullName": LAKE,
            "operation": "load_metalake",
            "user": _person(row, "spare"),
        },
    ),
    Op.MANAGE_TOKENS: lambda row: ("GET", "/api/headgate/tokens", None),
    Op.READ_METRICS: lambda row: ("GET", "/metrics", None),
    Op.SYNC_SYSTEMS: lambda row: ("GET", "/api/headgate/sync/connections", None),
    Op.SYNC_METALAKE: lambda row: ("POST", "/api/headgate/sync/fetch", {"source": f"headgate:{LAKE}"}),
    Op.MANAGE_LENSES: lambda row: ("GET", f"/api/headgate/lenses?metalake={LAKE}", None),
    Op.READ_AUDIT: lambda row: ("GET", f"/api/headgate/audit?metalake={LAKE}", None),
}

BY_LOADING: dict[str, Callable[[Row], Request]] = {
    "get_owner": lambda row: (
        "GET",
        f"{_LAKE}/owners/{row.ref.type}/{quote(row.ref.full_name, safe='')}",
        None,
    ),
    "list_object_tags": lambda row: ("GET", _object(row.ref, "tags"), None),
    "list_object_policies": lambda row: ("GET", _object(row.ref, "policies"), None),
    "get_credentials": lambda row: ("GET", _object(row.ref, "credentials"), None),
}


def request_of(row: Row) -> Request:
    return BY_LOADING[row.operation](row) if row.operation in BY_LOADING else REQUESTS[row.op](row)


def names_in(body: dict[str, Any]) -> list[str]:
    """The names that the answer to a list shows, whichever its form."""
    for member in ("names", "identifiers", "metalakes", "jobs"):
        if member in body:
            return sorted(
                item if isinstance(item, str) else item.get("name") or item["jobId"] for item in body[member]
            )
    raise AssertionError(f"no list in {sorted(body)}")
