"""Tables of PostgreSQL and MariaDB at Gravitino's door: under policies that hold over renames, and refused at Iceberg's."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from headgate.catalogs.openings import Openings
from tests.catalogs import relational
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People

pytestmark = pytest.mark.real

CATALOG = f"{LAKE}/catalogs/db"
TABLES = f"{CATALOG}/schemas/s/tables"
FED = "/iceberg/v1/lake.db/namespaces/s/tables"
HIDE = "policy: few\non: lake.db\nto: [user:ann]\ncolumns: {c: has_tag('pii')}\nhide: [c]\n"

Run = Callable[[str], None]


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path)


@pytest.fixture(params=["jdbc-postgresql", "jdbc-mysql"])
def run(request: pytest.FixtureRequest, api: Api) -> Iterator[Run]:
    """`lake.db` with the schema `s`, and a way past Headgate into its database."""
    if request.param == "jdbc-postgresql":
        url = request.getfixturevalue("postgres_url")
        properties = relational.on_postgres(url)
        parsed = make_url(url)
        connection: Any = psycopg.connect(
            f"postgresql://{parsed.username}@{parsed.host}:{parsed.port}/{parsed.database}", autocommit=True
        )
    else:
        server = relational.emptied(request.getfixturevalue("mariadb_server"))
        properties = relational.on_mysql(server)
        connection = server.connect()
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    body = {"name": "db", "type": "relational", "provider": request.param, "properties": properties}
    answer = api("admin", "POST", f"{LAKE}/catalogs", body)
    assert answer.status_code == 200, answer.text
    assert api("admin", "POST", f"{CATALOG}/schemas", {"name": "s"}).status_code == 200
    yield lambda statement: connection.cursor().execute(statement)
    connection.close()


def make(api: Api, name: str = "t", **more: Any) -> Any:
    columns = [{"name": n, "type": "varchar(20)"} for n in ("ssn", "name")]
    return api("admin", "POST", TABLES, {"name": name, "columns": columns, **more})


def shown(api: Api, who: str = "ann", name: str = "t") -> list[str]:
    answer = api(who, "GET", f"{TABLES}/{name}")
    assert answer.status_code == 200, answer.text
    return [column["name"] for column in answer.json()["table"]["columns"]]


def names(api: Api, path: str, who: str = "admin") -> list[str]:
    answer = api(who, "GET", path)
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["identifiers"]]


def restrict(api: Api, people: People) -> None:
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE MODIFY_TABLE", "metalake", "lake")
    api("admin", "POST", f"{LAKE}/tags", {"name": "pii"})
    tagging = f"{LAKE}/objects/column/db.s.t.ssn/tags"
    assert api("admin", "POST", tagging, {"tagsToAdd": ["pii"]}).status_code == 200
    applied(api, HIDE)


def test_tags_and_policies_hold_over_renames(api: Api, run: Run, people: People) -> None:
    keys = [{"indexType": "unique_key", "name": "by_ssn", "fieldNames": [["ssn"]]}]
    assert make(api, indexes=keys).status_code == 200
    assert shown(api, "admin") == ["ssn", "name"]
    restrict(api, people)
    assert shown(api) == ["name"]
    assert "ssn" not in api("ann", "GET", f"{TABLES}/t").text, "nor is there a key of it"
    rename = {"@type": "renameColumn", "oldFieldName": ["ssn"], "newFieldName": "number"}
    assert api("admin", "PUT", f"{TABLES}/t", {"updates": [rename]}).status_code == 200
    assert (shown(api, "admin"), shown(api)) == (["number", "name"], ["name"])
    run("ALTER TABLE s.t RENAME COLUMN number TO other")
    assert (shown(api, "admin"), shown(api)) == (["other", "name"], ["name"])
    moved = {"updates": [{"@type": "rename", "newName": "u"}]}
    assert api("admin", "PUT", f"{TABLES}/t", moved).status_code == 200
    assert names(api, TABLES) == ["u"]
    assert (shown(api, "admin", "u"), shown(api, "ann", "u")) == (["other", "name"], ["name"])


def test_who_sees_a_part_of_a_table_does_not_change_it(api: Api, run: Run, people: People) -> None:
    assert make(api).status_code == 200
    restrict(api, people)
    for update in (
        {"@type": "renameColumn", "oldFieldName": ["name"], "newFieldName": "x"},
        {"@type": "addColumn", "fieldName": ["x"], "type": "integer"},
        {"@type": "deleteColumn", "fieldName": ["ssn"], "ifExists": True},
    ):
        refused = api("ann", "PUT", f"{TABLES}/t", {"updates": [update]})
        assert refused.status_code == 403, refused.text
    assert shown(api, "admin") == ["ssn", "name"]


def test_nothing_of_it_leaves_by_the_iceberg_door(api: Api, run: Run, people: People) -> None:
    assert make(api).status_code == 200
    people.may("ann", "USE_CATALOG", "metalake", "lake")
    for method, path, body in (
        ("GET", f"{FED}/t", None),
        ("POST", f"{FED}/t/plan", {}),
        ("GET", f"{FED}/t/credentials", None),
        ("POST", f"{FED}/t", {"requirements": [], "updates": []}),
    ):
        answer = api("admin", method, path, body)
        assert answer.status_code in (405, 406), (path, answer.text)
        assert api("ann", method, path, body).status_code in (403, 404), path


def test_what_the_database_holds_is_listed_and_what_it_keeps_for_itself_is_not(api: Api, run: Run) -> None:
    run("CREATE TABLE s.there (a integer)")
    run("CREATE VIEW s.seen AS SELECT 1 AS a")
    assert names(api, TABLES) == ["there"]
    assert shown(api, "admin", "there") == ["a"]
    schemas = set(names(api, f"{CATALOG}/schemas"))
    assert "s" in schemas
    assert not schemas & {"information_schema", "pg_catalog", "mysql", "performance_schema", "sys"}
    assert api("admin", "GET", f"{CATALOG}/schemas/information_schema").status_code == 404
    refused = api("admin", "DELETE", f"{CATALOG}/schemas/s?cascade=true")
    assert (refused.status_code, refused.json()["type"]) == (409, "NonEmptySchemaException"), (
        "nobody judged the view"
    )
    assert shown(api, "admin", "there") == ["a"]
    run("DROP VIEW s.seen")
    assert api("admin", "DELETE", f"{CATALOG}/schemas/s").status_code == 409
    assert api("admin", "DELETE", f"{CATALOG}/schemas/s?cascade=true").json()["dropped"] is True
    assert "s" not in names(api, f"{CATALOG}/schemas")


def test_a_broken_table_is_shown_with_the_reason(api: Api, run: Run, people: People) -> None:
    assert make(api).status_code == 200
    if "postgresql" not in api("admin", "GET", CATALOG).json()["catalog"]["provider"]:
        return
    run("CREATE TABLE s.empty ()")
    assert names(api, TABLES) == ["empty", "t"]
    properties = api("admin", "GET", f"{TABLES}/empty").json()["table"]["properties"]
    assert properties["headgate.broken"] == "it has no columns"
    restrict(api, people)
    assert api("ann", "GET", f"{TABLES}/empty").status_code == 403
    assert shown(api) == ["name"]


def test_a_table_is_dropped_and_not_purged(api: Api, run: Run) -> None:
    assert make(api).status_code == 200
    purged = api("admin", "DELETE", f"{TABLES}/t?purge=true")
    assert (purged.status_code, purged.json()["type"]) == (405, "UnsupportedOperationException")
    assert api("admin", "DELETE", f"{TABLES}/t").json()["dropped"] is True
    assert api("admin", "DELETE", f"{TABLES}/t").json()["dropped"] is False
    assert make(api).status_code == 200


def test_default_values_are_written_as_gravitinos_clients_write_them(api: Api, run: Run) -> None:
    now = {"type": "function", "funcName": "current_timestamp", "funcArgs": []}
    five = {"type": "literal", "dataType": "integer", "value": "5"}
    columns = [
        {"name": "at", "type": "timestamp", "nullable": False, "autoIncrement": False, "defaultValue": now},
        {"name": "n", "type": "integer", "nullable": True, "autoIncrement": False, "defaultValue": five},
    ]
    made = api("admin", "POST", TABLES, {"name": "t", "columns": columns})
    assert made.status_code == 200, made.text
    loaded = api("admin", "GET", f"{TABLES}/t").json()["table"]["columns"]
    assert [column["defaultValue"] for column in loaded] == [now, five]


def test_its_password_is_shown_to_nobody(api: Api, run: Run) -> None:
    seen = api("admin", "GET", CATALOG).json()["catalog"]["properties"]
    assert "jdbc-url" in seen
    assert "jdbc-password" not in seen


URL = "jdbc:postgresql://127.0.0.1:5432/db"


@pytest.mark.parametrize(
    ("provider", "properties", "named"),
    [
        ("jdbc-postgresql", {}, "jdbc-url"),
        ("jdbc-postgresql", {"jdbc-url": URL}, "jdbc-user"),
        ("jdbc-postgresql", {"jdbc-url": URL, "jdbc-database": "other"}, "jdbc-database"),
        ("jdbc-postgresql", {"jdbc-url": "jdbc:postgresql://127.0.0.1:5432/"}, "jdbc-database"),
        ("jdbc-postgresql", {"jdbc-url": f"{URL}?socketFactory=x"}, "socketFactory"),
        ("jdbc-postgresql", {"jdbc-url": "jdbc:mysql://127.0.0.1:3306"}, "jdbc-url"),
        ("jdbc-postgresql", {"jdbc-url": "jdbc:postgresql://db.closed.example/db"}, "jdbc-url"),
        ("jdbc-postgresql", {"jdbc-url": URL, "jdbc.pool.max-size": "4"}, "jdbc.pool.max-size"),
        ("jdbc-postgresql", {"jdbc-url": URL, "gravitino.bypass.x": "4"}, "gravitino.bypass.x"),
        ("jdbc-mysql", {"jdbc-url": "jdbc:mysql://127.0.0.1:3306/one"}, "jdbc-url"),
        ("jdbc-mysql", {"jdbc-url": "jdbc:mysql://127.0.0.1:3306", "jdbc-database": "s"}, "jdbc-database"),
        (
            "jdbc-mysql",
            {"jdbc-url": "jdbc:mysql://127.0.0.1?allowLoadLocalInfile=true"},
            "allowloadlocalinfile",
        ),
        ("jdbc-mysql", {"jdbc-url": "jdbc:mysql://169.254.169.254:3306"}, "jdbc-url"),
        ("jdbc-mysql", {"jdbc-url": "jdbc:mysql://127.0.0.1,10.0.0.1:3306"}, "jdbc-url"),
        ("jdbc-mysql", {"jdbc-url": "jdbc:mysql://127.0.0.1:3306", "warehouse": "/x"}, "warehouse"),
        (
            "jdbc-mysql",
            {"jdbc-url": "jdbc:mysql://127.0.0.1", "headgate.enforce": "refuse"},
            "headgate.enforce",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(
    api: Api, provider: str, properties: dict[str, str], named: str
) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    given = {"jdbc-user": "u", "jdbc-password": "hidden", **properties}
    if named == "jdbc-user":
        del given["jdbc-user"]
    body = {"name": "db", "type": "relational", "provider": provider, "properties": given}
    refused = api("admin", "POST", f"{LAKE}/catalogs", body)
    assert refused.status_code == 400, refused.text
    assert f"'{named}'" in refused.text
    assert "hidden" not in refused.text


def test_one_database_is_not_taken_by_two_catalogs(api: Api, people: People) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    people.may("ann", "CREATE_CATALOG USE_CATALOG", "metalake", "lake")
    shared = {"type": "relational", "provider": "jdbc-postgresql"}
    first = {"jdbc-url": URL, "jdbc-user": "u", "jdbc-password": "p"}
    assert (
        api("admin", "POST", f"{LAKE}/catalogs", {"name": "a", **shared, "properties": first}).status_code
        == 200
    )
    second = {**first, "jdbc-url": "jdbc:postgresql://127.0.0.1:5432", "jdbc-database": "db"}
    body = {"name": "b", **shared, "properties": second}
    assert api("ann", "POST", f"{LAKE}/catalogs", body).status_code == 403
    second["jdbc-database"] = "other"
    assert api("ann", "POST", f"{LAKE}/catalogs", body).status_code == 200
