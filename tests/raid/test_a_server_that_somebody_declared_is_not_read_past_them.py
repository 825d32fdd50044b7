"""What lies behind a catalog is not read past its policies by declaring the same server once more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.catalogs.openings import Openings
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.test_federated_tables_keep_their_place import VENDS
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://hr")


def declare(api: Api, user: str, name: str, uri: str) -> int:
    properties = {"catalog-backend": "rest", "uri": uri, **VENDS}
    catalog = {"name": name, "type": "relational", "provider": "lakehouse-iceberg", "properties": properties}
    return int(api(user, "POST", f"{LAKE}/catalogs", catalog).status_code)


@pytest.fixture
def remote(api: Api, people: People) -> Iterator[AnyRest]:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    for user in ("mallory", "bob"):
        people.join(user)
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")
    with any_rest() as hr:
        hr.put("old", "s3://hr/old")
        assert declare(api, "admin", "hr", hr.url) == 200
        people.may("mallory", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "catalog", "hr")
        # Everything in the catalog is under this policy, also what comes later.
        applied(api, "policy: p\non: lake.hr\nto: [user:mallory]\ndeny: true\n")
        assert api("admin", "GET", f"{LAKE}/catalogs/hr/schemas/r/tables/old").status_code == 200
        yield hr


@pytest.mark.parametrize("name", ["old", "new"])
def test_by_declaring_it_again(api: Api, remote: AnyRest, name: str) -> None:
    remote.put("new", "s3://hr/new")
    if name == "old":
        assert api("mallory", "GET", f"{LAKE}/catalogs/hr/schemas/r/tables/old").status_code == 403
    declared = declare(api, "mallory", "mine", remote.url)
    listed = api("mallory", "GET", f"{LAKE}/catalogs/mine/schemas/r/tables")
    answer = api("mallory", "GET", f"/iceberg/v1/lake.mine/namespaces/r/tables/{name}")
    print(declared, listed.text[:200], answer.status_code, answer.text[:200])
    print("admin then:", api("admin", "GET", f"{LAKE}/catalogs/hr/schemas/r/tables/{name}").status_code)
    assert answer.status_code != 200
