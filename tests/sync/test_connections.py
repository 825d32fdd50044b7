"""A connection becomes the connector of its kind, under its own name, with the credentials that were said."""

import httpx
import pytest

from headgate.model.errors import IllegalArgument
from headgate.model.secrets import Secret
from headgate.sync.connections import Connection
from headgate.sync.connectors.gravitino.connector import GravitinoConnector
from headgate.sync.connectors.mariadb.connector import Account, MariaDBConnector
from headgate.sync.registry import all_capabilities, connectable, opened


def connection(kind: str, url: str, user: str | None = None, password: str | None = None) -> Connection:
    secret = None if password is None else Secret(password)
    options = {
        "service": "s",
        "objects": "o.yaml",
        "account": "1",
        "region": "eu-west-1",
        "project": "p",
        "people": "user:ann, group:staff",
    }
    return Connection(
        kind=kind, url=Secret(url), catalog="c", metalake="m", user=user, password=secret, options=options
    )


def test_every_system_but_this_one_can_be_connected_with() -> None:
    assert connectable().keys() == {able.system for able in all_capabilities()} - {"headgate"}


@pytest.mark.parametrize(
    ("kind", "url"),
    [
        ("postgresql", "postgresql://u:hush@db/x"),
        ("mariadb", "mariadb://u:hush@db"),
        ("mysql", "mysql://u:hush@db"),
        ("gravitino", "http://u:hush@g"),
        ("hive", "thrift://metastore"),
        ("hive-acl", "thrift://metastore:9084"),
        ("hive-legacy", "thrift://metastore"),
        ("ranger", "http://u:hush@r"),
        ("lakeformation", "http://127.0.0.1:1"),
        ("polaris", "http://u:hush@p"),
        ("unity", "http://u:hush@c"),
        ("bigquery", "http://u:hush@b"),
    ],
)
def test_a_connector_has_the_name_of_its_connection(kind: str, url: str) -> None:
    made = connection(kind, url)
    connector = opened(f"{kind}:main", made)
    assert connector.name == f"{kind}:main"
    # What these can hold depends on the server's answers, and nobody answers here.
    if kind not in ("bigquery", "mariadb", "mysql"):
        assert connector.capabilities.system == kind
    assert "hush" not in repr(made)
    connector.close()


@pytest.mark.parametrize(
    ("url", "user", "password", "account"),
    [
        ("mariadb://u:a%40b@db:3307", None, None, Account("db", 3307, "u", "a@b")),
        ("mariadb://db", "root", "hush", Account("db", 3306, "root", "hush")),
    ],
)
def test_an_account_comes_from_the_address_or_beside_it(
    url: str, user: str | None, password: str | None, account: Account
) -> None:
    connector = opened("mariadb:x", connection("mariadb", url, user, password))
    assert isinstance(connector, MariaDBConnector)
    assert connector.account == account


def test_a_server_without_a_user_is_refused() -> None:
    with pytest.raises(IllegalArgument, match="which server and user"):
        opened("mariadb:x", connection("mariadb", "mariadb://db"))


@pytest.mark.parametrize(
    ("url", "user", "password", "scheme"),
    [
        ("http://g", None, "hush", "Bearer hush"),
        ("http://g", "ann", "hush", "Basic YW5uOmh1c2g="),
        ("http://ann:hush@g", None, None, "Basic YW5uOmh1c2g="),
    ],
)
def test_a_password_alone_is_a_token(url: str, user: str | None, password: str | None, scheme: str) -> None:
    connector = opened("gravitino:x", connection("gravitino", url, user, password))
    assert isinstance(connector, GravitinoConnector)
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return httpx.Response(404)

    connector.rest.client._transport = httpx.MockTransport(answer)
    connector.rest.client.get("/")
    connector.close()
    assert seen == [scheme]
