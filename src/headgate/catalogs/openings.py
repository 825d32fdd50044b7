"""What the operator opened: the folders that may be touched and the hosts that may be asked, whoever names them.

Tenants declare catalogs, and catalogs, metadata and manifests name paths and addresses. None of them is a reason to
go there: the operator's settings `places` and `hosts` are.
"""

import ipaddress
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

import msgspec

from headgate.catalogs.locations import checked_warehouse, inside, normal
from headgate.model.errors import Forbidden, IllegalArgument
from headgate.model.objects import clip

OPEN_PLACES: Final = (
    "the operator opens folders and buckets with 'places' in headgate.toml or 'headgate serve --places'"
)
OPEN_HOSTS: Final = "the operator opens hosts with 'hosts' in headgate.toml or 'headgate serve --hosts'"

LARGEST_DOCUMENT: Final = 256 * 1024 * 1024
RAISE_LARGEST: Final = "the operator raises 'largest-document' in headgate.toml"

_NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?", re.ASCII)
_AUTHORITY: Final = re.compile(r"(?P<host>[a-z0-9_.-]+|\[[0-9a-f:.]+\])(:(?P<port>[0-9]{1,5}))?", re.ASCII)
_USUAL_PORT: Final = {"http": "80", "https": "443", "mariadb": "3306", "mysql": "3306", "postgresql": "5432"}
_ADDRESS_KEY: Final = re.compile(r"(^|[-_.])(uri|url|endpoint)$", re.IGNORECASE)
_REGION: Final = re.compile(r"[a-zA-Z0-9-]{1,40}", re.ASCII)


class Openings(msgspec.Struct, frozen=True):
    """The places and hosts that the operator opened. Without any, nothing is.

    INVARIANT: every file is opened, listed, written and deleted, and every server of others is asked, only after this
    was asked. Entries are compared as they are written, segment by segment and name by name: nothing is resolved, so
    a loopback, link-local or metadata address is open only where the operator lists that very address.
    """

    places: tuple[str, ...] = ()
    """Folders as file:// URIs, and s3:// prefixes, without a slash at the end."""
    hosts: tuple[str, ...] = ()
    """`host` for any port of it, or `host:port`; lower case, IPv6 in brackets."""
    largest_document: int = LARGEST_DOCUMENT
    """Bytes that a table's metadata, unpacked, and an answer of another catalog may have: both are read into memory."""

    @classmethod
    def of(
        cls, places: Iterable[str], hosts: Iterable[str] = (), largest_document: int = LARGEST_DOCUMENT
    ) -> "Openings":
        """What an operator wrote, checked."""
        return cls(
            tuple(dict.fromkeys(checked_warehouse(place) for place in places)),
            tuple(dict.fromkeys(_checked_host(host) for host in hosts)),
            largest_document,
        )

    def including(self, place: str | None) -> "Openings":
        """The same with one more place, such as the server's own warehouse."""
        if place is None:
            return self
        more = checked_warehouse(place)
        return self if more in self.places else msgspec.structs.replace(self, places=(more, *self.places))

    # -- places -------------------------------------------------------------------------------------------------

    def holds(self, location: str) -> bool:
        """Whether a location is in an opened place. For local paths, after every link on the way was followed."""
        place = normal(location).rstrip("/")
        if not place.isprintable():
            return False
        if not place.startswith("file://"):
            return any(inside(place, opened) for opened in self.places)
        path = place.removeprefix("file://")
        # '..' behind a link means another folder to the file system than to whoever compares texts.
        if not path.startswith("/") or any(part in ("", ".", "..") for part in path[1:].split("/")):
            return False
        real = os.path.realpath(path)
        return any(real == root or real.startswith(f"{root}/") for root in _real_roots(self.places))

    def check(self, location: str) -> None:
        """Refuse a location outside. It may come out of a document, so it is not named."""
        if not self.holds(location):
            raise Forbidden("a file lies outside the places that the operator opened", hint=OPEN_PLACES)

    def check_files(self, locations: Iterable[str]) -> None:
        """Refuse many files if one lies outside. Their folders are few: each is looked at once, and a file by itself
        only if it is a link."""
        folders: set[str] = set()
        for location in locations:
            folder, _, name = location.rpartition("/")
            if folder not in folders:
                self.check(folder)
                folders.add(folder)
            place = normal(location)
            if name in ("", ".", "..") or (
                place.startswith("file://") and os.path.islink(place.removeprefix("file://"))
            ):
                self.check(location)

    def check_place(self, named_by: str, location: str) -> None:
        """Refuse a location that the caller gives, such as a property's value."""
        if not self.holds(location):
            raise IllegalArgument(
                f"{named_by} names '{clip(location, 200)}', which the operator has not opened",
                hint=OPEN_PLACES,
            )

    @property
    def opens_s3(self) -> bool:
        """Whether any bucket is open: only then are AWS's own endpoints."""
        return any(place.startswith("s3://") for place in self.places)

    # -- hosts --------------------------------------------------------------------------------------------------

    def reaches(self, url: str) -> bool:
        """Whether the host of an address is open."""
        scheme, host, port = _authority(url)
        return bool(host) and (
            host in self.hosts or f"{host}:{port or _USUAL_PORT.get(scheme, '')}" in self.hosts
        )

    def check_url(self, named_by: str, url: str) -> None:
        """Refuse an address that the caller gives. Only its host is named: the rest may hold secrets."""
        if not self.reaches(url):
            _, host, port = _authority(url)
            named = f"{host}:{port}" if port else host
            where = f"host '{clip(named, 100)}'" if host else "an address without a plain host"
            raise IllegalArgument(
                f"{named_by} names {where}, which the operator has not opened", hint=OPEN_HOSTS
            )

    def check_addresses(self, properties: Mapping[str, str]) -> None:
        """Refuse properties that name a host which is not open, or AWS while no bucket is."""
        for key, value in properties.items():
            # A database in a file has no host: whoever opens it asks for the place of the file.
            in_file = key == "jdbc-url" and value.startswith("jdbc:sqlite:")
            if value and _ADDRESS_KEY.search(key) and not in_file:
                self.check_url(f"property '{clip(key)}'", value.removeprefix("jdbc:"))
            if key in ("s3-region", "s3.region") and value and not _REGION.fullmatch(value):
                raise IllegalArgument(f"property '{key}' is no AWS region", hint="such as eu-central-1")
        if not self.opens_s3 and any(key.startswith(("s3-role", "s3.role")) for key in properties):
            raise IllegalArgument("the catalog would use S3, of which nothing is open", hint=OPEN_PLACES)


@lru_cache(maxsize=64)
def _real_roots(places: tuple[str, ...]) -> tuple[str, ...]:
    """The opened local folders with every link on the way followed."""
    return tuple(
        os.path.realpath(place.removeprefix("file://")) for place in places if place.startswith("file://")
    )


def _authority(url: str) -> tuple[str, str, str]:
    """Scheme, host and port of an address in lower case; all empty where readers of addresses could disagree."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", "", ""
    found = _AUTHORITY.fullmatch(parts.netloc.lower())
    if not parts.scheme or found is None or not url.isprintable() or " " in url or "\\" in url:
        return "", "", ""
    return parts.scheme.lower(), found["host"], found["port"] or ""


def _checked_host(text: str) -> str:
    """A host as an operator wrote it, in the one spelling that addresses are compared in."""
    host = text.strip().lower()
    port = ""
    if bracketed := re.fullmatch(r"\[([^\]]*)\](?::([^:]+))?", host):
        host, port = bracketed[1], bracketed[2] or ""
    elif host.count(":") == 1:
        host, _, port = host.partition(":")
    if port and (not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536):
        host = ""
    try:
        bare = f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        bare = host if _NAME.fullmatch(host) else ""
    if not bare:
        raise IllegalArgument(
            f"'{clip(text)}' is no host",
            hint="write a name or an address, with or without a port: s3.example:9000",
        )
    return f"{bare}:{port}" if port else bare
