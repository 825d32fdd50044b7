"""MariaDB and MySQL: one server is one catalog. Which of the two a server is, its own tables say."""

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from headgate.model.errors import IllegalArgument
from headgate.model.extras import Extra, needs
from headgate.sync.connections import Connection
from headgate.sync.connectors.mariadb.capabilities import MARIADB, MYSQL
from headgate.sync.systems import SystemKind, SystemRecord

if TYPE_CHECKING:
    from headgate.sync.contract import Connector


def _open(name: str, at: Connection) -> "Connector":
    with needs(Extra.MYSQL):
        from headgate.sync.connectors.mariadb.connector import Account, MariaDBConnector

    parts = urlsplit(at.url.hidden)
    user = at.user or unquote(parts.username or "")
    password = at.password.hidden if at.password else unquote(parts.password or "")
    if not parts.hostname or not user:
        raise IllegalArgument(
            f"'{name}' does not say which server and user", hint=f'url = "{SYSTEM.address}"'
        )
    return MariaDBConnector(Account(parts.hostname, parts.port or 3306, user, password), at.catalog, name)


SYSTEM = SystemRecord(
    title="MariaDB and MySQL",
    kinds=(
        SystemKind(kind="mariadb", capabilities=MARIADB, open=_open),
        SystemKind(kind="mysql", capabilities=MYSQL, open=_open),
    ),
    address="mariadb://user:password@host:3306",
    options=(),
)
