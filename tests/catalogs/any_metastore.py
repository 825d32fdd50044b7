"""A server that says it is a Hive Metastore and answers anything, and a wire to a real one that breaks when it is asked to."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TMessageType
from thrift.transport import TTransport

Answer = Callable[[str, socket.socket], bytes | None]


def reply(operation: str, body: bytes) -> bytes:
    """An answer: what it is of, and the bytes of its struct."""
    transport = TTransport.TMemoryBuffer()
    TBinaryProtocol(transport).writeMessageBegin(operation, TMessageType.REPLY, 0)
    return bytes(transport.getvalue()) + body


def success(value: Any) -> bytes:
    """The body of an answer that is a struct of Thrift's."""
    transport = TTransport.TMemoryBuffer()
    protocol = TBinaryProtocol(transport)
    value.write(protocol)
    return struct.pack("!bh", 12, 0) + bytes(transport.getvalue()) + b"\x00"


class AnyMetastore:
    """`answer` says what an operation is answered with, by itself on the socket if it gives nothing."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"thrift://127.0.0.1:{port}"
        self.asked: list[str] = []
        self.answer: Answer = lambda operation, wire: None


@contextmanager
def any_metastore() -> Iterator[AnyMetastore]:
    """The server, on loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    found = AnyMetastore(listener.getsockname()[1])
    open: list[socket.socket] = []

    def serve(wire: socket.socket) -> None:
        with suppress(OSError):
            while asked := wire.recv(65_536):
                # A message begins with its version, then the length of its name.
                size = int.from_bytes(asked[4:8], "big")
                operation = asked[8 : 8 + size].decode()
                found.asked.append(operation)
                answer = found.answer(operation, wire)
                if answer is not None:
                    wire.sendall(answer)

    def accept() -> None:
        with suppress(OSError):
            while True:
                wire = listener.accept()[0]
                open.append(wire)
                threading.Thread(target=serve, args=(wire,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        _shut(listener)
        thread.join()
        for wire in open:
            _shut(wire)


class BreakingWire:
    """Stands before a metastore. It can be cut, fall silent, and lose the answer to one operation."""

    def __init__(self, port: int) -> None:
        self.behind = port
        self.silent = False
        self.lose = b""
        """The operation whose next answer is lost."""
        self._open: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self.port = 0
        self.mend()

    @property
    def url(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    def mend(self) -> None:
        """Listen again, at the same port."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """Hang up, and take no more calls, as a metastore that stops."""
        if self._listener is not None:
            _shut(self._listener)
        self._listener = None
        while self._open:
            _shut(self._open.pop())

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near = listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self.behind))
                self._open += [near, far]
                lost = threading.Event()
                for one, other, asks in ((near, far, True), (far, near, False)):
                    threading.Thread(target=self._carry, args=(one, other, asks, lost), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket, asks: bool, lost: threading.Event) -> None:
        with suppress(OSError):
            while part := one.recv(65_536):
                while self.silent:
                    time.sleep(0.05)
                if asks and self.lose and self.lose in part:
                    self.lose = b""
                    lost.set()
                elif not asks and lost.is_set():
                    break
                other.sendall(part)
        _shut(one)
        _shut(other)


def _shut(wire: socket.socket) -> None:
    with suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)
    wire.close()
