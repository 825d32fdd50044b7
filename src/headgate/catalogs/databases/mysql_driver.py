"""Connections to MySQL and MariaDB: watched from the first byte on, with settings that mean the same everywhere."""

import socket
import ssl
from typing import Any, Final

from pymysql import err
from pymysql.connections import Connection as MySQLConnection

from headgate.catalogs.databases.addresses import DatabaseAddress
from headgate.catalogs.databases.watching import watched

_CANNOT_CONNECT: Final = 2003
_MODE: Final = "STRICT_ALL_TABLES,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
"""INVARIANT: neither ANSI_QUOTES nor NO_BACKSLASH_ESCAPES: what is quoted here is quoted there."""


class MySQLWire(MySQLConnection):
    """A connection that says which socket it talks by, so that it can be watched."""

    def fileno(self) -> int:
        wire = self._sock  # type: ignore[attr-defined]
        if wire is None:
            raise OSError("the connection is closed")
        return int(wire.fileno())


class Connecting:
    """Opens connections to one server."""

    def __init__(
        self,
        address: DatabaseAddress,
        user: str,
        password: str,
        connecting: int,
        answering: int,
        largest: int,
    ) -> None:
        self.address = (address.host.strip("[]"), address.port)
        self.user = user
        self._password = password.encode()
        self.ssl = _ssl(address.ssl)
        self.connecting = connecting
        self.answering = answering
        self.largest = largest

    def connect(self) -> Any:
        """One connection. INVARIANT: whatever answers, it keeps nobody longer than a moment and brings no more than it may."""
        driver = MySQLWire(
            host=self.address[0],
            port=self.address[1],
            user=self.user,
            password=self._password,
            charset="utf8mb4",
            sql_mode=_MODE,
            init_command=f"SET SESSION lock_wait_timeout = {self.answering}",
            local_infile=False,
            defer_connect=True,
            connect_timeout=self.connecting,
            read_timeout=self.answering,
            write_timeout=self.answering,
            **self.ssl,
        )
        try:
            wire = socket.create_connection(self.address, timeout=self.connecting)
        except OSError as error:
            raise err.OperationalError(_CANNOT_CONNECT, type(error).__name__) from None
        try:
            with watched(wire, self.connecting, self.largest):
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                driver.connect(wire)
        except BaseException:
            wire.close()
            raise
        return driver


def _ssl(mode: str) -> dict[str, Any]:
    """INVARIANT: no certificate of this server's own is shown to somebody else's database."""
    if mode == "disabled":
        return {"ssl_disabled": True}
    if mode == "preferred":
        return {}
    context = ssl.create_default_context()
    context.check_hostname = mode == "verify_identity"
    if mode == "required":
        context.verify_mode = ssl.CERT_NONE
    return {"ssl": context}
