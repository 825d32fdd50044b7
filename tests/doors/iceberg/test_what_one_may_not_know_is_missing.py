"""A table that one may not know about is a 404, one that one may know about but not change a 403, and lists show neither."""

import pytest

from tests.conftest import Api
from tests.doors.iceberg.conftest import ICE, create, failed
from tests.people import People

TABLE = f"{ICE}/namespaces/s/tables/t"
VIEW = f"{ICE}/namespaces/s/views/v"
COMMIT = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
ROUTES = [
    ("GET", TABLE, None),
    ("HEAD", TABLE, None),
    ("POST", TABLE, COMMIT),
    ("DELETE", TABLE, None),
    ("POST", f"{TABLE}/plan", {}),
    ("GET", f"{TABLE}/plan/x", None),
    ("DELETE", f"{TABLE}/plan/x", None),
    ("POST", f"{TABLE}/tasks", {"plan-task": "x"}),
    ("GET", f"{TABLE}/credentials", None),
    ("POST", f"{TABLE}/metrics", {"report-type": "scan-report"}),
    ("GET", VIEW, None),
    ("HEAD", VIEW, None),
    ("POST", VIEW, COMMIT),
    ("DELETE", VIEW, None),
]
VERSION = {
    "version-id": 1,
    "timestamp-ms": 1,
    "schema-id": 0,
    "summary": {},
    "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
    "default-namespace": ["s"],
}


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
def test_a_hidden_table_answers_exactly_as_a_missing_one(
    api: Api, people: People, method: str, path: str, body: object
) -> None:
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")
    missing = api("ann", method, path, body)
    assert create(api).status_code == 200
    view = {"name": "v", "schema": {"type": "struct", "fields": []}, "view-version": VERSION}
    assert api("admin", "POST", f"{ICE}/namespaces/s/views", view).status_code == 200
    hidden = api("ann", method, path, body)
    assert (hidden.status_code, hidden.content) == (missing.status_code, missing.content)
    assert hidden.status_code == 404
    assert api("ann", "GET", f"{ICE}/namespaces/s/tables").json()["identifiers"] == []
    assert api("ann", "GET", f"{ICE}/namespaces/s/views").json()["identifiers"] == []


def test_who_may_write_a_table_knows_and_reads_it_and_does_not_drop_it(api: Api, people: People) -> None:
    create(api)
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")
    people.may("ann", "MODIFY_TABLE", "table", "cat.s.t")
    assert api("ann", "GET", TABLE).status_code == 200
    assert api("ann", "POST", TABLE, COMMIT).status_code == 200
    assert api("ann", "POST", f"{TABLE}/plan", {}).status_code == 200
    for method, path, body in ROUTES[5:8]:
        assert failed(api("ann", method, path, body))[1].startswith("NoSuchPlan"), path
    assert failed(api("ann", "DELETE", TABLE)) == (403, "ForbiddenException")


def test_who_may_only_read_a_table_does_not_write_it(api: Api, people: People) -> None:
    create(api)
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")
    people.may("ann", "SELECT_TABLE", "table", "cat.s.t")
    assert api("ann", "GET", TABLE).status_code == 200
    assert api("ann", "POST", f"{TABLE}/plan", {}).status_code == 200
    assert failed(api("ann", "POST", TABLE, COMMIT)) == (403, "ForbiddenException")
    rename = {
        "source": {"namespace": ["s"], "name": "t"},
        "destination": {"namespace": ["s"], "name": "u"},
    }
    assert failed(api("ann", "POST", f"{ICE}/tables/rename", rename)) == (403, "ForbiddenException")
    transaction = {"table-changes": [{**COMMIT, "identifier": rename["source"]}]}
    assert api("ann", "POST", f"{ICE}/transactions/commit", transaction).status_code == 403


def test_without_the_way_there_a_privilege_on_a_table_shows_nothing(api: Api, people: People) -> None:
    create(api)
    people.may("ann", "SELECT_TABLE", "table", "cat.s.t")
    assert failed(api("ann", "GET", TABLE)) == (404, "NoSuchTableException")
    assert api("ann", "GET", f"{ICE}/namespaces/s/tables").status_code == 403


def test_a_stranger_learns_nothing(api: Api) -> None:
    create(api)
    for method, path, body in ROUTES:
        assert api("stranger", method, path, body).status_code in (403, 404), path
    assert api("stranger", "GET", "/iceberg/v1/config?warehouse=lake.cat").status_code == 403
    assert api(None, "GET", TABLE).status_code == 401
