"""Who would see a part of tables that nobody has loaded here yet chooses neither how they are told of nor as whom they are asked for."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.catalogs.openings import Openings
from tests.catalogs import jdbc
from tests.catalogs.any_rest import any_rest
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.settled import LAKE, done
from tests.openings import opened
from tests.people import People

KEEPS = "policy: p\non: lake.fed\nto: [user:mallory]\nrows: a = 1\n"
FED = f"{LAKE}/catalogs/fed"


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://bucket")


def declare(api: Api, people: People, **properties: str) -> None:
    """admin declares `fed`, writes a policy on it that keeps rows from mallory, and gives her the catalog."""
    done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
    people.join("mallory")
    body = {"name": "fed", "type": "relational", "provider": "lakehouse-iceberg", "properties": properties}
    done(api("admin", "POST", f"{LAKE}/catalogs", body))
    applied(api, KEEPS)
    done(api("admin", "PUT", f"{LAKE}/owners/catalog/fed", {"name": "mallory", "type": "user"}))


def put(api: Api, property: str, value: str) -> Any:
    update = {"@type": "setProperty", "property": property, "value": value}
    return api("mallory", "PUT", FED, {"updates": [update]})


@pytest.mark.parametrize(
    ("property", "value"),
    [("headgate.originals", "statistics"), ("headgate.lazy", "statistics"), ("headgate.enforce", "delegate")],
)
def test_nobody_chooses_that_more_is_told_before_tables_are_loaded(
    api: Api, people: People, tmp_path: Path, property: str, value: str
) -> None:
    """`fed.s.old` lies in a database since before Headgate. mallory, whom a policy on `fed` keeps rows of it from, chooses a
    mode that tells more before she looks at the table. She should be refused, as she is once it was loaded."""
    theirs = jdbc.on_sqlite(tmp_path)
    outside = jdbc.pyiceberg_catalog(theirs)
    outside.create_namespace("s")
    rows = pa.table({"a": pa.array([1, 4711], pa.int32())})
    outside.create_table("s.old", rows.schema).append(rows)
    jdbc.close_all()
    declare(api, people, **theirs)
    chosen = put(api, property, value)
    assert chosen.status_code == 403, chosen.text


def test_nobody_chooses_as_whom_tables_are_asked_for_before_they_are_loaded(api: Api, people: People) -> None:
    """As above, with a token of mallory's own for a REST catalog."""
    with any_rest() as remote:
        remote.put("t", "s3://bucket/t")
        declare(api, people, **{"catalog-backend": "rest", "uri": remote.url, "token": "theirs"})
        chosen = put(api, "token", "mine")
    assert chosen.status_code == 403, chosen.text


@pytest.mark.parametrize("later", ["from: 2999-01-01", "when: has_tag('scope')"])
def test_nobody_chooses_that_more_is_told_once_a_policy_applies(api: Api, people: People, later: str) -> None:
    """mallory owns a native catalog with a table, and a policy that will keep rows from her waits for a day or a tag. She
    sees all of it now, and chooses a mode that will tell her more of the rest then: she should be refused, as she would be
    were the policy to lapse by what she does."""
    done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
    people.join("mallory")
    body = {"name": "fed", "type": "relational", "provider": "lakehouse-iceberg"}
    done(api("admin", "POST", f"{LAKE}/catalogs", body))
    done(api("admin", "POST", f"{FED}/schemas", {"name": "s"}))
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "scope"}))
    table = {"name": "t", "columns": [{"name": "a", "type": "integer"}]}
    done(api("admin", "POST", f"{FED}/schemas/s/tables", table))
    applied(api, f"{KEEPS}{later}\n")
    done(api("admin", "PUT", f"{LAKE}/owners/catalog/fed", {"name": "mallory", "type": "user"}))
    assert put(api, "headgate.originals", "statistics").status_code == 403
