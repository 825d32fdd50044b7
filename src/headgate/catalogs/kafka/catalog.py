"""`provider=kafka`: the topics of a cluster, all in the one schema `default`, as Gravitino has them."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from headgate.catalogs.interface import Namespace
from headgate.catalogs.kafka.cluster import KafkaCluster
from headgate.catalogs.kafka.settings import KafkaSettings
from headgate.catalogs.openings import Openings
from headgate.model.errors import IllegalArgument, NotFound, Unsupported
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType, clip

SCHEMA: Final = "default"
_LONGEST: Final = 8_000
_TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}", re.ASCII)


def check_kafka(properties: dict[str, str], openings: Openings) -> KafkaSettings:
    """The settings of a catalog; refuses properties that make no sense, and hosts that are not open."""
    settings = KafkaSettings.of(properties)
    settings.check(openings)
    return settings


class KafkaCatalog:
    """Topics that a cluster keeps. There is no connection between two questions."""

    outside = True

    def __init__(
        self, settings: KafkaSettings, name: str, openings: Openings, taken: Callable[[Iterable[str]], bool]
    ) -> None:
        self.settings = settings
        self.cluster = KafkaCluster(settings, name, openings, taken)

    def own_places(self) -> tuple[str, ...]:
        return ()

    def own_sources(self) -> tuple[str, ...]:
        return self.settings.sources

    def kept_folders(self) -> tuple[str, ...]:
        return ()

    def test(self) -> None:
        self.cluster.topics()

    # -- the one schema -----------------------------------------------------------------------------------------

    def schemas(self, parent: Namespace) -> list[str]:
        return [] if parent else [SCHEMA]

    def schema_exists(self, name: Namespace) -> bool:
        return name == (SCHEMA,)

    def entries(self, schema: Namespace, type: ObjectType) -> list[str]:
        if not self.schema_exists(schema):
            raise NotFound(
                f"schema '{clip(SCHEMA_SEPARATOR.join(schema))}' does not exist", about=ObjectType.SCHEMA
            )
        return self.cluster.topics() if type is ObjectType.TOPIC else []

    def create_schema(self, name: Namespace, comment: str | None, properties: dict[str, str]) -> None:
        raise _one_schema()

    def alter_schema(self, name: Namespace, properties: dict[str, str]) -> None:
        raise _one_schema()

    def drop_schema(self, name: Namespace, *, cascade: bool) -> None:
        raise _one_schema()

    # -- topics -------------------------------------------------------------------------------------------------

    def topic(self, name: str) -> dict[str, str]:
        return self.cluster.topic(name)

    def create_topic(self, name: str, properties: dict[str, str]) -> None:
        if not _TOPIC.fullmatch(name) or name.startswith("__"):
            raise IllegalArgument(
                f"'{clip(name)}' cannot be the name of a topic", hint="use letters, digits and . _ -"
            )
        _check_short(properties.items())
        self.cluster.create(name, properties)

    def alter_topic(self, name: str, properties: tuple[tuple[str, str | None], ...]) -> None:
        _check_short(properties)
        self.cluster.alter(name, properties)

    def drop_topic(self, name: str) -> None:
        self.cluster.drop(name)


def _check_short(properties: Iterable[tuple[str, str | None]]) -> None:
    for key, value in properties:
        if max(len(key), len(value or "")) > _LONGEST:
            raise IllegalArgument(f"property '{clip(key)}' of a topic is too long for Kafka")


def _one_schema() -> Unsupported:
    return Unsupported(
        f"a catalog of Kafka has the schema '{SCHEMA}' and no other", hint="its topics are all in that one"
    )
