"""A secret of a catalog goes to no other address than the one it was given for, whoever alters the catalog."""

from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.openings import Openings
from tests.catalogs.any_rest import any_rest
from tests.conftest import Api
from tests.doors.settled import LAKE, done
from tests.openings import opened

CATALOG = f"{LAKE}/catalogs/c"
HERE, THERE = "http://127.0.0.1:9001", "http://127.0.0.1:9002"
KEYS = {"s3-access-key-id": "hush-id", "s3-secret-access-key": "hush-key"}
ROLE = {"s3-role-arn": "arn:aws:iam::123456789012:role/lake"}


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://lake")


def declared(api: Api, properties: dict[str, str]) -> None:
    """A catalog of admin's, which ann owns now: she is not told its secrets."""
    done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
    done(api("admin", "POST", f"{LAKE}/users", {"name": "ann"}))
    body = {
        "name": "c",
        "type": "relational",
        "provider": "lakehouse-iceberg",
        "properties": properties,
    }
    done(api("admin", "POST", f"{LAKE}/catalogs", body))
    done(api("admin", "PUT", f"{LAKE}/owners/catalog/c", {"name": "ann", "type": "user"}))


def updates(**properties: str | None) -> dict[str, Any]:
    """Updates of properties, whose dots and hyphens are written as `__` and `_`; None removes one."""
    every = []
    for name, value in properties.items():
        key = name.replace("__", ".").replace("_", "-")
        kind = {"@type": "removeProperty"} if value is None else {"@type": "setProperty", "value": value}
        every.append({**kind, "property": key})
    return {"updates": every}


def kept(api: Api, body: dict[str, Any]) -> bool:
    """Whether updates are refused as they would move a secret, and say so, whether they are made or only tried."""
    answer = api("ann", "PUT", CATALOG, body)
    tried = api("ann", "POST", f"{CATALOG}/testConnection", body).json()
    if answer.status_code == 200:
        return False
    assert answer.status_code == 400, answer.text
    assert tried["code"] == answer.json()["code"], tried
    for said in (answer.text, str(tried)):
        assert "would go there" in said
        assert "hush" not in said
    return True


MOVES = (
    ({"s3-endpoint": HERE, **KEYS}, updates(s3_endpoint=THERE)),
    ({"s3-endpoint": HERE, **KEYS}, updates(s3_endpoint=None)),
    ({"s3.endpoint": HERE, **KEYS}, updates(s3_endpoint=THERE)),
    ({**KEYS}, updates(s3__endpoint=THERE)),
    ({"s3.access-key-id": "hush-id", "s3.secret-access-key": "hush-key"}, updates(s3_endpoint=THERE)),
    (
        {"s3-session-token": "hush", **KEYS},
        updates(s3_endpoint=THERE, s3_access_key_id="a", s3_secret_access_key="b"),
    ),
    ({"s3-sts-endpoint": HERE, **ROLE, **KEYS}, updates(s3_sts_endpoint=THERE)),
    # Another address, named too, takes the place of one that is removed.
    (
        {"s3-sts-endpoint": HERE, "s3-token-service-endpoint": THERE, **ROLE, **KEYS},
        updates(s3_sts_endpoint=None),
    ),
    ({"s3-endpoint": HERE, **KEYS}, updates(s3_token_service_endpoint=THERE)),
    ({"s3-endpoint": HERE, "a.password": "hush"}, updates(s3_endpoint=THERE)),
    # Half of a pair is not all of it.
    ({"s3-endpoint": HERE, **KEYS}, updates(s3_endpoint=THERE, s3_access_key_id="mine")),
)


@pytest.mark.slow
@pytest.mark.parametrize(("properties", "body"), MOVES)
def test_an_address_does_not_change_while_secrets_stay(
    api: Api, properties: dict[str, str], body: dict[str, Any]
) -> None:
    declared(api, properties)
    assert kept(api, body)


@pytest.mark.parametrize(
    ("properties", "body"),
    [
        (
            {"s3-endpoint": HERE, "s3-token-expire-in-secs": "900", **KEYS},
            updates(s3_endpoint=THERE, s3_access_key_id="mine", s3_secret_access_key="mine"),
        ),
        (
            {"s3-endpoint": HERE, **KEYS},
            updates(s3_endpoint=THERE, s3_access_key_id=None, s3_secret_access_key=None),
        ),
        ({"s3-endpoint": HERE}, updates(s3_endpoint=THERE)),
        ({"s3-endpoint": HERE, **KEYS}, updates(s3_endpoint=HERE, k="v")),
        ({"s3-endpoint": HERE, **KEYS}, updates(s3_access_key_id="new", s3_secret_access_key="new")),
    ],
)
def test_it_does_when_they_are_given_anew_or_go(
    api: Api, properties: dict[str, str], body: dict[str, Any]
) -> None:
    declared(api, properties)
    assert not kept(api, body)


@pytest.mark.parametrize("secret", ["credential", "token"])
def test_another_server_for_tokens_is_not_sent_what_it_was_not_given(api: Api, secret: str) -> None:
    with any_rest() as server, any_rest() as other:
        declared(api, {"catalog-backend": "rest", "uri": server.url, secret: "hush:hush"})
        assert kept(api, updates(oauth2_server_uri=other.url))
        done(
            api("ann", "PUT", CATALOG, updates(oauth2_server_uri=other.url, **{secret: "mine:mine"})),
        )
        assert kept(api, updates(oauth2_server_uri=None))
