"""The access control that Gravitino documents, with Gravitino's own unmodified client."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.real, pytest.mark.slow]


def run(python: Path, script: str, server: str, home: Path) -> list[Any]:
    """The lines of JSON that a script tells when it runs in the client's environment."""
    told = subprocess.run(
        [python, Path(__file__).with_name(script), server],
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
    *steps, after = run(gravitino_python, "gravitino_walk.py", server, tmp_path)
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
