"""Requests to sign: taken apart once, checked, and put together anew from what was checked."""

import re
from typing import Final
from urllib.parse import quote

import msgspec

from headgate.catalogs.storage_settings import StorageSettings
from headgate.model.errors import Forbidden
from headgate.model.objects import clip
from headgate.vending.places import StoragePlace, is_bucket, is_plain

_URI: Final = re.compile(r"(https?)://([A-Za-z0-9.:-]+)(/[!-~]*)?", re.ASCII)
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})?")


class SignRequest(msgspec.Struct, frozen=True):
    """A request to S3 as a client wants to send it."""

    method: str
    region: str
    uri: str
    headers: dict[str, list[str]]
    body: str | None = None
    provider: str = "s3"
    properties: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"SignRequest({self.method!r}, …)"


class Signed(msgspec.Struct, frozen=True):
    """Where to send it, and the headers to send besides those that the client has."""

    uri: str
    headers: dict[str, list[str]]
    cacheable: bool
    places: tuple[str, ...]
    """What was asked for, for the audit."""
    print: str | None = None
    """Stands for the access key of the session that signed it; None where the catalog's own keys did."""

    def __repr__(self) -> str:
        return f"Signed({self.places!r}, …)"


class RequestTarget(msgspec.Struct, frozen=True):
    """The object (or, without a key, the bucket) of a request, the host it goes to, and its query."""

    scheme: str
    host: str
    bucket: str
    key: str
    in_host: bool
    query: tuple[tuple[str, str], ...]

    @property
    def place(self) -> StoragePlace:
        return StoragePlace(self.bucket, self.key)

    @property
    def path(self) -> str:
        """The path on the wire, made from the key that was checked."""
        key = quote(self.key, safe="/-_.~")
        return f"/{key}" if self.in_host else f"/{self.bucket}/{key}" if key else f"/{self.bucket}"

    @property
    def uri(self) -> str:
        pairs = [f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" if v else k for k, v in self.query]
        return f"{self.scheme}://{self.host}{self.path}{'?' + '&'.join(pairs) if pairs else ''}"


def target(uri: str, settings: StorageSettings) -> RequestTarget:
    """What a URI asks for, read as S3 reads it, or a refusal of anything that could be read in two ways."""
    if not (whole := _URI.fullmatch(uri)) or "#" in uri or "\\" in uri:
        raise refused(uri, "it is not a plain address of an object")
    scheme, host, rest = whole[1], whole[2].lower(), whole[3] or "/"
    raw, question, query = rest.partition("?")
    in_host, bucket = _addressed(scheme, host, settings, uri)
    path = _decoded(raw.removeprefix("/"), uri)
    if not in_host:
        bucket, _, path = path.partition("/")
    if not is_bucket(bucket) or (path and not is_plain(path)):
        raise refused(uri, "its key could be taken for another")
    usual = ":443" if scheme == "https" else ":80"
    pairs = tuple(_pair(part, uri) for part in query.split("&")) if question and query else ()
    if len({name for name, _ in pairs}) != len(pairs):
        raise refused(uri, "it names a parameter twice")
    return RequestTarget(scheme, host.removesuffix(usual), bucket, path, in_host, pairs)


def refused(uri: str, why: str) -> Forbidden:
    return Forbidden(f"the request to '{clip(uri.partition('?')[0], 200)}' is not signed", hint=why)


def _addressed(scheme: str, host: str, settings: StorageSettings, uri: str) -> tuple[bool, str]:
    """Whether the bucket stands in the host, and which: only hosts of the catalog's own store are signed for."""
    own = settings.endpoint
    known = [own.host] if own else [f"s3.{settings.region}.{settings.suffix}", f"s3.{settings.suffix}"]
    if scheme == (own.scheme if own else "https"):
        plain = host.removesuffix(":443" if scheme == "https" else ":80")
        for server in known:
            if plain == server:
                return False, ""
            if plain.endswith(f".{server}"):
                return True, plain.removesuffix(f".{server}")
    raise refused(uri, "it does not go to the storage of this catalog")


def _pair(text: str, uri: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    # A plus is a space to some servers and a plus to others.
    if "+" in text:
        raise refused(uri, "its query holds a '+'")
    return _decoded(name, uri), _decoded(value, uri)


def _decoded(text: str, uri: str) -> str:
    """Percent-decoded, once: an escape that is none, or is not UTF-8, is refused."""
    data = bytearray()
    at = 0
    for escape in _ESCAPE.finditer(text):
        if escape[1] is None:
            raise refused(uri, "it is not percent-encoded as it should be")
        data += text[at : escape.start()].encode() + bytes([int(escape[1], 16)])
        at = escape.end()
    data += text[at:].encode()
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise refused(uri, "it is not UTF-8") from None
