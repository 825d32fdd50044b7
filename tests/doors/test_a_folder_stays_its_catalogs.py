"""Where the tables of a catalog lie, nobody who sees a part of them takes the place for a catalog of their own."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.catalogs.openings import Openings
from tests.catalogs import jdbc
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.settled import LAKE, done
from tests.openings import opened
from tests.people import People


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path)


def catalog(name: str, **properties: str) -> dict[str, Any]:
    named = {key.replace("_", "-"): value for key, value in properties.items()}
    return {"name": name, "type": "relational", "provider": "lakehouse-iceberg", "properties": named}


def test_who_sees_a_part_lets_go_of_no_folder(api: Api, tmp_path: Path, people: People) -> None:
    """mallory owns `db`, on which a policy of admin keeps rows from her, and may declare catalogs. `db.s.old` lies in one of
    its allowed locations, and nobody has loaded it here yet. She takes the allowed location out of `db`, names it for a
    catalog of her own and registers the table there, where no policy is. She should be refused, as for a new endpoint."""
    done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")
    theirs = {**jdbc.on_sqlite(tmp_path), "allowed-locations": f"file://{tmp_path}/more"}
    done(api("admin", "POST", f"{LAKE}/catalogs", catalog("db", **theirs)))
    outside = jdbc.pyiceberg_catalog(theirs)
    outside.create_namespace("s")
    rows = pa.table({"a": pa.array([1, 4711], pa.int32())})
    old = outside.create_table("s.old", rows.schema, location=f"file://{tmp_path}/more/old")
    old.append(rows)
    where = old.metadata_location
    jdbc.close_all()
    applied(api, "policy: p\non: lake.db\nto: [user:mallory]\nrows: a = 1\n")
    done(api("admin", "PUT", f"{LAKE}/owners/catalog/db", {"name": "mallory", "type": "user"}))
    mine = catalog("mine", allowed_locations=f"file://{tmp_path}/more", warehouse=f"file://{tmp_path}/own")
    assert api("mallory", "POST", f"{LAKE}/catalogs", mine).status_code == 403, "the folder is db's"
    gone = [{"@type": "removeProperty", "property": "allowed-locations"}]
    let_go = api("mallory", "PUT", f"{LAKE}/catalogs/db", {"updates": gone})
    api("mallory", "POST", f"{LAKE}/catalogs", mine)
    api("mallory", "POST", f"{LAKE}/catalogs/mine/schemas", {"name": "s"})
    register = {"name": "t", "metadata-location": where}
    there = "/iceberg/v1/lake.mine/namespaces/s"
    registered = api("mallory", "POST", f"{there}/register", register)
    planned = api("mallory", "POST", f"{there}/tables/t/plan", {"stats-fields": ["a"]})
    assert "data-file" not in planned.text, "rows that the policy keeps from her"
    assert registered.status_code in (400, 403, 404), registered.text
    assert let_go.status_code == 403, let_go.text


def test_nobody_registers_in_the_folder_of_another_catalog_what_nobody_has_loaded(
    api: Api, tmp_path: Path, people: People
) -> None:
    """mallory names bob's warehouse as an allowed location of a native catalog of hers, to register what lies there, or to
    learn by the answers which files do. The catalog is refused."""
    done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")
    theirs = jdbc.on_sqlite(tmp_path)
    done(api("admin", "POST", f"{LAKE}/catalogs", catalog("db", **theirs)))
    for folder in (theirs["warehouse"], f"{theirs['warehouse']}/s/old"):
        mine = catalog("mine", allowed_locations=folder, warehouse=f"file://{tmp_path}/own")
        assert api("mallory", "POST", f"{LAKE}/catalogs", mine).status_code == 403


def test_no_database_is_made_in_the_folder_of_another_catalog(
    api: Api, tmp_path: Path, people: People
) -> None:
    """mallory declares a catalog in a SQLite file that lies in bob's warehouse, among the files of a table that nobody has
    loaded here yet. It should be refused, and no file made there."""
    done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")
    theirs = jdbc.on_sqlite(tmp_path)
    done(api("admin", "POST", f"{LAKE}/catalogs", catalog("db", **theirs)))
    outside = jdbc.pyiceberg_catalog(theirs)
    outside.create_namespace("s")
    place = outside.create_table("s.old", pa.schema([("a", pa.int32())])).location().removeprefix("file://")
    jdbc.close_all()
    file = f"{place}/metadata/mine.db"
    mine = catalog(
        "mine", catalog_backend="jdbc", jdbc_url=f"jdbc:sqlite:{file}", warehouse=f"file://{tmp_path}/own"
    )
    made = api("mallory", "POST", f"{LAKE}/catalogs", mine)
    api("mallory", "POST", f"{LAKE}/catalogs/mine/schemas", {"name": "s"})
    assert not Path(file).exists()
    assert made.status_code in (400, 403), made.text


@pytest.mark.parametrize("below", ["", "/catalog.db-journal"])
def test_no_fileset_is_made_around_the_database_of_another_catalog(
    api: Api, tmp_path: Path, people: People, below: str
) -> None:
    """mallory makes a fileset of the folder that bob's database lies in, and lists it; and a folder in the place of the
    journal that SQLite keeps beside that database, after which bob's catalog can write nothing. Both should be refused."""
    done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")
    theirs = jdbc.on_sqlite(tmp_path)
    done(api("admin", "POST", f"{LAKE}/catalogs", catalog("db", **theirs)))
    done(api("admin", "POST", f"{LAKE}/catalogs/db/schemas", {"name": "s"}))
    own = {"name": "files", "type": "fileset", "properties": {"location": f"file://{tmp_path}/theirs"}}
    assert api("mallory", "POST", f"{LAKE}/catalogs", own).status_code == 403, "the folder of bob's database"
    done(
        api(
            "mallory",
            "POST",
            f"{LAKE}/catalogs",
            {**own, "properties": {"location": f"file://{tmp_path}/own"}},
        )
    )
    done(api("mallory", "POST", f"{LAKE}/catalogs/files/schemas", {"name": "s"}))
    body = {"name": "f", "type": "managed", "storageLocation": f"file://{tmp_path}/theirs{below}"}
    made = api("mallory", "POST", f"{LAKE}/catalogs/files/schemas/s/filesets", body)
    listed = api("mallory", "GET", f"{LAKE}/catalogs/files/schemas/s/filesets/f/files?sub_path=/")
    written = api("admin", "POST", f"{LAKE}/catalogs/db/schemas", {"name": "r"})
    assert written.status_code == 200, ("bob's catalog is broken", written.text)
    assert "catalog.db" not in listed.text, listed.text
    assert made.status_code in (400, 403), made.text


def test_trying_a_catalog_writes_nothing_in_the_place_of_another(
    api: Api, tmp_path: Path, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mallory tries a catalog whose warehouse is the folder of admin's table. Declaring it is refused, as the place is taken;
    so should trying it be, which writes a file there."""
    from headgate.catalogs.iceberg.storage import Storage

    done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")
    body = catalog("cat", allowed_locations=f"file://{tmp_path}/shared")
    done(api("admin", "POST", f"{LAKE}/catalogs", body))
    done(api("admin", "POST", f"{LAKE}/catalogs/cat/schemas", {"name": "s"}))
    schema = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
    table = {"name": "t", "schema": schema, "location": f"file://{tmp_path}/shared/t"}
    assert api("admin", "POST", "/iceberg/v1/lake.cat/namespaces/s/tables", table).status_code == 200
    written: list[str] = []
    probe = Storage.probe

    def watched(self: Storage, place: str) -> None:
        written.append(place)
        probe(self, place)

    monkeypatch.setattr(Storage, "probe", watched)
    mine = catalog("mine", warehouse=f"file://{tmp_path}/shared/t/data")
    assert api("mallory", "POST", f"{LAKE}/catalogs", mine).status_code in (400, 403)
    tried = api("mallory", "POST", f"{LAKE}/catalogs/testConnection", mine)
    assert not written, written
    assert tried.status_code in (400, 403), tried.text


def test_trying_a_database_makes_no_file_in_the_folder_of_another_catalog(
    api: Api, tmp_path: Path, people: People
) -> None:
    """The same with a database, which need not be declared to be opened: opening makes its file."""
    done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")
    theirs = jdbc.on_sqlite(tmp_path)
    done(api("admin", "POST", f"{LAKE}/catalogs", catalog("db", **theirs)))
    done(api("admin", "POST", f"{LAKE}/catalogs/db/schemas", {"name": "s"}))
    Path(f"{tmp_path}/tables/s").mkdir(parents=True, exist_ok=True)
    file = Path(f"{tmp_path}/tables/s/mine.db")
    mine = catalog(
        "mine", catalog_backend="jdbc", jdbc_url=f"jdbc:sqlite:{file}", warehouse=f"file://{tmp_path}/own"
    )
    tried = api("mallory", "POST", f"{LAKE}/catalogs/testConnection", mine)
    assert not file.exists()
    assert tried.status_code in (400, 403), tried.text
