"""Promise: docs/keeping.md holds: a copy that is taken while somebody writes is whole, is served elsewhere, and an old store is too."""

import re
import subprocess
import threading
from pathlib import Path

import httpx
import pytest
from alembic import command
from sqlalchemy import make_url, text

from headgate.model.objects import ObjectType
from headgate.model.principals import PrincipalKind
from headgate.store import Store, migrations
from tests.peers import ROOT
from tests.postgres import _binaries, new_database
from tests.real.server import RunningServer, running
from tests.store.test_older_stores_get_their_places import insert, object_row

pytestmark = [pytest.mark.real, pytest.mark.slow]

PAGE = (ROOT / "docs/keeping.md").read_text()
TABLES = "/api/metalakes/lake/catalogs/c/schemas/s/tables"
ORDERS = {"name": "orders", "columns": [{"name": "id", "type": "long", "nullable": False}]}


def documented(heading: str, system: str) -> str:
    """The commands of the page for one kind of store."""
    block = re.search(rf"## {heading}\n.*?```sh\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    (found,) = re.findall(rf"^# {system}.*?\n(.*?)(?=^# \w|\Z)", block[1], re.MULTILINE | re.DOTALL)
    return str(found)


def run(commands: str, url: str, folder: Path) -> None:
    """Run them as they stand on the page, with this test's places instead of those of the page."""
    database = make_url(url)
    commands = commands.replace("postgresql://headgate@db/headgate", url).replace("/backup/", f"{folder}/")
    if database.database is not None:
        commands = commands.replace("/var/lib/headgate/headgate.db", database.database)
    commands = commands.replace(" -o headgate", "").replace("pg_", f"{_tools(url)}pg_")
    subprocess.run(["bash", "-euc", commands], check=True, timeout=120)


def _tools(url: str) -> str:
    return f"{_binaries()}/" if url.startswith("postgresql") else ""


def filled(server: RunningServer, home: Path) -> str:
    """A table that ann may read, and her token."""
    lake = {"catalog-backend": "native", "warehouse": str(home / "warehouse")}
    catalog = {"name": "c", "type": "relational", "provider": "lakehouse-iceberg", "properties": lake}
    server.must("admin", "POST", "/api/metalakes", {"name": "lake"})
    server.must("admin", "POST", "/api/metalakes/lake/users", {"name": "ann"})
    server.must("admin", "POST", "/api/metalakes/lake/catalogs", catalog)
    server.must("admin", "POST", "/api/metalakes/lake/catalogs/c/schemas", {"name": "s"})
    server.must("admin", "POST", TABLES, ORDERS)
    rights = ("use_catalog", "use_schema", "select_table")
    allowed = [{"name": name, "condition": "allow"} for name in rights]
    on = {"fullName": "c", "type": "catalog", "privileges": allowed}
    server.must("admin", "POST", "/api/metalakes/lake/roles", {"name": "r", "securableObjects": [on]})
    server.must("admin", "PUT", "/api/metalakes/lake/permissions/users/ann/grant", {"roleNames": ["r"]})
    return str(server.must("admin", "POST", "/api/headgate/tokens", {"user": "ann"})["text"])


def test_a_copy_taken_while_somebody_writes_is_served_elsewhere(store_url: str, tmp_path: Path) -> None:
    system = "SQLite" if store_url.startswith("sqlite") else "PostgreSQL"
    home, backup = tmp_path / "home", tmp_path / "backup"
    backup.mkdir()
    flags = ("--dev", "--no-worker", "--places", str(tmp_path))
    written: list[str] = []
    with running(home, *flags, "--store", store_url) as server:
        token = filled(server, home)
        enough, stop = threading.Event(), threading.Event()

        def writes() -> None:
            with httpx.Client(base_url=server.url, auth=("admin", ""), timeout=60) as client:
                while not stop.is_set():
                    name = f"u{len(written)}"
                    assert client.post("/api/metalakes/lake/users", json={"name": name}).status_code == 200
                    written.append(name)
                    if len(written) == 20:
                        enough.set()

        writer = threading.Thread(target=writes)
        writer.start()
        assert enough.wait(60)
        before = list(written)
        run(documented("Backup", system), store_url, backup)
        (copy,) = backup.iterdir()
        assert copy.stat().st_mode & 0o077 == 0, "it holds what the store holds"
        stop.set()
        writer.join()
    if system == "SQLite":
        restored = f"sqlite:///{tmp_path / 'elsewhere.db'}"
        Path(tmp_path / "elsewhere.db").write_bytes(b"what was there")
        Path(tmp_path / "elsewhere.db-wal").write_bytes(b"and its log")
    else:
        restored = new_database(store_url.partition("://")[2].rpartition("/")[0])
    run(documented("Restore", system), restored, backup)
    with running(tmp_path / "other", *flags, "--store", restored) as server:
        assert server.must(token, "GET", f"{TABLES}/orders")["table"]["name"] == "orders"
        users = set(server.must("admin", "GET", "/api/metalakes/lake/users")["names"])
        assert users >= {"ann", *before}
        assert users <= {"admin", "ann", *written, f"u{len(written)}"}, "nothing that nobody wrote"
        server.must("admin", "POST", "/api/metalakes/lake/users", {"name": "later"})


def test_the_first_version_of_the_store_is_upgraded_and_served(store_url: str, tmp_path: Path) -> None:
    store = Store(store_url)
    with store.engine.execution_options(headgate_write=True).begin() as connection:
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        object_row(connection, 1, 0, ObjectType.METALAKE, "lake")
        object_row(connection, 2, 1, ObjectType.ROLE, "analyst")
        insert(
            connection,
            "principals",
            id=1,
            metalake=1,
            kind=PrincipalKind.USER.value,
            name="ann",
            enabled=True,
            attributes=b"{}",
            creator="x",
            created_at="2026-01-01",
        )
        insert(connection, "owners", object=1, principal=1)
        connection.execute(text("UPDATE state SET revision = 7"))
        if connection.dialect.name == "postgresql":
            # Rows with numbers of their own were written beside the counters.
            for table in ("objects", "principals"):
                connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 10)"))
    store.close()
    with running(tmp_path, "--dev", "--no-worker", "--store", store_url) as server:
        assert server.must("ann", "GET", "/api/metalakes/lake")["metalake"]["name"] == "lake"
        assert server.must("ann", "GET", "/api/metalakes/lake/roles")["names"] == ["analyst"]
        assert server.ask("bob", "GET", "/api/metalakes/lake").status_code == 403
        server.must("ann", "POST", "/api/metalakes/lake/users", {"name": "bob"})
        assert server.ask("bob", "GET", "/api/metalakes/lake").status_code == 200
