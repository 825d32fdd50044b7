"""Where a Hive Metastore is asked: one address, or several of the same metastore, of which any may answer."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from headgate.catalogs.openings import Openings
from headgate.model.errors import IllegalArgument
from headgate.store.metadata.sources import server_of

URIS: Final = "metastore.uris"
"""The property that names them."""
_USUAL_PORT: Final = 9083
_MOST: Final = 8
_ADDRESS: Final = re.compile(
    r"thrift://(?P<host>[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?|\[[0-9a-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?/?",
    re.ASCII | re.IGNORECASE,
)


class MetastoreAddress(msgspec.Struct, frozen=True):
    """One address of a metastore."""

    host: str
    """In lower case, IPv6 in brackets."""
    port: int

    @property
    def url(self) -> str:
        return f"thrift://{self.host}:{self.port}"

    @property
    def source(self) -> str:
        """The same in the one spelling in which catalogs are compared."""
        return server_of(self.url)


def addresses_of(properties: Mapping[str, str]) -> tuple[MetastoreAddress, ...]:
    """The addresses that a catalog names, in its order, or a refusal of what is none."""
    texts = [text.strip() for text in properties.get(URIS, "").split(",") if text.strip()]
    if not texts:
        raise IllegalArgument(f"the catalog has no '{URIS}'", hint=f"such as thrift://host:{_USUAL_PORT}")
    if len(texts) > _MOST:
        raise IllegalArgument(f"property '{URIS}' names more than {_MOST} addresses", hint="name fewer")
    return tuple(dict.fromkeys(map(_address, texts)))


def check_addresses(addresses: tuple[MetastoreAddress, ...], openings: Openings) -> None:
    """Refuse a host that the operator has not opened, wherever in the list it stands."""
    for address in addresses:
        openings.check_url(f"property '{URIS}'", address.url)


def _address(text: str) -> MetastoreAddress:
    found = _ADDRESS.fullmatch(text)
    port = int(found["port"] or _USUAL_PORT) if found else 0
    if found is None or not 0 < port < 65_536:
        # Not repeated: it may hold a user and a password.
        raise IllegalArgument(
            f"property '{URIS}' names what is no address of a metastore",
            hint=f"write thrift://host:{_USUAL_PORT}, several separated by commas",
        )
    return MetastoreAddress(found["host"].lower(), port)
