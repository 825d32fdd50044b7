"""One connection to a metastore: how its answers are read, no further than they may be kept and no longer than they may take."""

import socket
import time
from typing import Any, Final

from pymetastore.hive_metastore import ThriftHiveMetastore
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TTransportBase

from headgate.catalogs.hive_metastore.addresses import MetastoreAddress
from headgate.catalogs.openings import RAISE_LARGEST
from headgate.catalogs.outside.line import NoAnswer
from headgate.model.errors import Damaged

CONNECTING: Final = 3.0
READING: Final = 8.0
"""Seconds of silence after which no more is waited for."""
LONGEST: Final = 30.0
"""Seconds that an answer may take from the question to its last byte."""
_PART: Final = 64 * 1024

_TEXT: Final = 64
_STRUCT: Final = 512
_ENTRY: Final = 16
"""What a text, a struct and an entry of a list take in memory at least, whatever they take on the wire."""


class LostConnection(OSError):
    """The other end hung up, or says nothing."""

    def __init__(self, why: str, *, hung_up: bool = False) -> None:
        super().__init__(why)
        self.hung_up = hung_up


def _lost(error: OSError) -> LostConnection:
    return LostConnection(type(error).__name__, hung_up=isinstance(error, ConnectionError))


class _Wire(TTransportBase):  # type: ignore[misc]
    """Bytes to and from a socket. INVARIANT: nothing is allocated for what was announced, only for what has come."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.ends = 0.0
        self.received = False
        """Whether any byte of an answer has come since the question."""
        self._out = bytearray()
        self._in = b""
        self._at = 0

    def ask(self, seconds: float) -> None:
        """Begin a question, whose answer has come in full after some seconds."""
        self.ends = time.monotonic() + seconds
        self.received = False
        self._out.clear()
        self._in, self._at = b"", 0

    def isOpen(self) -> bool:
        return True

    def close(self) -> None:
        self.socket.close()

    def write(self, buf: bytes) -> None:
        self._out += buf

    def flush(self) -> None:
        self.socket.settimeout(min(READING, self._left()))
        try:
            self.socket.sendall(self._out)
        except OSError as error:
            raise _lost(error) from None
        self._out.clear()

    def read(self, sz: int) -> bytes:
        return self.readAll(sz)

    def readAll(self, sz: int) -> bytes:
        end = self._at + sz
        if end <= len(self._in):
            found, self._at = self._in[self._at : end], end
            return found
        parts = [self._in[self._at :]]
        missing = sz - len(parts[0])
        while missing > 0:
            part = self._receive()
            parts.append(part[:missing])
            self._in, self._at = part, min(missing, len(part))
            missing -= len(part)
        return b"".join(parts)

    def _receive(self) -> bytes:
        self.socket.settimeout(min(READING, self._left()))
        try:
            part = self.socket.recv(_PART)
        except OSError as error:
            raise _lost(error) from None
        if not part:
            raise LostConnection("it hung up", hung_up=True)
        self.received = True
        return part

    def _left(self) -> float:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise LostConnection("its answer does not come to an end")
        return left


class _BoundedProtocol(TBinaryProtocol):  # type: ignore[misc]
    """Thrift's binary protocol, which by itself makes whatever is announced.

    INVARIANT: what an answer takes in memory is counted while it is read: a struct of one byte on the wire is an object of
    many here.
    """

    trans: _Wire

    def __init__(self, wire: _Wire, named: str, largest: int) -> None:
        super().__init__(wire, strictRead=True)
        self.named = named
        self.largest = largest
        self.left = 0
        self.asked = ""

    def writeMessageBegin(self, name: str, type: int, seqid: int) -> None:
        self.left, self.asked = self.largest, name
        super().writeMessageBegin(name, type, seqid)

    def readMessageBegin(self) -> tuple[str, int, int]:
        name, type, seqid = super().readMessageBegin()
        if name != self.asked:
            raise Damaged(f"{self.named} answers what it was not asked", hint="order")
        return name, type, seqid

    def readStructBegin(self) -> None:
        self._keep(_STRUCT)

    def readBinary(self) -> bytes:
        size = self._counted(self.readI32(), 1)
        self._keep(_TEXT)
        return self.trans.readAll(size)

    def readListBegin(self) -> tuple[int, int]:
        kind, size = self.readByte(), self.readI32()
        return kind, self._counted(size, _ENTRY)

    def readSetBegin(self) -> tuple[int, int]:
        return self.readListBegin()

    def readMapBegin(self) -> tuple[int, int, int]:
        key, value, size = self.readByte(), self.readByte(), self.readI32()
        return key, value, self._counted(size, 2 * _ENTRY)

    def _counted(self, size: int, each: int) -> int:
        if size < 0:
            raise Damaged(f"{self.named} answers otherwise than a metastore does", hint="a length below 0")
        self._keep(size * each)
        return size

    def _keep(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            size = self.largest // (1024 * 1024)
            raise Damaged(f"an answer of {self.named} is larger than {size} MiB", hint=RAISE_LARGEST)


class MetastoreConnection:
    """One connection, for one question at a time."""

    def __init__(self, address: MetastoreAddress, named: str, largest: int) -> None:
        self.address = address
        host = address.host.strip("[]")
        try:
            self._socket = socket.create_connection((host, address.port), CONNECTING)
        except (OSError, UnicodeError) as error:
            raise LostConnection(type(error).__name__) from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wire = _Wire(self._socket)
        self._client = ThriftHiveMetastore.Client(_BoundedProtocol(self._wire, named, largest))
        self.named = named
        self.rested = time.monotonic()
        """When it was last used."""

    def call(self, operation: str, arguments: tuple[Any, ...], seconds: float) -> Any:
        """One question. An exception that is no `TException` leaves the connection in the middle of an answer."""
        self._wire.ask(seconds)
        try:
            return getattr(self._client, operation)(*arguments)
        except LostConnection as lost:
            if self._wire.received:
                raise NoAnswer(f"{self.named} does not answer to the end", hint=str(lost)) from None
            raise
        finally:
            self.rested = time.monotonic()

    def is_alive(self) -> bool:
        """Whether the other end is still there, and has said nothing that nobody asked for."""
        self._socket.settimeout(0)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        self._socket.close()
