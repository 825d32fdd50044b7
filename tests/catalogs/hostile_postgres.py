"""A server that says it is PostgreSQL and answers anything: not to be trusted."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_TYPES = (b"name", b"oid", b"array_oid", b"regtype", b"delimiter")


class HostilePostgres:
    """Answers the driver's own questions as it should, and all others with `rows` rows of whatever `value` says."""

    def __init__(self, *, knows_types: bool) -> None:
        self.knows_types = knows_types
        self.rows = 1_500
        self.value: Callable[[int], bytes] = lambda number: b"x" * 1_000_000
        self.sent = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                wire, _ = self.socket.accept()
                threading.Thread(target=self._talk, args=(wire,), daemon=True).start()

    def _talk(self, wire: socket.socket) -> None:
        with suppress(OSError, EOFError), wire:
            while True:
                length, code = struct.unpack("!II", _read(wire, 8))
                _read(wire, length - 8)
                if code not in (80877103, 80877104):
                    break
                wire.sendall(b"N")
            told = b"".join(
                _message(b"S", b"\0".join(pair) + b"\0")
                for pair in ((b"server_version", b"15.0"), (b"client_encoding", b"UTF8"))
            )
            wire.sendall(_message(b"R", bytes(4)) + told + _message(b"Z", b"I"))
            asked, described = "", False
            while True:
                kind, (length,) = _read(wire, 1), struct.unpack("!I", _read(wire, 4))
                body = _read(wire, length - 4)
                if kind == b"Q":
                    self._answer(wire, body.rstrip(b"\0").decode())
                    wire.sendall(_message(b"Z", b"T"))
                elif kind == b"P":
                    asked = body.split(b"\0")[1].decode()
                    wire.sendall(_message(b"1", b""))
                elif kind == b"B":
                    wire.sendall(_message(b"2", b""))
                elif kind == b"D":
                    described = True
                elif kind == b"E":
                    described = False
                    self._answer(wire, asked)
                elif kind == b"S":
                    # Columns come with the answer, or alone where the driver asks for them alone, as of a cursor.
                    wire.sendall((_columns(b"a") if described else b"") + _message(b"Z", b"T"))
                    described = False
                elif kind == b"X":
                    return

    def _answer(self, wire: socket.socket, asked: str) -> None:
        words = asked.upper().split()
        if words[0] in ("BEGIN", "ROLLBACK", "COMMIT", "SET", "SAVEPOINT", "RELEASE", "DECLARE", "CLOSE"):
            wire.sendall(_message(b"C", words[0].encode() + b"\0"))
            return
        if "TYPNAME" in words and self.knows_types:
            wire.sendall(_columns(*_TYPES) + _message(b"C", b"SELECT 0\0"))
            return
        wire.sendall(_columns(b"a"))
        if "FROM" in words and "TYPNAME" not in words:
            for number in range(self.rows):
                wire.sendall(_row(self.value(number)))
                self.sent += 1
        else:
            known = {"SELECT PG_CATALOG.VERSION()": b"PostgreSQL 15.0", "SELECT CURRENT_SCHEMA()": b"public"}
            wire.sendall(_row(known.get(asked.upper(), b"1")))
        wire.sendall(_message(b"C", b"SELECT 1\0"))


def _read(wire: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = wire.recv(size - len(found))
        if not part:
            raise EOFError
        found += part
    return found


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def _columns(*names: bytes) -> bytes:
    each = (name + b"\0" + struct.pack("!IHIhih", 0, 0, 25, -1, -1, 0) for name in names)
    return _message(b"T", struct.pack("!H", len(names)) + b"".join(each))


def _row(value: bytes) -> bytes:
    return _message(b"D", struct.pack("!Hi", 1, len(value)) + value)


@contextmanager
def hostile_postgres(*, knows_types: bool = True) -> Iterator[HostilePostgres]:
    """The server, on loopback."""
    server = HostilePostgres(knows_types=knows_types)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        with suppress(OSError):
            server.socket.shutdown(socket.SHUT_RDWR)
        server.socket.close()
        thread.join()
