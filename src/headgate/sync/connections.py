"""Named systems: where each is and how it is opened. Their names, such as ``postgresql:main``, are what people say."""

from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import httpx
import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip
from headgate.model.secrets import Secret
from headgate.sync.contract import Connector
from headgate.sync.facts import Kind, Present, Principal, Securable
from headgate.sync.snapshot import PolicySnapshot


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """Where a system is, who administers it, and which metalakes' owners may use it."""

    kind: str
    url: Secret
    catalog: str
    """Under which catalog its objects are named."""
    metalake: str
    """Of a system that has metalakes: which one."""
    user: str | None = None
    password: Secret | None = None
    metalakes: tuple[str, ...] = ()
    """Whose owners may use it. Service admins may always; without any name here nobody else."""
    options: dict[str, str] = {}
    """What only this kind of system asks for."""


def opened(name: str, connection: Connection) -> Connector:
    """The connector of a named system. It connects when it is first used."""
    return KINDS[connection.kind](name, connection)


def _postgresql(name: str, at: Connection) -> Connector:
    from headgate.sync.connectors.postgresql import PostgresConnector

    return PostgresConnector(at.url.hidden, at.catalog, name)


def _mariadb(name: str, at: Connection) -> Connector:
    from headgate.sync.connectors.mariadb import Account, MariaDBConnector

    parts = urlsplit(at.url.hidden)
    user = at.user or unquote(parts.username or "")
    password = at.password.hidden if at.password else unquote(parts.password or "")
    if not parts.hostname or not user:
        raise IllegalArgument(
            f"'{name}' does not say which server and user", hint='url = "mariadb://user:password@host:3306"'
        )
    return MariaDBConnector(Account(parts.hostname, parts.port or 3306, user, password), at.catalog, name)


def _gravitino(name: str, at: Connection) -> Connector:
    from headgate.sync.connectors.gravitino import GravitinoConnector

    return GravitinoConnector(_client(at), at.metalake, name)


def _hive(authorizer: str) -> Callable[[str, Connection], Connector]:
    def open(name: str, at: Connection) -> Connector:
        from headgate.sync.connectors.hive import Authorizer, HiveConnector

        parts = urlsplit(at.url.hidden)
        if not parts.hostname:
            raise IllegalArgument(f"'{name}' does not say which server", hint='url = "thrift://host:9083"')
        return HiveConnector(
            parts.hostname,
            parts.port or 9083,
            at.catalog,
            name,
            authorizer=Authorizer(authorizer),
            people=_people(name, at),
        )

    return open


def _ranger(name: str, at: Connection) -> Connector:
    from headgate.sync.connectors.ranger import RangerConnector

    service, objects = _option(name, at, "service"), Path(_option(name, at, "objects"))

    def inventory() -> list[Securable]:
        # Ranger knows patterns, not tables: which there are is told by a snapshot of a system that does.
        facts = PolicySnapshot.read(objects.read_bytes()).facts
        return [fact.object for fact in facts if isinstance(fact, Present)]

    return RangerConnector(_client(at), service, at.catalog, inventory, name)


def _lakeformation(name: str, at: Connection) -> Connector:
    import boto3

    from headgate.sync.connectors.aws import Aws
    from headgate.sync.connectors.lakeformation import LakeFormationConnector

    session = boto3.Session(
        region_name=_option(name, at, "region"),
        aws_access_key_id=at.user,
        aws_secret_access_key=at.password.hidden if at.password else None,
    )
    endpoint = None if at.url.hidden == "aws:" else at.url.hidden
    aws = Aws.of(session, endpoint=endpoint)
    return LakeFormationConnector(aws, _option(name, at, "account"), at.catalog, name)


def _polaris(name: str, at: Connection) -> Connector:
    from headgate.sync.connectors.polaris import PolarisConnector

    return PolarisConnector(_client(at), name)


def _unity(name: str, at: Connection) -> Connector:
    from headgate.sync.connectors.unity import UnityConnector

    return UnityConnector(_client(at), name)


def _bigquery(name: str, at: Connection) -> Connector:
    from headgate.sync.connectors.bigquery import BigQueryConnector

    return BigQueryConnector(_client(at), _option(name, at, "project"), _people(name, at), name)


def _client(at: Connection) -> httpx.Client:
    """A client with the credentials of the connection: a password without a user is a bearer token."""
    password = at.password.hidden if at.password else ""
    # Without either, who one is may stand in the address itself.
    headers = {"Authorization": f"Bearer {password}"} if password and at.user is None else {}
    auth = None if at.user is None else (at.user, password)
    return httpx.Client(base_url=at.url.hidden, headers=headers, auth=auth, timeout=60)


def _option(name: str, at: Connection, key: str) -> str:
    found = at.options.get(key)
    if not found:
        raise IllegalArgument(f"'{name}' does not say its {key}", hint=f'options = {{ {key} = "…" }}')
    return found


def _people(name: str, at: Connection) -> list[Principal]:
    """Who there is, for a system that lists nobody: `user:ann, group:staff`."""
    people = []
    for text in filter(None, (part.strip() for part in at.options.get("people", "").split(","))):
        kind, colon, who = text.partition(":")
        if not colon or not who or kind not in (Kind.USER, Kind.GROUP):
            raise IllegalArgument(
                f"'{name}' names '{clip(text)}' among its people", hint="write user:ann, group:staff"
            )
        people.append(Principal(Kind(kind), who))
    return people


KINDS: Final[dict[str, Callable[[str, Connection], Connector]]] = {
    "bigquery": _bigquery,
    "gravitino": _gravitino,
    "hive": _hive("sql-standard"),
    "hive-acl": _hive("table-acl"),
    "hive-legacy": _hive("legacy"),
    "lakeformation": _lakeformation,
    "mariadb": _mariadb,
    "mysql": _mariadb,
    "polaris": _polaris,
    "postgresql": _postgresql,
    "ranger": _ranger,
    "unity": _unity,
}
"""How each kind of system is opened. A metalake of this store needs no connection: it is ``headgate:NAME``."""
