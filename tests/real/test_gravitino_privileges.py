"""Grants, owners, levels and missing metalakes as Gravitino's document has them, with its own unmodified client."""

from pathlib import Path

import pytest

from tests.real.test_gravitino_client import run

pytestmark = [pytest.mark.real, pytest.mark.slow]


def test_the_client_meets_the_documents_conditions(
    gravitino_python: Path, server: str, tmp_path: Path
) -> None:
    on_schema = {"SCHEMA c.s": ["SELECT_TABLE"]}
    assert dict(run(gravitino_python, "gravitino_privileges.py", server, tmp_path)) == {
        "admin loads none": "NoSuchMetalakeException",
        "admin drops none": False,
        "ann loads none": "ForbiddenException",
        "nameless lists": 0,
        "nameless loads": "ForbiddenException",
        "nameless is added": "lake",
        "ann grants before": "ForbiddenException",
        "ann loads the catalog": "ForbiddenException",
        "ann grants": {"TABLE c.s.t": ["SELECT_TABLE"]},
        "ann revokes": {},
        "ann sets the owner": "ForbiddenException",
        "bob grants": on_schema,
        "bob grants above": "ForbiddenException",
        "bob loads the catalog": "ForbiddenException",
        "bob passes it on": None,
        "owner of the schema": "cat",
        "bob has nothing left": "ForbiddenException",
        "bob reads before": "ForbiddenException",
        "bob reads": "t",
        "create schema on a schema": "IllegalPrivilegeException",
        "create schema on a catalog": {**on_schema, "CATALOG c": ["CREATE_SCHEMA"]},
    }
