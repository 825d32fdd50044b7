"""Kafka's own protocol, as far as topics need it: requests are put together here, and answers taken apart.

A client's library goes to whatever brokers a cluster names, with the catalog's password, before anybody can look at them.
These few requests go where they are sent and nowhere else.
"""

import struct
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

METADATA: Final = (3, 4)
SASL_HANDSHAKE: Final = (17, 1)
CREATE_TOPICS: Final = (19, 4)
DELETE_TOPICS: Final = (20, 3)
DESCRIBE_CONFIGS: Final = (32, 1)
SASL_AUTHENTICATE: Final = (36, 0)
CREATE_PARTITIONS: Final = (37, 1)
INCREMENTAL_ALTER_CONFIGS: Final = (44, 0)
"""Requests by their number, in a version that brokers of many years know."""

_MOST: Final = 1_000_000
_LONGEST: Final = 32_767


class Malformed(ValueError):
    """An answer is none of Kafka's."""


def int8(value: int) -> bytes:
    return struct.pack("!b", value)


def int16(value: int) -> bytes:
    return struct.pack("!h", value)


def int32(value: int) -> bytes:
    return struct.pack("!i", value)


def string(value: str | None) -> bytes:
    if value is None:
        return int16(-1)
    text = value.encode()
    if len(text) > _LONGEST:
        raise ValueError("too long for Kafka")
    return int16(len(text)) + text


def blob(value: bytes) -> bytes:
    return int32(len(value)) + value


def array(*items: bytes) -> bytes:
    return int32(len(items)) + b"".join(items)


NO_ARRAY: Final = int32(-1)


class AnswerReader:
    """Takes an answer apart. INVARIANT: nothing is believed about it: it ends where it ends, whatever it says."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._at = 0

    def int8(self) -> int:
        return int(struct.unpack("!b", self._take(1))[0])

    def int16(self) -> int:
        return int(struct.unpack("!h", self._take(2))[0])

    def int32(self) -> int:
        return int(struct.unpack("!i", self._take(4))[0])

    def optional(self) -> str | None:
        length = self.int16()
        return None if length < 0 else self._take(length).decode()

    def string(self) -> str:
        found = self.optional()
        if found is None:
            raise Malformed
        return found

    def blob(self) -> bytes:
        length = self.int32()
        return b"" if length < 0 else self._take(length)

    def array(self, item: "Callable[[AnswerReader], T]") -> list[T]:
        length = self.int32()
        if length > min(_MOST, len(self._answer) - self._at):
            raise Malformed
        return [item(self) for _ in range(length)]

    def _take(self, length: int) -> bytes:
        if length < 0 or self._at + length > len(self._answer):
            raise Malformed
        self._at += length
        return self._answer[self._at - length : self._at]


class BrokerAddress(msgspec.Struct, frozen=True):
    """Where a cluster says that one of its brokers is."""

    id: int
    host: str
    port: int


class TopicState(msgspec.Struct, frozen=True):
    """What a cluster says of a topic."""

    error: int
    name: str
    internal: bool
    partitions: int
    replicas: int


class ClusterState(msgspec.Struct, frozen=True):
    """What a cluster says of itself."""

    brokers: tuple[BrokerAddress, ...]
    controller: int
    topics: tuple[TopicState, ...]


def metadata_request(topic: str | None) -> bytes:
    """Asks for one topic, or for all of them; none is made by being asked for."""
    return (NO_ARRAY if topic is None else array(string(topic))) + int8(0)


def read_metadata(answer: AnswerReader) -> ClusterState:
    answer.int32()
    brokers = answer.array(_broker)
    answer.optional()
    return ClusterState(tuple(brokers), answer.int32(), tuple(answer.array(_topic)))


def _broker(answer: AnswerReader) -> BrokerAddress:
    found = BrokerAddress(answer.int32(), answer.string(), answer.int32())
    answer.optional()
    return found


def _topic(answer: AnswerReader) -> TopicState:
    error, name, internal = answer.int16(), answer.string(), answer.int8() != 0
    partitions = answer.array(_partition)
    return TopicState(error, name, internal, len(partitions), min(partitions, default=0))


def _partition(answer: AnswerReader) -> int:
    """How many replicas it has."""
    answer.int16(), answer.int32(), answer.int32()
    replicas = answer.array(AnswerReader.int32)
    answer.array(AnswerReader.int32)
    return len(replicas)
