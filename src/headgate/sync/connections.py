"""Named systems: where each is and how it is opened. Their names, such as ``postgresql:main``, are what people say."""

from collections.abc import Callable
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.secrets import Secret
from headgate.sync.contract import Connector


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
    import httpx

    from headgate.sync.connectors.gravitino import GravitinoConnector

    password = at.password.hidden if at.password else ""
    # Without either, who one is may stand in the address itself.
    headers = {"Authorization": f"Bearer {password}"} if password and at.user is None else {}
    auth = None if at.user is None else (at.user, password)
    client = httpx.Client(base_url=at.url.hidden, headers=headers, auth=auth, timeout=60)
    return GravitinoConnector(client, at.metalake, name)


KINDS: Final[dict[str, Callable[[str, Connection], Connector]]] = {
    "gravitino": _gravitino,
    "mariadb": _mariadb,
    "postgresql": _postgresql,
}
"""How each kind of system is opened. A metalake of this store needs no connection: it is ``headgate:NAME``."""
