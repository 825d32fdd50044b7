"""Who sees a part of a table changes nothing of it, through whichever door: the question is a part of the permit."""

import re
from typing import Any

import pytest

from headgate.decide import Op
from headgate.decide.operations import OPERATIONS
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.doors.routing import Route
from headgate.model.errors import Forbidden
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from headgate.store import audit
from tests.conftest import Api
from tests.doors.governed import TABLES, applied, govern
from tests.doors.settled import LAKE, done, give, securable

TABLE = "cat.s.customers"
ICE = "/iceberg/v1/lake.cat"
ICE_TABLE = f"{ICE}/namespaces/s/tables/customers"
NAMED = {"namespace": ["s"], "name": "customers"}
VALUES = {
    "metalake": "lake",
    "catalog": "cat",
    "schema": "s",
    "table": "customers",
    "prefix": "lake.cat",
    "namespace": "s",
    "type": "table",
    "fullName": TABLE,
    "partition": "region=EU",
}
PART = "sees only a part of it"
MASK = """\
policy: mask-email
on: lake.cat.s.customers
to: [user:ann]
mask: {email: show_last_4(email)}
"""
DENY = """\
policy: never-ann
on: lake.cat.s.customers
to: [user:ann]
deny: true
"""
ALL = ("use_catalog", "use_schema", "select_table", "modify_table", "create_table")

SET = {"action": "set-properties", "updates": {"schema.name-mapping.default": "[]"}}
INNER: list[tuple[str, str, Any]] = [
    ("POST", ICE_TABLE, {"requirements": [], "updates": [SET]}),
    (
        "POST",
        f"{ICE}/transactions/commit",
        {"table-changes": [{"identifier": NAMED, "requirements": [], "updates": [SET]}]},
    ),
    ("POST", f"{ICE}/tables/rename", {"source": NAMED, "destination": {"namespace": ["s"], "name": "x"}}),
    ("POST", f"{ICE}/tables/rename", {"source": NAMED, "destination": {"namespace": ["other"], "name": "x"}}),
    ("GET", f"{TABLES}/customers?privileges=MODIFY_TABLE", None),
]
"""Routes that name the table in their body, and ask for the permit themselves."""


def changing() -> list[Route]:
    """Every route of every door whose permit changes tables."""
    doors = (GravitinoDoor(), IcebergDoor(), HeadgateDoor())
    return [
        route
        for door in doors
        for route in door.routes
        if isinstance(route.requires, Op) and OPERATIONS[route.requires].whole
    ]


def path_of(route: Route) -> str:
    return re.sub(r"\{(\w+)\}", lambda name: VALUES[name[1]], route.path)


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    """ann and bob own the metalake's tables alike; only ann's view of one column is masked."""
    govern(api)
    done(api("admin", "POST", f"{LAKE}/catalogs/cat/schemas", {"name": "other"}))
    for user in ("ann", "bob"):
        give(api, user, f"writer-{user}", securable("metalake", "lake", *ALL))
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "owners"}))
    done(api("admin", "PUT", f"{LAKE}/groups/owners/members", {"users": ["ann", "bob"], "groups": []}))
    owner = {"name": "owners", "type": "GROUP"}
    for kind, name in (("table", TABLE), ("schema", "cat.s"), ("catalog", "cat"), ("metalake", "lake")):
        done(api("admin", "PUT", f"{LAKE}/owners/{kind}/{name}", owner))
    applied(api, MASK, user="bob")


def document(api: Api) -> Any:
    answer = api("bob", "GET", ICE_TABLE)
    assert answer.status_code == 200, answer.text
    return answer.json()["metadata-location"], api("bob", "GET", f"{TABLES}/customers").json()


@pytest.mark.parametrize("route", changing(), ids=lambda route: f"{route.method} {route.path}")
def test_every_route_that_changes_a_table_refuses_them_and_nobody_else(api: Api, route: Route) -> None:
    before, path = document(api), path_of(route)
    for query in ("", "?cascade=true&force=true&purge=true&purgeRequested=true"):
        answer = api("ann", route.method, path + query, {})
        assert answer.status_code == 403, answer.text
        assert PART in answer.text
    assert document(api) == before
    # The same people with the same rights, of whom one sees all.
    assert api("bob", route.method, path, {}).status_code != 403


def test_the_walk_meets_the_routes_that_are_known_to_change_tables() -> None:
    walked = {(route.method, route.path.rpartition("}")[2]) for route in changing()}
    assert {("PUT", ""), ("DELETE", ""), ("PUT", "/statistics"), ("POST", "/partitions")} <= walked
    assert len(changing()) >= 12


@pytest.mark.parametrize(("method", "path", "body"), INNER)
def test_so_does_every_route_that_names_the_table_in_its_body(
    api: Api, method: str, path: str, body: Any
) -> None:
    before = document(api)
    answer = api("ann", method, path, body)
    assert answer.status_code == 403, answer.text
    assert PART in answer.text
    assert document(api) == before
    assert api("bob", method, path, body).status_code in (200, 204)


def test_a_masked_column_is_neither_dropped_nor_mapped_to_another(api: Api) -> None:
    before = document(api)
    mapping = '[{"field-id": 2, "names": ["ssn"]}]'
    for update in (
        {"@type": "setProperty", "property": "schema.name-mapping.default", "value": mapping},
        {"@type": "deleteColumn", "fieldName": ["email"], "ifExists": False},
        {"@type": "renameColumn", "oldFieldName": ["email"], "newFieldName": "x"},
        {"@type": "updateComment", "newComment": "mine"},
        {"@type": "rename", "newName": "x"},
        {"@type": "rename", "newName": "x", "newSchemaName": "other"},
    ):
        answer = api("ann", "PUT", f"{TABLES}/customers", {"updates": [update]})
        assert answer.status_code == 403, update
    assert document(api) == before


def test_who_is_shown_nothing_changes_nothing_either(api: Api) -> None:
    applied(api, DENY, user="bob")
    assert api("ann", "DELETE", ICE_TABLE).status_code == 403
    assert api("bob", "DELETE", ICE_TABLE).status_code == 204


def test_what_holds_the_table_is_not_dropped_over_it(api: Api) -> None:
    for path in (
        f"{LAKE}/catalogs/cat/schemas/s?cascade=true",
        f"{LAKE}/catalogs/cat?force=true",
        f"{LAKE}?force=true",
        f"{ICE}/namespaces/s",
    ):
        answer = api("ann", "DELETE", path)
        assert answer.status_code == 403, path
        assert f"table '{TABLE}' cannot be changed" in answer.text
    document(api)
    done(api("ann", "DELETE", f"{LAKE}/catalogs/cat/schemas/other?cascade=true"))
    done(api("bob", "DELETE", f"{LAKE}/catalogs/cat/schemas/s?cascade=true"))


def test_a_view_beside_it_is_changed_as_before(api: Api) -> None:
    view = {
        "name": "v",
        "columns": [{"name": "id", "type": "long", "nullable": True}],
        "representations": [{"type": "sql", "dialect": "spark", "sql": "select 1"}],
    }
    done(api("bob", "POST", f"{LAKE}/catalogs/cat/schemas/s/views", view))
    done(api("bob", "PUT", f"{LAKE}/owners/view/cat.s.v", {"name": "ann", "type": "USER"}))
    assert api("ann", "DELETE", f"{ICE}/namespaces/s/views/v").status_code == 204


def test_the_refusal_is_in_the_audit_trail_and_check_says_the_same(api: Api, steward: Steward) -> None:
    assert api("ann", "DELETE", ICE_TABLE).status_code == 403
    kept = audit.query(steward.kernel.store, metalake="lake", user="ann", allowed=False)
    assert [(event.action, event.object) for event in kept] == [("drop_table", TABLE)]
    question = {"metalake": "lake", "type": "table", "fullName": TABLE, "operation": "alter_table"}
    for user, may in (("ann", False), ("bob", True)):
        assert done(api(user, "POST", "/api/headgate/check", question))["verdict"]["allowed"] is may
        told = done(api(user, "POST", "/api/headgate/explain", question))["explanation"]
        assert told["allowed"] is may
        assert (PART in told["summary"]) is not may


class TestBetweenPermitAndChange:
    """What changes after the question was asked is asked about again, where nothing can change any more."""

    REF = ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "customers"))

    def test_a_policy_that_came_meanwhile_holds(self, api: Api, steward: Steward) -> None:
        applied(api, user="bob")
        permit = steward.kernel.permit(Identity("ann"), Op.DROP_TABLE, self.REF)
        applied(api, MASK, user="bob")
        with pytest.raises(Forbidden, match=PART):
            steward.tables.drop(permit, purge=False)
        document(api)

    def test_a_column_that_came_meanwhile_counts(self, api: Api, steward: Steward) -> None:
        """No revision moves by a commit, but by somebody's first: only the document tells that a policy hides something now."""
        first = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"x": "y"}}]}
        assert api("bob", "POST", ICE_TABLE, first).status_code == 200
        policy = MASK.replace("email", "secret").replace("lake.cat.s.customers", "lake.cat.s")
        applied(api, policy, user="bob")
        permit = steward.kernel.permit(Identity("ann"), Op.DROP_TABLE, self.REF)
        commit = steward.kernel.permit(Identity("bob"), Op.ALTER_TABLE, self.REF)
        now = steward.documents.load(commit).metadata
        schema = now["schemas"][-1]
        field = {"id": now["last-column-id"] + 1, "name": "secret", "type": "string", "required": False}
        revision = steward.kernel.authority().revision
        answer = api(
            "bob",
            "POST",
            ICE_TABLE,
            {
                "requirements": [],
                "updates": [
                    {"action": "add-schema", "schema": {**schema, "fields": [*schema["fields"], field]}},
                    {"action": "set-current-schema", "schema-id": -1},
                ],
            },
        )
        assert answer.status_code == 200, answer.text
        assert steward.kernel.authority().revision == revision
        with pytest.raises(Forbidden, match=PART):
            steward.tables.drop(permit, purge=False)
        document(api)
