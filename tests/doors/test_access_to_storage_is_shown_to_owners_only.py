"""How a catalog gets into its storage is its owner's to see; who uses the catalog needs to know where it is."""

from pathlib import Path

import pytest

from headgate.catalogs.openings import Openings
from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People

CATALOGS = f"{LAKE}/catalogs"
ACCESS = {
    "s3-external-id": "the-external-id",
    "s3-role-arn": "arn:aws:iam::123456789012:role/lake",
    "s3.role-arn": "arn:aws:iam::123456789012:role/lake",
    "s3-sts-endpoint": "http://127.0.0.1:9001",
    "oauth2-server-uri": "http://127.0.0.1:9002/tokens",
    "scope": "PRINCIPAL_ROLE:ALL",
}
PLACE = {"s3-endpoint": "http://127.0.0.1:9000", "s3-region": "eu-1", "k": "v"}


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://lake")


def test_who_only_uses_a_catalog_is_not_shown_how_it_gets_in(api: Api, people: People) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    for name in ("owner", "user"):
        people.join(name)
    people.may("owner", "CREATE_CATALOG", "metalake", "lake")
    people.may("user", "USE_CATALOG", "metalake", "lake")
    properties = {**ACCESS, **PLACE, "s3-secret-access-key": "hush"}
    catalog = {"name": "c", "type": "relational", "provider": "lakehouse-iceberg", "properties": properties}
    made = api("owner", "POST", CATALOGS, catalog)
    assert made.status_code == 200, made.text
    for who, expected in (("owner", {**ACCESS, **PLACE}), ("admin", {**ACCESS, **PLACE}), ("user", PLACE)):
        loaded = api(who, "GET", f"{CATALOGS}/c").json()["catalog"]["properties"]
        listed = api(who, "GET", f"{CATALOGS}?details=true").json()["catalogs"][0]["properties"]
        assert loaded == listed == {**expected, "in-use": "true"}, who
        config = api(who, "GET", "/iceberg/v1/config?warehouse=lake.c")
        assert not [value for value in (*ACCESS.values(), "hush") if value in config.text]
    assert made.json()["catalog"]["properties"] == {**ACCESS, **PLACE, "in-use": "true"}
    update = {"updates": [{"@type": "updateComment", "newComment": "x"}]}
    assert api("owner", "PUT", f"{CATALOGS}/c", update).json()["catalog"]["properties"]["scope"]
