"""One connection to one broker: bounded in time and in what it brings, and entered as the catalog says."""

import base64
import hashlib
import hmac
import secrets
import socket
import ssl
import struct
import time
from typing import Final

from headgate.catalogs.kafka import protocol as p
from headgate.catalogs.kafka.settings import KafkaSettings

_CONNECTING: Final = 5.0
_LARGEST: Final = 8 * 1024 * 1024
"""Bytes of one answer: the names of all topics come in one."""
_MOST_ROUNDS: Final = 100_000
"""How often a password is hashed; a broker says how often it wants that."""
_CLIENT: Final = "headgate"


class NotLetIn(Exception):
    """The broker does not take the catalog's user or password."""


class BrokerWire:
    """The connection. INVARIANT: it goes to the address that it was given, which was asked for before."""

    def __init__(self, host: str, port: int, settings: KafkaSettings, ends: float) -> None:
        self.address = (host.strip("[]"), port)
        self._ends = ends
        self._asked = 0
        wire = socket.create_connection(self.address, timeout=min(_CONNECTING, self._left()))
        try:
            if settings.protocol in ("SSL", "SASL_SSL"):
                wire.settimeout(self._left())
                wire = ssl.create_default_context().wrap_socket(wire, server_hostname=self.address[0])
            self._wire = wire
            if settings.protocol.startswith("SASL"):
                self._enter(settings)
        except BaseException:
            wire.close()
            raise

    def close(self) -> None:
        self._wire.close()

    def ask(self, request: tuple[int, int], body: bytes) -> p.AnswerReader:
        """One request and its answer."""
        self._asked += 1
        key, version = request
        head = p.int16(key) + p.int16(version) + p.int32(self._asked) + p.string(_CLIENT)
        self._wire.settimeout(self._left())
        self._wire.sendall(p.blob(head + body))
        answer = p.AnswerReader(self._read())
        if answer.int32() != self._asked:
            raise p.Malformed
        return answer

    # -- inside -------------------------------------------------------------------------------------------------

    def _left(self) -> float:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _read(self) -> bytes:
        (length,) = struct.unpack("!i", self._take(4))
        if not 4 <= length <= _LARGEST:
            raise p.Malformed
        return self._take(length)

    def _take(self, length: int) -> bytes:
        found = bytearray()
        while len(found) < length:
            self._wire.settimeout(self._left())
            part = self._wire.recv(min(length - len(found), 65_536))
            if not part:
                raise ConnectionResetError
            found += part
        return bytes(found)

    def _enter(self, settings: KafkaSettings) -> None:
        assert settings.mechanism is not None
        assert settings.username is not None
        assert settings.password is not None
        if self.ask(p.SASL_HANDSHAKE, p.string(settings.mechanism)).int16():
            raise NotLetIn
        user, password = settings.username, settings.password.hidden
        if settings.mechanism == "PLAIN":
            self._authenticate(b"\0" + user.encode() + b"\0" + password.encode())
        else:
            self._scram(user, password, "sha256" if settings.mechanism.endswith("256") else "sha512")

    def _authenticate(self, message: bytes) -> bytes:
        answer = self.ask(p.SASL_AUTHENTICATE, p.blob(message))
        if answer.int16():
            raise NotLetIn
        answer.optional()
        return answer.blob()

    def _scram(self, user: str, password: str, digest: str) -> None:
        """RFC 5802: neither side tells the other the password, and the broker proves that it knows it as well."""
        ours = secrets.token_hex(16)
        name = user.replace("=", "=3D").replace(",", "=2C")
        first = f"n={name},r={ours}"
        reply = self._authenticate(f"n,,{first}".encode()).decode()
        words = dict(part.split("=", 1) for part in reply.split(","))
        rounds = int(words["i"])
        if not words["r"].startswith(ours) or not 0 < rounds <= _MOST_ROUNDS:
            raise p.Malformed
        last = f"c=biws,r={words['r']}"
        signed = f"{first},{reply},{last}".encode()
        salted = hashlib.pbkdf2_hmac(digest, password.encode(), base64.b64decode(words["s"]), rounds)
        key = hmac.digest(salted, b"Client Key", digest)
        signature = hmac.digest(hashlib.new(digest, key).digest(), signed, digest)
        proof = bytes(one ^ other for one, other in zip(key, signature, strict=True))
        final = self._authenticate(f"{last},p={base64.b64encode(proof).decode()}".encode()).decode()
        theirs = hmac.digest(hmac.digest(salted, b"Server Key", digest), signed, digest)
        if not hmac.compare_digest(final.split(",")[0], f"v={base64.b64encode(theirs).decode()}"):
            raise NotLetIn
