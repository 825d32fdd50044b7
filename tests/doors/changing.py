"""Every route that changes something, with a way to make a random request of it, or why it can touch no lens."""

from collections.abc import Callable
from random import Random
from typing import Any

USERS = ("ann", "bob", "dan")
GROUPS = ("g1", "g2", "g3")
CREW = "crew"
"""A group that no policy names. It holds roles that policies name."""
TAGS = ("pii", "tier")
LATER = "scope"
"""A tag that policies ask for and that nothing bears yet."""
MISSING = "salary"
"""A column that policies name and that no table has yet."""
ROLES = ("r1", "r2")
POLICIES = tuple(f"p{n}" for n in range(6))
TABLES = ("s.a", "s.b", "free.c")
COLUMNS = ("id", "region", "email", "ssn")
HOME = {"type": "struct", "fields": [{"name": "street", "type": "string"}]}
"""The type of one more column, `home`."""
RENAMED = "elsewhere"
"""What the catalog is called by whoever renames it, until its name is given back."""
PURPOSES = ("work", "audit")
ENGINES = ("spark", "trino")
PRIVILEGES = [
    "manage_users",
    "manage_groups",
    "manage_grants",
    "create_policy",
    "apply_policy",
    "create_tag",
    "apply_tag",
    "create_role",
    "use_catalog",
    "use_schema",
    "select_table",
    "modify_table",
    "create_table",
    "create_schema",
]

Request = tuple[str, Any]
"""A path and a body."""
Maker = Callable[[Random], Request]

LAKE = "/api/metalakes/lake"
_M = "/api/metalakes/{metalake}"
_C = f"{_M}/catalogs/{{catalog}}"
_S = f"{_C}/schemas/{{schema}}"
_I = "/iceberg/v1/{prefix}"
_N = f"{_I}/namespaces/{{namespace}}"


def person(r: Random) -> str:
    return r.choice(
        (*(f"user:{u}" for u in USERS), *(f"group:{g}" for g in GROUPS), *(f"role:{x}" for x in ROLES))
    )


def audience(r: Random) -> list[str]:
    return ["everyone"] if r.random() < 0.6 else [person(r) for _ in range(r.choice((1, 1, 2)))]


def on(r: Random) -> str:
    return r.choice(("lake", "lake.cat", "lake.cat.s", "lake.cat.free", *(f"lake.cat.{t}" for t in TABLES)))


def content(r: Random, at: str | None = None) -> dict[str, Any]:
    """What a policy says."""
    said: dict[str, Any] = {"on": at or on(r), "to": audience(r)}
    if r.random() < 0.4:
        said["except"] = [person(r) for _ in range(r.choice((1, 2)))]
    if r.random() < 0.5:
        said["when"] = r.choice(
            (
                "has_tag('tier')",
                f"has_tag('{LATER}')",
                f"has_tag('{LATER}')",
                f"has_tag('{LATER}') AND NOT has_tag('tier')",
                f"has_tag('{LATER}') AND principal.region = 'EU'",
                f"has_tag('{LATER}') OR context.purpose = 'audit'",
                "NOT is_member('g1')",
                "context.engine = 'spark'",
                "context.hour < 12",
                "principal.region = 'EU'",
                "coalesce(context.purpose, 'none') <> 'work'",
            )
        )
    alias = r.random() < 0.4
    if alias:
        said["columns"] = {
            "a": r.choice(
                (
                    "has_tag('pii')",
                    "NOT has_tag('pii')",
                    "has_tag('pii') AND is_member('g2')",
                    f"has_tag('pii') AND has_tag('{LATER}')",
                    "has_tag('pii') AND NOT has_tag('tier')",
                )
            )
        }
    column = "a" if alias else r.choice(("region", "email", "ssn", "home.street", MISSING))
    match r.choice(("rows", "rows", "mask", "mask", "hide", "hide", "deny")):
        case "rows" if not alias:
            said["rows"] = r.choice(
                (
                    "region = principal.region",
                    "region IN ('EU', 'US')",
                    "region = 'EU' OR is_member('g2')",
                    "id > 2",
                    "ssn <> '111'",
                    "email = session_user()",
                    f"{MISSING} = principal.region",
                )
            )
        case "hide":
            said["hide"] = [column]
        case "deny":
            said["deny"] = True
            said["purpose"] = [r.choice(PURPOSES)]
            said.pop("columns", None)
        case _:
            column = "a" if alias else r.choice(("email", "ssn"))
            if alias:
                said["columns"] = {"a": "has_tag('pii')"}
            mask = r.choice(
                ("show_last_4({0})", "mask_to_fixed_value({0})", "upper({0})", "{0} || principal.region")
            )
            said["mask"] = {column: mask.format(column)}
            said["priority"] = r.choice((0, 1, 2))
    if r.random() < 0.2:
        said["purpose"] = [r.choice(PURPOSES)]
    return said


def hiding(r: Random, number: int) -> dict[str, Any]:
    """One more policy, which keeps a column that filters use from a group or a role."""
    to = r.choice((*(f"group:{g}" for g in GROUPS), *(f"role:{x}" for x in ROLES)))
    said = {
        "on": r.choice(("lake", "lake.cat.s")),
        "to": [to],
        "hide": [r.choice(("ssn", "email", "region"))],
    }
    return {"name": f"hides-{number}", "policyType": "headgate", "enabled": True, "content": said}


def document(r: Random, name: str) -> str:
    """A policy as YAML, which JSON is."""
    import json

    said = content(r)
    return json.dumps({"policy": name, **said})


def securable(r: Random) -> dict[str, Any]:
    privileges = [
        {"name": p, "condition": r.choice(("allow", "allow", "deny"))} for p in r.sample(PRIVILEGES, 2)
    ]
    return {"type": "metalake", "fullName": "lake", "privileges": privileges}


def tagged(r: Random) -> str:
    kind, name = r.choice(
        (
            ("catalog", "cat"),
            ("schema", "cat.s"),
            *(("table", f"cat.{t}") for t in TABLES),
            *(("column", f"cat.{r.choice(TABLES)}.{c}") for c in (*COLUMNS[1:], "home", "home.street")),
        )
    )
    return f"{LAKE}/objects/{kind}/{name}/tags"


def owned(r: Random) -> str:
    kind, name = r.choice(
        (
            ("metalake", "lake"),
            ("catalog", "cat"),
            ("schema", "cat.s"),
            ("schema", "cat.free"),
            *(("table", f"cat.{t}") for t in TABLES),
            *(("policy", p) for p in POLICIES),
            *(("tag", t) for t in TAGS),
            *(("role", x) for x in ROLES),
        )
    )
    return f"{LAKE}/owners/{kind}/{name}"


def owner(r: Random) -> dict[str, str]:
    kind = r.choice(("user", "user", "group"))
    return {"type": kind, "name": r.choice(USERS if kind == "user" else GROUPS)}


def table(r: Random) -> tuple[str, str]:
    schema, _, name = r.choice(TABLES).partition(".")
    return schema, name


def table_path(r: Random) -> str:
    schema, name = table(r)
    return f"{LAKE}/catalogs/cat/schemas/{schema}/tables/{name}"


def renamed(r: Random) -> Request:
    (schema, name), (other, _) = table(r), table(r)
    ends = {
        "source": {"namespace": [schema], "name": name},
        "destination": {"namespace": [other], "name": name},
    }
    return "/iceberg/v1/lake.cat/tables/rename", ends


def altered(r: Random) -> dict[str, Any]:
    column = r.choice(COLUMNS[1:])
    return {
        "updates": [
            r.choice(
                (
                    {"@type": "updateComment", "newComment": "x"},
                    {"@type": "setProperty", "property": "a", "value": "b"},
                    {"@type": "addColumn", "fieldName": ["note"], "type": "string", "nullable": True},
                    {"@type": "renameColumn", "oldFieldName": [column], "newFieldName": column + "x"},
                    {"@type": "addColumn", "fieldName": [column], "type": "string", "nullable": True},
                    {"@type": "deleteColumn", "fieldName": [column], "ifExists": True},
                )
            )
        ]
    }


def some(r: Random, names: tuple[str, ...]) -> list[str]:
    return r.sample(names, r.choice((0, 1, 2)))


def to_tag(r: Random) -> dict[str, Any]:
    return (
        {"tagsToAdd": some(r, TAGS)[:1]}
        if r.random() < 0.5
        else {"tagsToRemove": some(r, TAGS)[:1] or ["pii"]}
    )


def rename_or_comment(r: Random, name: str) -> dict[str, Any]:
    update = (
        {"@type": "rename", "newName": name}
        if r.random() < 0.5
        else {"@type": "updateComment", "newComment": "x"}
    )
    return {"updates": [update]}


def redefined(r: Random) -> Request:
    update = {"@type": "updateContent", "policyType": "headgate", "newContent": content(r)}
    return f"{LAKE}/policies/{r.choice(POLICIES)}", {"updates": [update]}


def apply(r: Random) -> Request:
    files = [{"file": "f", "text": document(r, r.choice((*POLICIES, "p9")))}]
    return "/api/headgate/policies/apply?metalake=lake", {"files": files, "whole": r.random() < 0.05}


_NO_TABLE = "no policy, tag or person is named by it, and no table lies below it"
_NEW = "what it makes is new, and nobody has seen any of it before"
_ASKS = "asks, and changes nothing"
_DATA = "changes rows of a table or what is kept about them; who sees a part of it is refused, elsewhere and for all doors"
_SYNC = "is for owners of the metalake and service admins, and writes by the same kernel"
_KEYS = "changes which tables share tokens, and neither who sees a column masked nor how"
_GONE = "what is dropped is seen by nobody"

ENTRIES: dict[tuple[str, str], Maker | str] = {
    ("POST", "/api/metalakes"): _NEW,
    ("PUT", _M): "only the owner of the metalake may, who may change every policy",
    ("PATCH", _M): "only the owner of the metalake may, who may change every policy",
    ("DELETE", _M): _GONE,
    ("POST", f"{_M}/catalogs"): _NEW,
    ("POST", f"{_M}/catalogs/testConnection"): _ASKS,
    ("POST", f"{_C}/testConnection"): _ASKS,
    ("POST", "/api/headgate/catalogs/probe"): _ASKS,
    ("PUT", _C): lambda r: (f"{LAKE}/catalogs/cat", rename_or_comment(r, RENAMED)),
    ("PATCH", _C): lambda r: (f"{LAKE}/catalogs/cat", {"inUse": True}),
    ("DELETE", _C): _GONE,
    ("POST", f"{_C}/schemas"): lambda r: (f"{LAKE}/catalogs/cat/schemas", {"name": "new"}),
    ("PUT", _S): lambda r: (f"{LAKE}/catalogs/cat/schemas/s", {"updates": [{"@type": "setProperty", "property": "a", "value": "b"}]}),
    ("DELETE", _S): lambda r: (f"{LAKE}/catalogs/cat/schemas/new", None),
    ("POST", f"{_S}/tables"): lambda r: (f"{LAKE}/catalogs/cat/schemas/s/tables", {"name": "n", "columns": [{"name": "id", "type": "long"}]}),
    ("PUT", f"{_S}/tables/{{table}}"): lambda r: (table_path(r), altered(r)),
    ("DELETE", f"{_S}/tables/{{table}}"): lambda r: (f"{LAKE}/catalogs/cat/schemas/s/tables/n", None),
    ("POST", f"{_S}/tables/{{table}}/partitions"): _DATA,
    ("DELETE", f"{_S}/tables/{{table}}/partitions/{{partition}}"): _DATA,
    ("PUT", f"{_M}/objects/{{type}}/{{fullName}}/statistics"): _DATA,
    ("POST", f"{_M}/objects/{{type}}/{{fullName}}/statistics"): _DATA,
    ("PUT", f"{_M}/objects/{{type}}/{{fullName}}/statistics/partitions"): _DATA,
    ("POST", f"{_M}/objects/{{type}}/{{fullName}}/statistics/partitions"): _DATA,
    ("POST", f"{_M}/users"): lambda r: (f"{LAKE}/users", {"name": r.choice((*USERS, "new"))}),
    ("DELETE", f"{_M}/users/{{user}}"): lambda r: (f"{LAKE}/users/{r.choice((*USERS, 'new'))}", None),
    ("PUT", f"{_M}/users/{{user}}/attributes"): lambda r: (f"{LAKE}/users/{r.choice(USERS)}/attributes", {"region": r.choice(("EU", "US", "AP"))} if r.random() < 0.8 else {}),
    ("POST", "/api/bulk/metalakes/{metalake}/users/add"): lambda r: ("/api/bulk/metalakes/lake/users/add", {"users": [{"name": r.choice((*USERS, "new"))}]}),
    ("POST", "/api/bulk/metalakes/{metalake}/users/remove"): lambda r: ("/api/bulk/metalakes/lake/users/remove", {"names": some(r, (*USERS, "new"))}),
    ("POST", f"{_M}/groups"): lambda r: (f"{LAKE}/groups", {"name": r.choice(GROUPS)}),
    ("DELETE", f"{_M}/groups/{{group}}"): lambda r: (f"{LAKE}/groups/{r.choice(GROUPS)}", None),
    ("PUT", f"{_M}/groups/{{group}}/members"): lambda r: (f"{LAKE}/groups/{r.choice((*GROUPS, CREW))}/members", {"users": some(r, USERS), "groups": some(r, GROUPS)[:1] if r.random() < 0.3 else []}),
    ("POST", f"{_M}/roles"): lambda r: (f"{LAKE}/roles", {"name": r.choice(ROLES), "securableObjects": [securable(r)]}),
    ("DELETE", f"{_M}/roles/{{role}}"): lambda r: (f"{LAKE}/roles/{r.choice(ROLES)}", None),
    ("PUT", f"{_M}/permissions/users/{{user}}/grant"): lambda r: (f"{LAKE}/permissions/users/{r.choice(USERS)}/grant", {"roleNames": [r.choice(ROLES)]}),
    ("PUT", f"{_M}/permissions/users/{{user}}/revoke"): lambda r: (f"{LAKE}/permissions/users/{r.choice(USERS)}/revoke", {"roleNames": [r.choice(ROLES)]}),
    ("PUT", f"{_M}/permissions/groups/{{group}}/grant"): lambda r: (f"{LAKE}/permissions/groups/{r.choice(GROUPS)}/grant", {"roleNames": [r.choice(ROLES)]}),
    ("PUT", f"{_M}/permissions/groups/{{group}}/revoke"): lambda r: (f"{LAKE}/permissions/groups/{r.choice(GROUPS)}/revoke", {"roleNames": [r.choice(ROLES)]}),
    ("PUT", f"{_M}/permissions/roles/{{role}}/{{type}}/{{fullName}}/grant"): lambda r: (f"{LAKE}/permissions/roles/{r.choice(ROLES)}/metalake/lake/grant", {"privileges": securable(r)["privileges"]}),
    ("PUT", f"{_M}/permissions/roles/{{role}}/{{type}}/{{fullName}}/revoke"): lambda r: (f"{LAKE}/permissions/roles/{r.choice(ROLES)}/metalake/lake/revoke", {"privileges": securable(r)["privileges"]}),
    ("PUT", f"{_M}/permissions/roles/{{role}}"): lambda r: (f"{LAKE}/permissions/roles/{r.choice(ROLES)}", {"overrides": [securable(r)]}),
    ("PUT", f"{_M}/owners/{{type}}/{{fullName}}"): lambda r: (owned(r), owner(r)),
    ("POST", f"{_M}/tags"): lambda r: (f"{LAKE}/tags", {"name": r.choice(TAGS)}),
    ("PUT", f"{_M}/tags/{{tag}}"): lambda r: (f"{LAKE}/tags/{r.choice(TAGS)}", rename_or_comment(r, "other")),
    ("DELETE", f"{_M}/tags/{{tag}}"): lambda r: (f"{LAKE}/tags/{r.choice(TAGS)}", None),
    ("POST", f"{_M}/objects/{{type}}/{{fullName}}/tags"): lambda r: (tagged(r), to_tag(r)),
    ("POST", f"{_M}/tags/{{type}}/{{fullName}}"): lambda r: (tagged(r).replace("/objects/", "/tags/").removesuffix("/tags"), to_tag(r)),
    ("POST", f"{_M}/policies"): lambda r: (f"{LAKE}/policies", {"name": r.choice((*POLICIES, "p9")), "policyType": "headgate", "enabled": r.random() < 0.8, "content": content(r)}),
    ("PUT", f"{_M}/policies/{{policy}}"): redefined,
    ("PATCH", f"{_M}/policies/{{policy}}"): lambda r: (f"{LAKE}/policies/{r.choice((*POLICIES, 'p9'))}", {"enable": r.random() < 0.5}),
    ("DELETE", f"{_M}/policies/{{policy}}"): lambda r: (f"{LAKE}/policies/{r.choice((*POLICIES, 'p9'))}", None),
    ("POST", f"{_M}/objects/{{type}}/{{fullName}}/policies"): lambda r: (tagged(r).removesuffix("/tags") + "/policies", {"policiesToRemove": [r.choice(POLICIES)]}),
    ("POST", f"{_S}/filesets"): _NO_TABLE,
    ("PUT", f"{_S}/filesets/{{fileset}}"): _NO_TABLE,
    ("DELETE", f"{_S}/filesets/{{fileset}}"): _NO_TABLE,
    ("POST", f"{_S}/topics"): _NO_TABLE,
    ("PUT", f"{_S}/topics/{{topic}}"): _NO_TABLE,
    ("DELETE", f"{_S}/topics/{{topic}}"): _NO_TABLE,
    ("POST", f"{_S}/models"): _NO_TABLE,
    ("PUT", f"{_S}/models/{{model}}"): _NO_TABLE,
    ("DELETE", f"{_S}/models/{{model}}"): _NO_TABLE,
    ("POST", f"{_S}/models/{{model}}/versions"): _NO_TABLE,
    ("PUT", f"{_S}/models/{{model}}/versions/{{version}}"): _NO_TABLE,
    ("PUT", f"{_S}/models/{{model}}/aliases/{{alias}}"): _NO_TABLE,
    ("DELETE", f"{_S}/models/{{model}}/versions/{{version}}"): _NO_TABLE,
    ("DELETE", f"{_S}/models/{{model}}/aliases/{{alias}}"): _NO_TABLE,
    ("POST", f"{_S}/views"): _NO_TABLE,
    ("PUT", f"{_S}/views/{{view}}"): _NO_TABLE,
    ("DELETE", f"{_S}/views/{{view}}"): _NO_TABLE,
    ("POST", f"{_S}/functions"): _NO_TABLE,
    ("PUT", f"{_S}/functions/{{function}}"): _NO_TABLE,
    ("DELETE", f"{_S}/functions/{{function}}"): _NO_TABLE,
    **dict.fromkeys(
        [
            ("POST", "/api/idp/users"),
            ("PUT", "/api/idp/users/{user}"),
            ("DELETE", "/api/idp/users/{user}"),
            ("POST", "/api/idp/groups"),
            ("DELETE", "/api/idp/groups/{group}"),
            ("PUT", "/api/idp/groups/{group}/users"),
            ("POST", "/api/lineage"),
        ],
        "refused for everybody",
    ),
    ("POST", f"{_M}/jobs/templates"): _NO_TABLE,
    ("PUT", f"{_M}/jobs/templates/{{job_template}}"): _NO_TABLE,
    ("DELETE", f"{_M}/jobs/templates/{{job_template}}"): _NO_TABLE,
    ("POST", f"{_M}/jobs/runs"): _NO_TABLE,
    ("POST", f"{_M}/jobs/runs/{{job}}"): _NO_TABLE,
    ("POST", "/iceberg/v1/oauth/tokens"): "gives back the token that it was sent",
    ("POST", f"{_I}/namespaces"): lambda r: ("/iceberg/v1/lake.cat/namespaces", {"namespace": ["new"]}),
    ("DELETE", _N): lambda r: ("/iceberg/v1/lake.cat/namespaces/new", None),
    ("POST", f"{_N}/properties"): lambda r: ("/iceberg/v1/lake.cat/namespaces/s/properties", {"updates": {"a": "b"}, "removals": []}),
    ("POST", f"{_N}/tables"): _NEW,
    ("POST", f"{_N}/register"): "a place belongs to one object: what comes back takes over the tags and policies it had",
    ("POST", f"{_N}/tables/{{table}}"): _DATA,
    ("DELETE", f"{_N}/tables/{{table}}"): lambda r: ("/iceberg/v1/lake.cat/namespaces/s/tables/n", None),
    ("POST", f"{_I}/tables/rename"): renamed,
    ("POST", f"{_I}/transactions/commit"): _DATA,
    ("POST", f"{_N}/views"): _NO_TABLE,
    ("POST", f"{_N}/register-view"): _NO_TABLE,
    ("POST", f"{_N}/views/{{view}}"): _NO_TABLE,
    ("DELETE", f"{_N}/views/{{view}}"): _NO_TABLE,
    ("POST", f"{_I}/views/rename"): _NO_TABLE,
    ("POST", f"{_N}/tables/{{table}}/plan"): _ASKS,
    ("DELETE", f"{_N}/tables/{{table}}/plan/{{plan-id}}"): _ASKS,
    ("POST", f"{_N}/tables/{{table}}/tasks"): _ASKS,
    ("POST", f"{_N}/tables/{{table}}/sign"): _ASKS,
    ("POST", f"{_N}/tables/{{table}}/metrics"): _ASKS,
    ("POST", "/api/headgate/check"): _ASKS,
    ("POST", "/api/headgate/explain"): _ASKS,
    ("POST", "/api/headgate/audit/losses"): _ASKS,
    ("POST", "/api/headgate/tokens"): "only service admins may, whom the operator names",
    ("DELETE", "/api/headgate/tokens/{token}"): "only service admins may, whom the operator names",
    ("POST", "/api/headgate/lens"): _ASKS,
    ("POST", "/api/headgate/policies/plan"): _ASKS,
    ("POST", "/api/headgate/policies/apply"): apply,
    ("POST", "/api/headgate/policies/lint"): _ASKS,
    ("POST", "/api/headgate/sync/fetch"): _ASKS,
    ("POST", "/api/headgate/sync/diff"): _ASKS,
    ("POST", "/api/headgate/sync/plan"): _ASKS,
    ("POST", "/api/headgate/sync/push"): _SYNC,
    ("POST", "/api/headgate/sync/resume"): _SYNC,
    ("POST", "/api/headgate/sync/undo"): _SYNC,
    ("POST", "/api/headgate/sync/in-step"): _SYNC,
    ("POST", "/api/headgate/keys/{key}/join"): _KEYS,
    ("POST", "/api/headgate/keys/{key}/leave"): _KEYS,
    ("POST", "/api/headgate/lenses/warm"): "makes copies of what is seen already",
    ("POST", "/api/headgate/lenses/gc"): "removes copies that nobody sees",
}  # fmt: skip
