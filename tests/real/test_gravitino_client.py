"""The access control that Gravitino documents, with Gravitino's own unmodified client."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.catalogs.hive_server import Thrift, properties
from tests.catalogs.relational import emptied, on_mysql
from tests.mariadb import Server
from tests.real.server import running

pytestmark = [pytest.mark.real, pytest.mark.slow]


def run(python: Path, script: str, server: str, home: Path, *more: str) -> list[Any]:
    """The lines of JSON that a script tells when it runs in the client's environment."""
    told = subprocess.run(
        [python, Path(__file__).with_name(script), server, *more],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        timeout=200,
    )
    assert told.returncode == 0, told.stdout + told.stderr[-3000:]
    return [json.loads(line) for line in told.stdout.splitlines() if line[:1] in ("{", "[")]


def test_the_worked_example_goes_through_and_nobody_else_gets_anywhere(
    gravitino_python: Path, server: str, tmp_path: Path
) -> None:
    iceberg = {"provider": "lakehouse-iceberg", "properties": {}}
    check_walk(gravitino_python, server, tmp_path, {"hive": iceberg, "mysql": iceberg})


def test_the_worked_example_goes_through_with_a_hive_metastore_and_mysql(
    gravitino_python: Path, tmp_path: Path, hive_metastore: int, mysql_server: Server
) -> None:
    """Up to reading the tables' descriptions: rows of Hive tables and of MySQL are not read yet."""
    emptied(mysql_server)
    hive = properties(hive_metastore, tmp_path)
    declared = {
        "hive": {"provider": "hive", "properties": hive},
        "mysql": {"provider": "jdbc-mysql", "properties": on_mysql(mysql_server)},
    }
    hosts = f"127.0.0.1:{hive_metastore},127.0.0.1:{mysql_server.port}"
    with running(tmp_path, "--dev", "--hosts", hosts, "--places", str(tmp_path)) as server:
        check_walk(gravitino_python, server.url, tmp_path, declared)
    with Thrift(hive_metastore) as metastore:
        table = metastore.get_table("hive_db", "hive_table")
        assert [column.name for column in table.sd.cols] == ["id", "name"]
        metastore.drop_database("hive_db", False, True)
    with mysql_server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'mysql_db' ORDER BY ordinal_position"
        )
        assert cursor.fetchall() == (("id",), ("name",))
    emptied(mysql_server)


def check_walk(python: Path, url: str, home: Path, catalogs: dict[str, Any]) -> None:
    *steps, after = run(python, "gravitino_walk.py", url, home, json.dumps(catalogs))
    assert [step["step"] for step in steps] == list(range(1, 14))
    for step in steps:
        assert step["attempts"], f"step {step['step']} was tried by someone who may not"
        assert set(step["attempts"].values()) == {"ForbiddenException"}, step
    closed, open_ = ["ForbiddenException", []], ["done", ["hive_table"]]
    assert after["story"] == [closed, open_, closed, closed, open_, closed]
    assert (after["removed"], after["gone"]) == ([True, False], "ForbiddenException")


def test_every_access_control_call_of_the_client_is_understood_both_ways(
    gravitino_python: Path, server: str, tmp_path: Path
) -> None:
    role = {"CATALOG cat": ["USE_CATALOG", "!CREATE_SCHEMA"]}
    assert dict(run(gravitino_python, "gravitino_calls.py", server, tmp_path)) == {
        "add user": "ann@example.com",
        "add user again": "UserAlreadyExistsException",
        "get user": "ann@example.com",
        "get user missing": "NoSuchUserException",
        "list users": [["admin", []], ["ann@example.com", []]],
        "list user names": ["admin", "ann@example.com"],
        "add group": "eu/devs",
        "add group again": "GroupAlreadyExistsException",
        "get group": "eu/devs",
        "get group missing": "NoSuchGroupException",
        "list groups": [["eu/devs", []]],
        "list group names": ["eu/devs"],
        "create role": role,
        "create role again": "RoleAlreadyExistsException",
        "create role on nothing": "IllegalMetadataObjectException",
        "create role of another type": "IllegalPrivilegeException",
        "get role": [role, {"k": "v"}],
        "get role missing": "NoSuchRoleException",
        "list roles": ["r"],
        "roles of object": ["r"],
        "grant all privileges": 32,
        "revoke all privileges": role,
        "grant to missing role": "NoSuchRoleException",
        "grant on nothing": "NoSuchMetadataObjectException",
        "grant wrongly": "IllegalPrivilegeException",
        "grant role to user": ["r"],
        "grant missing role": "IllegalRoleException",
        "grant role to nobody": "NoSuchUserException",
        "revoke role from user": [],
        "grant role to group": ["r"],
        "grant role to no group": "NoSuchGroupException",
        "revoke role from group": [],
        "delete role": [True, False],
        "owner of metalake": ["admin", "USER"],
        "set owner": None,
        "owner of catalog": ["eu/devs", "GROUP"],
        "owner of nothing": "NoSuchMetadataObjectException",
        "owner missing": "NotFoundException",
        "remove group": [True, False],
        "no owner": None,
        "remove user": [True, False],
    }


def test_what_gravitinos_own_suites_rely_on_holds_with_its_client(
    gravitino_python: Path, server: str, tmp_path: Path
) -> None:
    assert dict(run(gravitino_python, "gravitino_suites.py", server, tmp_path)) == {
        "properties of a new table": {"k": "v"},
        "properties of a table": ["current-snapshot-id", "format-version", "k", "location", "provider"],
        "user": ["user1#123", "user1#123"],
        "group": ["group1#123", "group1#123"],
        "role": ["role#123", "role#123"],
        "user holds": ["role#123"],
        "group holds": ["role#123"],
        "privilege": "role#123",
        "owner": "user1#123",
        "user gone": [True, False],
        "group gone": True,
        "role gone": [True, []],
        "metalake comment": [None, None],
        "catalog comment": None,
        "table comment": None,
        "tag comment": None,
        "fileset comment": [None, None],
        "model comment": None,
        "tags added": ["t"],
        "tags removed": ["t"],
        "tags left": [],
        "statistic": None,
        "statistic of ours": "IllegalStatisticNameException",
        "statistics": ["custom-k"],
        "privilege of another type on nothing": "IllegalPrivilegeException",
        "privilege on nothing": "NoSuchMetadataObjectException",
        "schema missing": "NoSuchSchemaException",
        # The client calls everything above a schema that is not in use a catalog.
        "schema missing while not in use": "CatalogNotInUseException",
        "nested": "A:B:C",
        "nested again": "SchemaAlreadyExistsException",
        "parents": [None, None, "deep"],
        "listed": [["A", "s"], ["A:B"], ["A:B:C"]],
        "owners": ["admin", "admin", "admin"],
        "job runs": "NoSuchJobTemplateException",
        "unread": "IllegalArgumentException",
    }
