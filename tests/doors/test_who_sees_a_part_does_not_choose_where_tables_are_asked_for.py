"""Who sees a part of a catalog's tables does not choose where, or as whom, its tables are asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.openings import Openings
from headgate.model.objects import CatalogType
from headgate.steward import Steward
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.governed import applied, govern
from tests.doors.settled import LAKE, done, refused
from tests.openings import opened

NATIVE, FEDERATED = f"{LAKE}/catalogs/cat", f"{LAKE}/catalogs/fed"
HIDE = """\
policy: hide-ssn
on: lake.cat.s.customers
to: [user:ann]
hide: [ssn]
---
policy: hide-a
on: lake.fed.r.t
to: [user:ann]
hide: [a]
"""
NOTHING = "policy: nothing\non: lake.cat.s.customers\nto: [user:bob]\nhide: [ssn]\n"


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://bucket")


@pytest.fixture(autouse=True)
def remote(api: Api) -> Iterator[AnyRest]:
    """ann owns two catalogs, in each of which a column of a table is hidden from her."""
    govern(api)
    with any_rest() as remote:
        remote.put("t", "s3://bucket/t")
        properties = {"catalog-backend": "rest", "uri": remote.url, "token": "theirs"}
        body = {
            "name": "fed",
            "type": "relational",
            "provider": "lakehouse-iceberg",
            "properties": properties,
        }
        done(api("admin", "POST", f"{LAKE}/catalogs", body))
        done(api("admin", "GET", f"{FEDERATED}/schemas/r/tables/t"))
        applied(api, HIDE)
        for name in ("cat", "fed"):
            done(api("admin", "PUT", f"{LAKE}/owners/catalog/{name}", {"name": "ann", "type": "user"}))
        yield remote


def put(api: Api, user: str, path: str, **properties: str) -> Any:
    updates = [
        {"@type": "setProperty", "property": key.replace("_", "-"), "value": value}
        for key, value in properties.items()
    ]
    return api(user, "PUT", path, {"updates": updates})


ELSEWHERE = (
    (NATIVE, {"s3_region": "eu-west-1"}),
    (NATIVE, {"s3.region": "eu-west-1"}),
    (NATIVE, {"s3_endpoint": "http://127.0.0.1:9"}),
    (FEDERATED, {"token": "mine"}),
    (FEDERATED, {"credential": "me:mine"}),
    (FEDERATED, {"scope": "mine"}),
    (FEDERATED, {"oauth2_server_uri": "http://127.0.0.1:9/tokens", "token": "mine"}),
    (FEDERATED, {"s3_endpoint": "http://127.0.0.1:9"}),
)


@pytest.mark.parametrize(("path", "properties"), ELSEWHERE)
def test_a_restricted_owner_is_refused(api: Api, path: str, properties: dict[str, str]) -> None:
    before = api("ann", "GET", path).json()
    answer = put(api, "ann", path, **properties)
    assert refused(answer)
    assert "sees only a part of it" in answer.text
    assert api("ann", "GET", path).json() == before
    # Everything else stays the owner's, and who may change the policies may do so.
    done(put(api, "ann", path, k="v"))
    done(put(api, "admin", path, **properties))


@pytest.mark.parametrize(("path", "properties"), ELSEWHERE)
def test_an_owner_who_sees_all_is_not(api: Api, path: str, properties: dict[str, str]) -> None:
    applied(api, NOTHING)
    done(put(api, "ann", path, **properties))


@pytest.mark.parametrize("key", ["uri", "warehouse", "catalog-backend"])
def test_the_server_itself_stays_for_everybody(api: Api, key: str) -> None:
    for user in ("ann", "admin"):
        assert put(api, user, FEDERATED, **{key: "http://127.0.0.1:9"}).status_code == 400, user


@pytest.mark.slow
@pytest.mark.parametrize(
    ("named", "own"),
    [
        (("lakehouse-iceberg", {"catalog-backend": "glue"}), "s3-access-key-id"),
        (("hive", {"metastore-type": "glue"}), "s3-access-key-id"),
        (("glue", {}), "aws-access-key-id"),
        (("lakehouse-iceberg", {"catalog-backend": "jdbc"}), "jdbc-user"),
    ],
)
def test_who_asks_counts_where_the_answer_depends_on_it(
    steward: Steward, named: tuple[str, dict[str, str]], own: str
) -> None:
    name, properties = named
    provider = steward.catalogs.registry.provider(CatalogType.RELATIONAL, name, properties)
    asked = [own] if own == "jdbc-user" else [own, "s3-role-arn", "s3-external-id", "aws-glue-catalog-id"]
    for key in (*asked, "s3-endpoint", "warehouse"):
        assert provider.asks_elsewhere(properties, {**properties, key: "mine"}), key
    for key in ("jdbc-password", "s3-secret-access-key", "headgate.enforce"):
        assert not provider.asks_elsewhere(properties, {**properties, key: "mine"}), key
