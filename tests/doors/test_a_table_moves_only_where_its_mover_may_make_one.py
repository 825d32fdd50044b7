"""A table moves only to a schema in which whoever moves it may make tables, however many moves one request names."""

from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from headgate.catalogs.openings import Openings
from tests.catalogs import jdbc, relational
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path)


pytestmark = pytest.mark.real

CATALOG = f"{LAKE}/catalogs/db"


def held(url: str, schema: str) -> list[str]:
    parsed = make_url(url)
    with psycopg.connect(
        f"postgresql://{parsed.username}@{parsed.host}:{parsed.port}/{parsed.database}", autocommit=True
    ) as past:
        found = past.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
    return [name for (name,) in found]


def test_the_second_of_two_moves_is_asked_about_too(
    api: Api, postgres_url: str, people: People, openings: Openings
) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    properties = relational.on_postgres(postgres_url)
    body = {"name": "db", "type": "relational", "provider": "jdbc-postgresql", "properties": properties}
    assert api("admin", "POST", f"{LAKE}/catalogs", body).status_code == 200
    for schema in ("mine", "open", "closed"):
        assert api("admin", "POST", f"{CATALOG}/schemas", {"name": schema}).status_code == 200
    people.may("bob", "USE_CATALOG", "catalog", "db")
    for schema in ("mine", "open"):
        people.may("bob", "USE_SCHEMA CREATE_TABLE", "schema", f"db.{schema}")
    columns = [{"name": "a", "type": "integer"}]
    made = api("bob", "POST", f"{CATALOG}/schemas/mine/tables", {"name": "t", "columns": columns})
    assert made.status_code == 200, made.text
    straight = {"updates": [{"@type": "rename", "newName": "t", "newSchemaName": "closed"}]}
    assert api("bob", "PUT", f"{CATALOG}/schemas/mine/tables/t", straight).status_code in (403, 404)
    around = {
        "updates": [
            {"@type": "rename", "newName": "t", "newSchemaName": "open"},
            {"@type": "rename", "newName": "planted", "newSchemaName": "closed"},
        ]
    }
    answer = api("bob", "PUT", f"{CATALOG}/schemas/mine/tables/t", around)
    assert held(postgres_url, "closed") == [], answer.text
    assert answer.status_code in (400, 403, 404), answer.text


def test_the_second_of_two_moves_leaves_no_policy_behind(
    api: Api, people: People, openings: Openings, tmp_path: Path
) -> None:
    """Iceberg tables behind pointers: the row goes where it was asked about, and the table to where nothing hides from bob."""
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    properties = jdbc.on_sqlite(tmp_path)
    body = {"name": "db", "type": "relational", "provider": "lakehouse-iceberg", "properties": properties}
    answer = api("admin", "POST", f"{LAKE}/catalogs", body)
    assert answer.status_code == 200, answer.text
    for schema in ("mine", "open", "closed"):
        assert api("admin", "POST", f"{CATALOG}/schemas", {"name": schema}).status_code == 200
    people.may("bob", "USE_CATALOG", "catalog", "db")
    people.may("bob", "USE_SCHEMA SELECT_TABLE", "schema", "db.closed")
    for schema in ("mine", "open"):
        people.may("bob", "USE_SCHEMA CREATE_TABLE", "schema", f"db.{schema}")
    columns = [{"name": n, "type": "string"} for n in ("ssn", "name")]
    made = api("bob", "POST", f"{CATALOG}/schemas/mine/tables", {"name": "t", "columns": columns})
    assert made.status_code == 200, made.text
    # They wait for a tag: bob sees all of the table as long as it is not there.
    api("admin", "POST", f"{LAKE}/tags", {"name": "pii"})
    words = "to: [user:bob]\ncolumns: {c: has_tag('pii')}\nhide: [c]\n"
    applied(api, f"policy: one\non: lake.db.mine\n{words}", f"policy: two\non: lake.db.open\n{words}")
    straight = {"updates": [{"@type": "rename", "newName": "t", "newSchemaName": "closed"}]}
    assert api("bob", "PUT", f"{CATALOG}/schemas/mine/tables/t", straight).status_code in (403, 404)
    around = {
        "updates": [
            {"@type": "rename", "newName": "t", "newSchemaName": "open"},
            {"@type": "rename", "newName": "t", "newSchemaName": "closed"},
        ]
    }
    answer = api("bob", "PUT", f"{CATALOG}/schemas/mine/tables/t", around)
    seen = api("bob", "GET", f"{CATALOG}/schemas/closed/tables/t")
    listed = api("admin", "GET", f"{CATALOG}/schemas/closed/tables").json()["identifiers"]
    print("WHY", answer.text, seen.text)
    assert listed == [], (answer.status_code, seen.status_code)
    assert answer.status_code in (400, 403, 404), answer.text
