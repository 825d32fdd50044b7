"""Conversations with a Kafka cluster: each begins with the question which brokers there are."""

import struct
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Final

from headgate.catalogs.kafka import protocol as p
from headgate.catalogs.kafka.settings import KafkaSettings, sources_of
from headgate.catalogs.kafka.wire import BrokerWire, NotLetIn
from headgate.catalogs.openings import OPEN_HOSTS, Openings
from headgate.catalogs.outside.line import Line, NoAnswer
from headgate.catalogs.outside.pages import MOST_NAMES
from headgate.model.errors import (
    AlreadyExists,
    ConnectionFailed,
    Damaged,
    Forbidden,
    HeadgateError,
    IllegalArgument,
    NotFound,
    OutcomeUnknown,
)
from headgate.model.objects import ObjectType, clip

PARTITIONS: Final = "partition-count"
REPLICAS: Final = "replication-factor"
_ANSWERING: Final = 12.0
"""Seconds for all of one conversation."""
_WAITING: Final = 8_000
"""Milliseconds in which the cluster makes a change, as it counts them."""
_TOPIC: Final = p.int8(2)
"""The kind of thing that has settings."""
_SET, _DELETE = p.int8(0), p.int8(1)

_UNKNOWN_TOPIC, _TIMED_OUT, _EXISTS = 3, 7, 36
_REFUSED: Final = {
    17: "the name",
    29: "the rights of the catalog's user",
    31: "the rights of the catalog's user",
    37: "the number of partitions",
    38: "the number of replicas: there are not as many brokers",
    39: "the number of replicas",
    40: "a setting or its value",
    42: "the request",
    44: "a policy of the cluster",
    87: "a setting or its value",
}


class KafkaCluster:
    """One cluster. INVARIANT: nobody goes to a broker whose host is not open, and a cluster that names one is not used; nor is
    one of which another catalog, which is older, names any broker."""

    def __init__(
        self,
        settings: KafkaSettings,
        catalog: str,
        openings: Openings,
        taken: Callable[[Iterable[str]], bool],
    ) -> None:
        """`taken` tells whether an older catalog names one of these sources, and this one none of that one's own."""
        self.settings = settings
        self.openings = openings
        self.taken = taken
        self.line = Line("Kafka", catalog)

    def topics(self) -> list[str]:
        """All but Kafka's own."""
        with self._talk(None) as (_, state):
            names = [topic.name for topic in state.topics if not _is_own(topic)]
        if len(names) > MOST_NAMES:
            raise Damaged(f"{self.line.named} has more than {MOST_NAMES} topics")
        return sorted(set(names))

    def topic(self, name: str) -> dict[str, str]:
        """The settings of a topic; none that the cluster keeps secret."""
        with self._talk(name) as (wire, state):
            found = self._found(state, name)
            answer = wire.ask(p.DESCRIBE_CONFIGS, p.array(_TOPIC + p.string(name) + p.NO_ARRAY) + p.int8(0))
            answer.int32()
            described = answer.array(_described)
            if len(described) != 1:
                raise p.Malformed
            error, settings = described[0]
            self._check(error, name)
        return {**settings, PARTITIONS: str(found.partitions), REPLICAS: str(found.replicas)}

    def create(self, name: str, properties: dict[str, str]) -> None:
        """Make a topic; AlreadyExists."""
        settings = dict(properties)
        partitions = _number(settings.pop(PARTITIONS, None), PARTITIONS)
        replicas = _number(settings.pop(REPLICAS, None), REPLICAS)
        configs = p.array(*(p.string(key) + p.string(value) for key, value in sorted(settings.items())))
        made = p.string(name) + p.int32(partitions) + p.int16(replicas) + p.array() + configs
        with self._talk(name) as (wire, state):
            self._change(wire, state, p.CREATE_TOPICS, p.array(made) + p.int32(_WAITING) + p.int8(0), name)

    def alter(self, name: str, properties: tuple[tuple[str, str | None], ...]) -> None:
        """Set and remove settings of a topic. Its partitions may become more, and never fewer."""
        wanted = dict(properties)
        if REPLICAS in wanted:
            raise IllegalArgument(f"property '{REPLICAS}' of a topic cannot change once it is made")
        if PARTITIONS in wanted and wanted[PARTITIONS] is None:
            raise IllegalArgument(f"property '{PARTITIONS}' of a topic cannot be removed")
        partitions = _number(wanted.pop(PARTITIONS, None), PARTITIONS)
        with self._talk(name) as (wire, state):
            before = self._found(state, name).partitions
            if 0 < partitions < before:
                raise IllegalArgument(
                    f"property '{PARTITIONS}' cannot go from {before} to {partitions}",
                    hint="Kafka only adds partitions: make another topic",
                )
            if wanted:
                operations = p.array(
                    *(
                        p.string(key) + (_DELETE if value is None else _SET) + p.string(value)
                        for key, value in sorted(wanted.items())
                    )
                )
                body = p.array(_TOPIC + p.string(name) + operations) + p.int8(0)
                # First, as it may be refused, and more partitions cannot be taken back.
                self._change(wire, state, p.INCREMENTAL_ALTER_CONFIGS, body, name)
            if partitions > before:
                more = p.string(name) + p.int32(partitions) + p.NO_ARRAY
                body = p.array(more) + p.int32(_WAITING) + p.int8(0)
                self._change(wire, state, p.CREATE_PARTITIONS, body, name)

    def drop(self, name: str) -> None:
        """Delete a topic with its messages; NotFound."""
        with self._talk(name) as (wire, state):
            self._found(state, name)
            self._change(wire, state, p.DELETE_TOPICS, p.array(p.string(name)) + p.int32(_WAITING), name)

    # -- inside -------------------------------------------------------------------------------------------------

    @contextmanager
    def _talk(self, topic: str | None) -> Iterator[tuple[BrokerWire, p.ClusterState]]:
        """A connection to the first broker that answers, and what it says of the cluster."""
        ends = time.monotonic() + _ANSWERING
        with self.line.ask(), self._faults(), closing(self._first(ends)) as wire:
            state = p.read_metadata(wire.ask(p.METADATA, p.metadata_request(topic)))
            for broker in state.brokers:
                self._check_open(broker)
            if self.taken(sources_of(map(_address, state.brokers))):
                raise Forbidden(
                    f"{self.line.named} is a cluster that another catalog names by another broker",
                    hint="ask the owner of the metalake to declare this one with the brokers of that one",
                )
            yield wire, state

    def _first(self, ends: float) -> BrokerWire:
        for broker in self.settings.brokers[:-1]:
            host, _, port = broker.rpartition(":")
            try:
                return BrokerWire(host, int(port), self.settings, ends)
            except (OSError, struct.error, ValueError):
                continue
        host, _, port = self.settings.brokers[-1].rpartition(":")
        return BrokerWire(host, int(port), self.settings, ends)

    def _change(
        self, wire: BrokerWire, state: p.ClusterState, request: tuple[int, int], body: bytes, name: str
    ) -> None:
        """One change, asked of the controller. INVARIANT: one whose answer is lost is not taken for undone."""
        at = next((broker for broker in state.brokers if broker.id == state.controller), None)
        other: BrokerWire | None = None
        if at is not None and (at.host, at.port) != wire.address:
            other = BrokerWire(at.host, at.port, self.settings, time.monotonic() + _ANSWERING)
        try:
            with self._faults():
                answer = (other or wire).ask(request, body)
                answer.int32()
                error = (
                    _error_of_configs(answer) if request == p.INCREMENTAL_ALTER_CONFIGS else _error(answer)
                )
            if error == _TIMED_OUT:
                raise self.line.silent("it takes too long")
        except NoAnswer as lost:
            raise OutcomeUnknown(
                f"whether topic '{clip(name)}' was changed is not known: {lost.message}",
                hint="load it again before you try again",
            ) from lost
        finally:
            if other is not None:
                other.close()
        self._check(error, name)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """INVARIANT: no error repeats what the cluster said."""
        try:
            yield
        except NotLetIn:
            raise ConnectionFailed(
                f"{self.line.named} does not let the catalog in", hint="set its user and password anew"
            ) from None
        except (OSError, EOFError) as error:
            raise self.line.silent(type(error).__name__) from None
        except (ValueError, LookupError, struct.error) as error:
            raise ConnectionFailed(
                f"{self.line.named} answers otherwise than Kafka does", hint=type(error).__name__
            ) from None

    def _check_open(self, broker: p.BrokerAddress) -> None:
        if not 0 < broker.port < 65_536 or not self.openings.reaches(f"kafka://{_address(broker)}"):
            raise Forbidden(
                f"{self.line.named} names a broker at a host that the operator has not opened",
                hint=OPEN_HOSTS,
            )

    def _found(self, state: p.ClusterState, name: str) -> p.TopicState:
        found = next((topic for topic in state.topics if topic.name == name), None)
        if found is None or found.error == _UNKNOWN_TOPIC or _is_own(found):
            raise _no_topic(name)
        self._check(found.error, name)
        return found

    def _check(self, error: int, name: str) -> None:
        if error == 0:
            return
        raise self._refusal(error, name)

    def _refusal(self, error: int, name: str) -> HeadgateError:
        if error == _EXISTS:
            return AlreadyExists(f"topic '{clip(name)}' already exists", about=ObjectType.TOPIC)
        if error == _UNKNOWN_TOPIC:
            return _no_topic(name)
        if error in _REFUSED:
            return IllegalArgument(
                f"Kafka refuses what was asked of topic '{clip(name)}'", hint=f"look at {_REFUSED[error]}"
            )
        return ConnectionFailed(
            f"{self.line.named} refuses what was asked of it", hint=f"its code is {error}"
        )


def _described(answer: p.AnswerReader) -> tuple[int, dict[str, str]]:
    error = answer.int16()
    answer.optional(), answer.int8(), answer.string()
    entries = answer.array(_setting)
    return error, {key: value for key, value in entries if value is not None}


def _setting(answer: p.AnswerReader) -> tuple[str, str | None]:
    """A setting; None for the value of a secret one."""
    key, value = answer.string(), answer.optional()
    answer.int8(), answer.int8()
    secret = answer.int8() != 0
    answer.array(_synonym)
    return key, None if secret else value


def _synonym(answer: p.AnswerReader) -> None:
    answer.string(), answer.optional(), answer.int8()


def _error(answer: p.AnswerReader) -> int:
    """Of an answer about one topic: its name and the error."""
    if answer.int32() != 1:
        raise p.Malformed
    answer.string()
    return answer.int16()


def _error_of_configs(answer: p.AnswerReader) -> int:
    if answer.int32() != 1:
        raise p.Malformed
    return answer.int16()


def _number(text: str | None, key: str) -> int:
    """A count that a client gives; -1 leaves it to the cluster."""
    if text is None:
        return -1
    if not text.isascii() or not text.isdigit() or len(text) > 5 or not 0 < int(text) <= 32_767:
        raise IllegalArgument(f"property '{key}' of a topic is no number", hint="use one from 1 to 32767")
    return int(text)


def _is_own(topic: p.TopicState) -> bool:
    return topic.internal or topic.name.startswith("__")


def _no_topic(name: str) -> NotFound:
    return NotFound(f"topic '{clip(name)}' does not exist", about=ObjectType.TOPIC)


def _address(broker: p.BrokerAddress) -> str:
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    return f"{host}:{broker.port}"
