"""Conversations with a Kafka cluster: each with a client of its own, that ends with it."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from headgate.catalogs.kafka.settings import KafkaSettings
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

if TYPE_CHECKING:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, ClusterMetadata

T = TypeVar("T")

PARTITIONS: Final = "partition-count"
REPLICAS: Final = "replication-factor"
_ANSWERING: Final = 10.0
"""Seconds for all of one conversation."""
_LARGEST: Final = 16 * 1024 * 1024
"""Bytes of one answer: the names of all topics come in one."""


def check_installed() -> None:
    """Refuse a catalog that this server has no client for."""
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        raise IllegalArgument(
            "this server is installed without a client for Kafka",
            hint="its operator installs it with the extra 'kafka': headgate[kafka]",
        ) from None


class KafkaCluster:
    """One cluster. INVARIANT: before anything is asked of it, every broker that it names is at a host that is open."""

    def __init__(self, settings: KafkaSettings, catalog: str, openings: Openings) -> None:
        self.settings = settings
        self.openings = openings
        self.line = Line("Kafka", catalog)

    def topics(self) -> list[str]:
        """All but Kafka's own."""
        with self._talk() as (_, metadata, _ends):
            names = [name for name in metadata.topics if not name.startswith("__")]
        if len(names) > MOST_NAMES:
            raise Damaged(f"{self.line.named} has more than {MOST_NAMES} topics")
        return sorted(names)

    def topic(self, name: str) -> dict[str, str]:
        """The settings of a topic; none that the cluster keeps secret."""
        from confluent_kafka.admin import ConfigResource, ResourceType

        with self._talk() as (client, metadata, ends):
            found = metadata.topics.get(name)
            if found is None or not found.partitions or name.startswith("__"):
                raise _no_topic(name)
            resource = ConfigResource(ResourceType.TOPIC, name)
            futures = client.describe_configs([resource], request_timeout=ends())
            entries = self._answer(futures, name, ends)
            settings = {
                str(key): str(entry.value)
                for key, entry in entries.items()
                if entry.value is not None and not entry.is_sensitive
            }
            replicas = min(len(partition.replicas) for partition in found.partitions.values())
        return {**settings, PARTITIONS: str(len(found.partitions)), REPLICAS: str(replicas)}

    def create(self, name: str, properties: dict[str, str]) -> None:
        """Make a topic; AlreadyExists."""
        from confluent_kafka.admin import NewTopic

        settings = dict(properties)
        partitions = _number(settings.pop(PARTITIONS, None), PARTITIONS)
        replicas = _number(settings.pop(REPLICAS, None), REPLICAS)
        made = NewTopic(name, partitions, replicas, config=settings)
        with self._changing(name) as (client, _, ends):
            futures = client.create_topics([made], operation_timeout=ends(), request_timeout=ends())
            self._answer(futures, name, ends)

    def alter(self, name: str, properties: tuple[tuple[str, str | None], ...]) -> None:
        """Set and remove settings of a topic. Its partitions may become more, and never fewer."""
        from confluent_kafka.admin import (
            AlterConfigOpType,
            ConfigEntry,
            ConfigResource,
            NewPartitions,
            ResourceType,
        )

        wanted = dict(properties)
        if REPLICAS in wanted:
            raise IllegalArgument(f"property '{REPLICAS}' of a topic cannot change once it is made")
        if PARTITIONS in wanted and wanted[PARTITIONS] is None:
            raise IllegalArgument(f"property '{PARTITIONS}' of a topic cannot be removed")
        partitions = _number(wanted.pop(PARTITIONS, None), PARTITIONS)
        with self._changing(name) as (client, metadata, ends):
            found = metadata.topics.get(name)
            if found is None:
                raise _no_topic(name)
            before = len(found.partitions)
            if 0 < partitions < before:
                raise IllegalArgument(
                    f"property '{PARTITIONS}' cannot go from {before} to {partitions}",
                    hint="Kafka only adds partitions: make another topic",
                )
            if wanted:
                operations = [
                    ConfigEntry(
                        key,
                        value,
                        incremental_operation=AlterConfigOpType.DELETE
                        if value is None
                        else AlterConfigOpType.SET,
                    )
                    for key, value in sorted(wanted.items())
                ]
                resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=operations)
                # First, as it may be refused, and more partitions cannot be taken back.
                self._answer(client.incremental_alter_configs([resource], request_timeout=ends()), name, ends)
            if partitions > before:
                more = NewPartitions(name, partitions)
                futures = client.create_partitions([more], operation_timeout=ends(), request_timeout=ends())
                self._answer(futures, name, ends)

    def drop(self, name: str) -> None:
        """Delete a topic with its messages; NotFound."""
        with self._changing(name) as (client, metadata, ends):
            if name not in metadata.topics or name.startswith("__"):
                raise _no_topic(name)
            futures = client.delete_topics([name], operation_timeout=ends(), request_timeout=ends())
            self._answer(futures, name, ends)

    # -- inside -------------------------------------------------------------------------------------------------

    @contextmanager
    def _talk(self) -> "Iterator[tuple[AdminClient, ClusterMetadata, Callable[[], float]]]":
        """A client that has asked which brokers there are, and what is left of its time."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        ends = time.monotonic() + _ANSWERING

        def left() -> float:
            return max(1.0, ends - time.monotonic())

        with self.line.ask():
            try:
                client = AdminClient({**self.settings.client(), **_QUIET})
                metadata = client.list_topics(timeout=left())
                self._check_brokers(metadata)
                yield client, metadata, left
            except KafkaException as error:
                raise self._fault(error, "") from None

    @contextmanager
    def _changing(self, name: str) -> "Iterator[tuple[AdminClient, ClusterMetadata, Callable[[], float]]]":
        """The same for a change. INVARIANT: one whose answer is lost is not taken for undone."""
        began = False
        try:
            with self._talk() as talk:
                began = True
                yield talk
        except NoAnswer as error:
            if not began:
                raise
            raise OutcomeUnknown(
                f"whether topic '{clip(name)}' was changed is not known: {error.message}",
                hint="load it again before you try again",
            ) from error

    def _check_brokers(self, metadata: "ClusterMetadata") -> None:
        for broker in metadata.brokers.values():
            named = broker.host or ""
            host = f"[{named}]" if ":" in named else named
            if not self.openings.reaches(f"kafka://{host}:{broker.port}"):
                raise Forbidden(
                    f"{self.line.named} names a broker at a host that the operator has not opened",
                    hint=OPEN_HOSTS,
                )

    def _answer(self, futures: dict[Any, Any], name: str, ends: Callable[[], float]) -> Any:
        from confluent_kafka import KafkaException

        try:
            return next(iter(futures.values())).result(timeout=math.ceil(ends()) + 1)
        except KafkaException as error:
            raise self._fault(error, name) from None
        except TimeoutError:
            raise self.line.silent("it takes too long") from None

    def _fault(self, error: "KafkaException", name: str) -> HeadgateError:
        """INVARIANT: no error repeats what the cluster said."""
        from confluent_kafka import KafkaError

        reason = error.args[0] if error.args else None
        code = reason.code() if isinstance(reason, KafkaError) else None
        word = reason.name() if isinstance(reason, KafkaError) else type(error).__name__
        if code == KafkaError.TOPIC_ALREADY_EXISTS:
            return AlreadyExists(f"topic '{clip(name)}' already exists", about=ObjectType.TOPIC)
        if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return _no_topic(name)
        if code in _refusals():
            return IllegalArgument(f"Kafka refuses the change of topic '{clip(name)}'", hint=str(word))
        if code is None or code < 0 or code == KafkaError.REQUEST_TIMED_OUT:
            return self.line.silent(str(word))
        return ConnectionFailed(f"{self.line.named} refuses what was asked of it", hint=str(word))


_QUIET: Final[dict[str, str | int | bool]] = {
    "client.id": "headgate",
    "log_level": 0,
    "log.connection.close": False,
    "receive.message.max.bytes": _LARGEST,
    "socket.timeout.ms": int(_ANSWERING * 1000),
    "socket.connection.setup.timeout.ms": 5_000,
    "topic.metadata.refresh.interval.ms": -1,
    "allow.auto.create.topics": False,
    "enable.metrics.push": False,
}
"""INVARIANT: the client asks for nothing by itself, so it meets no broker that was not looked at."""


def _refusals() -> frozenset[int]:
    from confluent_kafka import KafkaError

    return frozenset(
        {
            KafkaError.INVALID_CONFIG,
            KafkaError.INVALID_PARTITIONS,
            KafkaError.INVALID_REPLICATION_FACTOR,
            KafkaError.INVALID_REQUEST,
            KafkaError.INVALID_REPLICA_ASSIGNMENT,
            KafkaError.POLICY_VIOLATION,
            KafkaError.TOPIC_EXCEPTION,
            KafkaError.UNSUPPORTED_VERSION,
        }
    )


def _number(text: str | None, key: str) -> int:
    """A count that a client gives; -1 leaves it to the cluster."""
    if text is None:
        return -1
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:8]) <= 32_767 or len(text) > 8:
        raise IllegalArgument(f"property '{key}' of a topic is no number", hint="use one above zero")
    return int(text)


def _no_topic(name: str) -> NotFound:
    return NotFound(f"topic '{clip(name)}' does not exist", about=ObjectType.TOPIC)
