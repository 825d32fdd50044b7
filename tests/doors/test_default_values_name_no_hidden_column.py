"""A default value that a database makes from other columns names none that its reader may not see."""

from tests.conftest import Api
from tests.doors.test_tables_of_databases_are_governed import (
    TABLES,
    Run,
    openings,
    restrict,
    run,
    shown,
)
from tests.people import People

__all__ = ["openings", "run"]

import pytest

pytestmark = pytest.mark.real


def test_a_default_value_made_from_a_hidden_column_does_not_name_it(
    api: Api, run: Run, people: People
) -> None:
    if "mysql" not in api("admin", "GET", "/api/metalakes/lake/catalogs/db").json()["catalog"]["provider"]:
        run("CREATE TABLE s.t (ssn serial, name text DEFAULT ('n' || currval('s.t_ssn_seq')))")
    else:
        run("CREATE TABLE s.t (ssn varchar(20), name varchar(40) DEFAULT (concat('n', ssn)))")
    assert shown(api, "admin") == ["ssn", "name"]
    restrict(api, people)
    assert shown(api) == ["name"]
    assert "ssn" not in api("ann", "GET", f"{TABLES}/t").text
