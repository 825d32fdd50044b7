"""What a catalog says of its Kafka cluster: where it is first asked, and how to get in."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from headgate.catalogs.openings import Openings
from headgate.model.errors import IllegalArgument
from headgate.model.secrets import Secret
from headgate.store.metadata.sources import server_of

BROKERS: Final = "bootstrap.servers"
PROTOCOL: Final = "gravitino.bypass.security.protocol"
MECHANISM: Final = "gravitino.bypass.sasl.mechanism"
USERNAME: Final = "gravitino.bypass.sasl.username"
PASSWORD: Final = "gravitino.bypass.sasl.password"  # noqa: S105 — the name of a property
JAAS: Final = "gravitino.bypass.sasl.jaas.config"
_MOST_BROKERS: Final = 20
_BROKER: Final = re.compile(r"(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})", re.ASCII)
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_JAAS: Final = re.compile(
    r"\s*org\.apache\.kafka\.common\.security\.(?:plain\.Plain|scram\.Scram)LoginModule\s+required"
    r"\s+username=\"(?P<username>[^\"\\]+)\"\s+password=\"(?P<password>[^\"\\]+)\"\s*;\s*"
)


class KafkaSettings(msgspec.Struct, frozen=True):
    """The settings of one catalog."""

    brokers: tuple[str, ...]
    protocol: str
    mechanism: str | None
    username: str | None
    password: Secret | None

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> "KafkaSettings":
        """What the properties say, or a refusal that names the key."""
        protocol = (properties.get(PROTOCOL) or _PROTOCOLS[0]).upper()
        if protocol not in _PROTOCOLS:
            raise IllegalArgument(f"property '{PROTOCOL}' is unknown", hint=f"use {', '.join(_PROTOCOLS)}")
        mechanism, username, password = _sasl(properties)
        if protocol.startswith("SASL") and not (mechanism and username and password):
            raise IllegalArgument(
                f"property '{PROTOCOL}' asks for SASL, and the catalog does not say how",
                hint=f"set {MECHANISM}, {USERNAME} and {PASSWORD}",
            )
        if not protocol.startswith("SASL") and (mechanism or username or password):
            raise IllegalArgument(
                f"property '{PROTOCOL}' contradicts '{MECHANISM}'",
                hint="use SASL_SSL",
            )
        brokers = _brokers(properties.get(BROKERS, ""))
        return cls(brokers, protocol, mechanism, username, Secret(password) if password else None)

    @property
    def sources(self) -> tuple[str, ...]:
        return sources_of(self.brokers)

    def check(self, openings: Openings) -> None:
        """Refuse hosts that the operator has not opened."""
        for broker in self.brokers:
            openings.check_url(f"property '{BROKERS}'", f"kafka://{broker}")


def sources_of(brokers: Iterable[str]) -> tuple[str, ...]:
    """Brokers, each in one spelling."""
    return tuple(dict.fromkeys(server_of(f"kafka://{broker}") for broker in brokers))


def _brokers(text: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not found:
        raise IllegalArgument(f"the catalog has no '{BROKERS}'", hint="use host:port, several with commas")
    if len(found) > _MOST_BROKERS:
        raise IllegalArgument(
            f"property '{BROKERS}' names more than {_MOST_BROKERS}", hint="a few are enough"
        )
    for each in found:
        match = _BROKER.fullmatch(each)
        if match is None or not 0 < int(match["port"]) < 65_536:
            raise IllegalArgument(f"property '{BROKERS}' is no list of brokers", hint="use host:port")
    return found


def _sasl(properties: Mapping[str, str]) -> tuple[str | None, str | None, str | None]:
    """Mechanism, user and password; these two alone or in the one text that Java's clients have for both."""
    mechanism = properties.get(MECHANISM)
    if mechanism is not None and mechanism.upper() not in _MECHANISMS:
        raise IllegalArgument(
            f"property '{MECHANISM}' is not supported", hint=f"use {', '.join(_MECHANISMS)}"
        )
    username = properties.get(USERNAME)
    password = properties.get(PASSWORD)
    jaas = properties.get(JAAS)
    if jaas:
        if username or password:
            raise IllegalArgument(
                f"property '{JAAS}' contradicts '{USERNAME}'",
                hint="set one of them",
            )
        found = _JAAS.fullmatch(jaas)
        if found is None:
            # Not repeated: it holds a password.
            raise IllegalArgument(
                f"property '{JAAS}' is of no form that is read",
                hint=f"set {USERNAME} and {PASSWORD} instead",
            )
        username, password = found["username"], found["password"]
    return mechanism.upper() if mechanism else None, username, password
