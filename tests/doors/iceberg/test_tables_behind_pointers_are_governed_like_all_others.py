"""Tables whose pointer another system keeps: a database here, and whatever its rows name is held against everybody's places."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from sqlalchemy import create_engine, text

from headgate.catalogs.databases.iceberg_tables import JdbcPointers
from headgate.catalogs.openings import Openings
from headgate.model.errors import Forbidden
from headgate.steward import Steward
from tests.catalogs import jdbc
from tests.catalogs.jdbc import Properties
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import SCHEMA, create
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People

CATALOG = f"{LAKE}/catalogs/db"
FED = "/iceberg/v1/lake.db/namespaces/s/tables"
GRAVITINO = f"{CATALOG}/schemas/s/tables"
ROWS = pa.table({"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"]})


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path)


@pytest.fixture
def properties(
    api: Api, tmp_path: Path, steward: Steward, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Properties]:
    """`lake.db` with the schema `s`. Its database is never asked inside a change."""
    for name in ("load", "swap", "swap_together", "create", "drop", "rename", "names", "namespace"):
        asked = getattr(JdbcPointers, name)

        def watched(self: JdbcPointers, *more: Any, asked: Any = asked) -> Any:
            assert not steward.kernel.store.changing, (asked.__name__, more)
            return asked(self, *more)

        monkeypatch.setattr(JdbcPointers, name, watched)
    found = jdbc.on_sqlite(tmp_path)
    declare(api, found)
    assert api("admin", "POST", f"{CATALOG}/schemas", {"name": "s"}).status_code == 200
    yield found
    jdbc.close_all()


def declare(api: Api, properties: Properties, name: str = "db") -> None:
    body = {"name": name, "type": "relational", "provider": "lakehouse-iceberg", "properties": properties}
    made = api("admin", "POST", f"{LAKE}/catalogs", body)
    assert made.status_code == 200, made.text


def point(properties: Properties, name: str, location: str) -> None:
    """Somebody writes a row into the database, without anybody asking."""
    engine = create_engine(jdbc.sqlalchemy_url(properties))
    with engine.begin() as tx:
        tx.execute(text("DELETE FROM iceberg_tables WHERE table_name = :name"), {"name": name})
        tx.execute(
            text(
                "INSERT INTO iceberg_tables(catalog_name, table_namespace, table_name, metadata_location) "
                "VALUES ('jdbc', 's', :name, :location)"
            ),
            {"name": name, "location": location},
        )
    engine.dispose()


def every_way(api: Api, name: str) -> list[Any]:
    """All that reads or changes a table, at both doors."""
    return [
        api("admin", "GET", f"{FED}/{name}"),
        api("admin", "POST", f"{FED}/{name}/plan", {}),
        api("admin", "GET", f"{FED}/{name}/credentials"),
        api("admin", "GET", f"{GRAVITINO}/{name}/partitions"),
        api("admin", "POST", f"{FED}/{name}", {"requirements": [], "updates": []}),
    ]


def test_both_writers_see_each_others_tables(api: Api, properties: Properties) -> None:
    made = api("admin", "POST", FED, {"name": "t", "schema": SCHEMA})
    assert made.status_code == 200, made.text
    theirs = jdbc.pyiceberg_catalog(properties)
    assert theirs.list_tables("s") == [("s", "t")]
    theirs.create_table("s.u", ROWS.schema).append(ROWS)
    listed = api("admin", "GET", FED).json()["identifiers"]
    assert [each["name"] for each in listed] == ["t", "u"]
    assert api("admin", "GET", f"{FED}/u").status_code == 200
    update = {"updates": [{"@type": "addColumn", "fieldName": ["z"], "type": "string"}]}
    assert api("admin", "PUT", f"{GRAVITINO}/u", update).status_code == 200
    assert theirs.load_table("s.u").scan().to_arrow()["a"].to_pylist() == [1, 2]
    rename = {"updates": [{"@type": "rename", "newName": "v"}]}
    assert api("admin", "PUT", f"{GRAVITINO}/u", rename).status_code == 200
    assert sorted(theirs.list_tables("s")) == [("s", "t"), ("s", "v")]
    assert api("admin", "DELETE", f"{FED}/v?purgeRequested=true").status_code == 204
    assert theirs.list_tables("s") == [("s", "t")]


def test_no_pointer_leads_into_the_place_of_another(api: Api, properties: Properties, tmp_path: Path) -> None:
    native = create(api).json()
    own = api("admin", "POST", FED, {"name": "honest", "schema": SCHEMA}).json()
    place = native["metadata"]["location"].removeprefix("file://")
    secret = Path(f"{place}/metadata/secret.json")
    secret.write_text('{"password": "hidden"}')
    named = {
        "theirs": native["metadata-location"],
        "twin": own["metadata-location"],
        "file": f"file://{secret}",
    }
    for name, location in named.items():
        point(properties, name, location)
        for answer in (*every_way(api, name), api("admin", "GET", f"{GRAVITINO}/{name}")):
            assert answer.status_code == 403, (name, answer.request.url, answer.text)
            assert "hidden" not in answer.text
            assert "cat.s.t" not in answer.text
    assert api("admin", "GET", f"{FED}/honest").status_code == 200


def test_what_is_broken_is_shown_with_the_reason_and_read_by_nobody(
    api: Api, properties: Properties, tmp_path: Path, people: People
) -> None:
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    assert api("admin", "POST", FED, {"name": "good", "schema": SCHEMA}).status_code == 200
    folder = tmp_path / "tables"
    (folder / "junk.json").write_text("secret words, no JSON")
    (folder / "list.json").write_text('["secret"]')
    (folder / "half.json").write_text('{"format-version": 2, "location": "x", "secret": 1}')
    (folder / "wide.json").write_text('{"format-version": 9, "location": "x"}')
    broken = {
        "far": "s3://far/x.json",
        "gone": f"file://{folder}/gone.json",
        "junk": f"file://{folder}/junk.json",
        "list": f"file://{folder}/list.json",
        "half": f"file://{folder}/half.json",
        "wide": f"file://{folder}/wide.json",
        "odd": "no place at all",
    }
    for name, location in broken.items():
        point(properties, name, location)
    listed = api("ann", "GET", GRAVITINO).json()["identifiers"]
    assert [each["name"] for each in listed] == sorted([*broken, "good"])
    for name in broken:
        for answer in every_way(api, name):
            assert answer.status_code >= 400, (name, answer.request.url, answer.text)
            assert "Headgate failed" not in answer.text, (name, answer.request.url)
            assert "secret" not in answer.text
        shown = api("ann", "GET", f"{GRAVITINO}/{name}")
        assert shown.status_code == 200, (name, shown.text)
        table = shown.json()["table"]
        assert table["columns"] == []
        assert table["properties"]["headgate.broken"]
        assert "secret" not in shown.text
    assert "outside" in api("ann", "GET", f"{GRAVITINO}/far").json()["table"]["properties"]["headgate.broken"]
    applied(api, "policy: few\non: lake.db\nto: [user:ann]\nhide: [id]\n")
    assert api("ann", "GET", f"{GRAVITINO}/far").status_code == 403, "columns that nobody knows are hidden"
    assert api("ann", "GET", f"{GRAVITINO}/good").status_code == 200


def test_who_sees_a_part_reads_a_part_and_writes_nothing(
    api: Api, properties: Properties, people: People
) -> None:
    jdbc.pyiceberg_catalog(properties).create_table("s.t", ROWS.schema).append(ROWS)
    assert api("admin", "GET", f"{FED}/t").status_code == 200
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE MODIFY_TABLE", "metalake", "lake")
    applied(api, "policy: few\non: lake.db\nto: [user:ann]\nhide: [a]\n")
    shown = api("ann", "GET", f"{GRAVITINO}/t").json()["table"]
    assert [column["name"] for column in shown["columns"]] == ["b"]
    put = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"k": "v"}}]}
    assert api("ann", "POST", f"{FED}/t", put).status_code == 403
    assert api("ann", "DELETE", f"{FED}/t").status_code == 403
    assert api("admin", "POST", f"{FED}/t", put).status_code == 200


def test_a_table_made_again_by_the_other_writer_keeps_its_tags(
    api: Api, properties: Properties, people: People
) -> None:
    theirs = jdbc.pyiceberg_catalog(properties)
    theirs.create_table("s.t", ROWS.schema)
    assert api("admin", "GET", f"{GRAVITINO}/t").status_code == 200
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    api("admin", "POST", f"{LAKE}/tags", {"name": "pii"})
    tagging = f"{LAKE}/objects/column/db.s.t.a/tags"
    assert api("admin", "POST", tagging, {"tagsToAdd": ["pii"]}).status_code == 200
    applied(api, "policy: few\non: lake.db\nto: [user:ann]\ncolumns: {c: has_tag('pii')}\nhide: [c]\n")
    theirs.drop_table("s.t")
    theirs.create_table("s.t", ROWS.select(["b", "a"]).schema)
    answers = [api("ann", "GET", f"{GRAVITINO}/t") for _ in range(2)]
    assert answers[0].status_code == 503
    assert [column["name"] for column in answers[1].json()["table"]["columns"]] == ["b"]


def test_what_a_change_refuses_is_taken_back_in_the_database(
    api: Api, properties: Properties, steward: Steward
) -> None:
    assert api("admin", "POST", FED, {"name": "t", "schema": SCHEMA}).status_code == 200
    theirs = jdbc.pyiceberg_catalog(properties)
    before = theirs.load_table("s.t").metadata_location

    def refuses(*_: Any) -> None:
        raise Forbidden("not today")

    steward.kernel.ports = msgspec.structs.replace(steward.kernel.ports, guard=refuses)
    put = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"k": "v"}}]}
    assert api("admin", "POST", f"{FED}/t", put).status_code == 403
    assert api("admin", "POST", FED, {"name": "u", "schema": SCHEMA}).status_code == 403
    assert theirs.load_table("s.t").metadata_location == before
    assert theirs.list_tables("s") == [("s", "t")]


def test_a_transaction_over_several_tables_is_one(api: Api, properties: Properties) -> None:
    for name in ("t", "u"):
        assert api("admin", "POST", FED, {"name": name, "schema": SCHEMA}).status_code == 200
    put = [{"action": "set-properties", "updates": {"k": "v"}}]
    wrong = {"type": "assert-table-uuid", "uuid": "00000000-0000-0000-0000-000000000000"}

    def change(name: str, *requirements: Any) -> dict[str, Any]:
        return {
            "identifier": {"namespace": ["s"], "name": name},
            "requirements": list(requirements),
            "updates": put,
        }

    path = "/iceberg/v1/lake.db/transactions/commit"
    assert api("admin", "POST", path, {"table-changes": [change("t"), change("u", wrong)]}).status_code == 409
    assert "k" not in api("admin", "GET", f"{FED}/t").json()["metadata"]["properties"]
    assert api("admin", "POST", path, {"table-changes": [change("t"), change("u")]}).status_code == 204
    for name in ("t", "u"):
        assert api("admin", "GET", f"{FED}/{name}").json()["metadata"]["properties"]["k"] == "v"


def test_secrets_are_shown_to_nobody_and_the_user_to_owners_only(
    api: Api, people: People, tmp_path: Path
) -> None:
    given = {
        "catalog-backend": "jdbc",
        "warehouse": f"file://{tmp_path}/pg",
        "jdbc-url": "jdbc:postgresql://127.0.0.1:1/db",
        "jdbc-user": "keeper",
        "jdbc-password": "hidden-words",
        "jdbc-driver": "org.postgresql.Driver",
    }
    declare(api, given, "pg")
    people.may("ann", "USE_CATALOG", "metalake", "lake")
    shown = api("admin", "GET", f"{LAKE}/catalogs/pg")
    assert "hidden-words" not in shown.text
    assert shown.json()["catalog"]["properties"]["jdbc-user"] == "keeper"
    assert "keeper" not in api("ann", "GET", f"{LAKE}/catalogs/pg").text
    gone = api("admin", "GET", f"{LAKE}/catalogs/pg/schemas")
    assert gone.status_code == 502, gone.text
    assert "of catalog 'pg'" in gone.json()["message"]
    assert "hidden-words" not in gone.text


def test_unknown_properties_are_refused_by_name(api: Api, tmp_path: Path) -> None:
    for key in ("jdbc-pasword", "s3-acess-key-id", "uri", "k"):
        body = {
            "name": "x",
            "type": "relational",
            "provider": "lakehouse-iceberg",
            "properties": {**jdbc.on_sqlite(tmp_path), key: "v"},
        }
        refused = api("admin", "POST", f"{LAKE}/catalogs", body)
        assert refused.status_code == 400, (key, refused.text)
        assert f"'{key}'" in refused.text
