"""Hive Metastore over Thrift: its default catalog under one name.

The metastore stores grants as free words and enforces none of them, so the authorizer of the engines that read a grant says what
it means. Users and groups are plain names that no call lists: the connection names them, beside those who hold something.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pymetastore.hive_metastore import ThriftHiveMetastore
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport import TSocket, TTransport

from headgate.model.errors import ConnectionFailed
from headgate.model.objects import ObjectType
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connectors.hive.authorizers import Authorizer
from headgate.sync.connectors.hive.reading import HiveReader
from headgate.sync.connectors.hive.writing import HiveWriter, message
from headgate.sync.contract import Connector
from headgate.sync.pushing.results import Applied, Change
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import (
    Principal,
)

_T = ObjectType


class HiveConnector(Connector):
    """One metastore over one connection per call."""

    def __init__(
        self,
        host: str,
        port: int,
        catalog: str,
        name: str | None = None,
        *,
        authorizer: Authorizer = Authorizer.SQL_STANDARD,
        people: Collection[Principal] = (),
    ) -> None:
        super().__init__(name or f"hive:{catalog}")
        self.address = (host, port)
        self.catalog = catalog
        self.authorizer = authorizer
        self.people = frozenset(people)

    @property
    def capabilities(self) -> Capabilities:
        return self.authorizer.capabilities

    def read(self) -> Reading:
        with self._connected() as client:
            return HiveReader(client, self.catalog, self.capabilities, self.people).reading()

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        with self._connected() as client:
            writer = HiveWriter(client)
            return [writer.make(change) for change in changes]

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        socket = TSocket.TSocket(*self.address)
        socket.setTimeout(60_000)
        transport = TTransport.TBufferedTransport(socket)
        try:
            transport.open()
            yield ThriftHiveMetastore.Client(TBinaryProtocol(transport))
        except TTransport.TTransportException as error:
            raise ConnectionFailed(
                f"'{self.name}' does not answer", hint=str(error.message), about="sync"
            ) from error
        except TException as error:
            # INVARIANT: what cannot be read in full is not read at all.
            raise ConnectionFailed(f"'{self.name}' refuses", hint=message(error), about="sync") from error
        finally:
            transport.close()
