"""What a catalog's properties say about its storage: how it is reached, and how access to it is given out.

INVARIANT: this is the only reading of these properties. The server's own access, Spark's, and what clients are given are
all made from it, so that a default which is true for one of them is true for all.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip
from headgate.model.secrets import Secret

DEFAULT_REGION: Final = "us-east-1"
SHORTEST, DEFAULT_LIFETIME, LONGEST = 900, 900, 43_200
"""Seconds that credentials live: STS gives none for less than a quarter of an hour or more than half a day."""

_REGION: Final = re.compile(r"[a-z0-9-]{1,40}", re.ASCII)
_ROLE: Final = re.compile(r"arn:([a-z0-9-]+):iam:[^:]*:[^:]*:[\w+=,.@/-]+", re.ASCII)
_PARTITIONS: Final = frozenset({"aws", "aws-cn", "aws-us-gov"})
_HOST: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?", re.ASCII)
_DEFAULT_PORT: Final = {"http": ":80", "https": ":443"}


class Endpoint(msgspec.Struct, frozen=True):
    """Where an S3 server is reached: a scheme and a host, which keeps its port unless that is the usual one."""

    scheme: str
    host: str

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}"


class StorageSettings(msgspec.Struct, frozen=True):
    """The settings of one catalog. Without keys, the server's own AWS identity is used."""

    region: str
    endpoint: Endpoint | None
    path_style: bool
    role: str | None
    external_id: str | None
    sts_endpoint: str | None
    key_id: Secret | None
    secret_key: Secret | None
    session_token: Secret | None
    lifetime: int
    remote_signing: bool

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> "StorageSettings":
        """The settings that a catalog declares, or a refusal of those that make no sense."""
        region = _setting(properties, "s3-region") or DEFAULT_REGION
        role = _setting(properties, "s3-role-arn")
        if not _REGION.fullmatch(region):
            raise _wrong("s3-region", "an AWS region such as eu-central-1")
        if role is not None and not _ROLE.fullmatch(role):
            raise _wrong("s3-role-arn", "the ARN of a role such as arn:aws:iam::123456789012:role/lake")
        endpoint = _endpoint(properties, "s3-endpoint")
        # A store of one's own that plays no roles usually answers for STS at the same address.
        sts = (
            _endpoint(properties, "s3-sts-endpoint")
            or _endpoint(properties, "s3-token-service-endpoint")
            or endpoint
        )
        style = _setting(properties, "s3-path-style-access")
        return cls(
            region,
            endpoint,
            _flag("s3-path-style-access", style, default=endpoint is not None),
            role,
            _setting(properties, "s3-external-id"),
            sts.url if sts else None,
            _secret(properties, "s3-access-key-id"),
            _secret(properties, "s3-secret-access-key"),
            _secret(properties, "s3-session-token"),
            _lifetime(_setting(properties, "s3-token-expire-in-secs")),
            _flag("s3-remote-signing", _setting(properties, "s3-remote-signing"), default=False),
        )

    def address(self) -> dict[str, str]:
        """How the storage is reached, as Iceberg's readers in Java and in Python are told; holds no secret."""
        known = {
            "client.region": self.region,
            "s3.region": self.region,
            "s3.path-style-access": "true" if self.path_style else "false",
        }
        if self.endpoint is not None:
            known["s3.endpoint"] = self.endpoint.url
        if not self.path_style:
            known["s3.force-virtual-addressing"] = "true"
        return known

    def access(self) -> dict[str, str]:
        """The address, with the keys of the server."""
        keys = {
            "s3.access-key-id": self.key_id,
            "s3.secret-access-key": self.secret_key,
            "s3.session-token": self.session_token,
        }
        return self.address() | {name: key.hidden for name, key in keys.items() if key is not None}

    @property
    def partition(self) -> str:
        """The part of AWS that the role, and so the buckets, are in."""
        found = self.role.split(":")[1] if self.role else "aws"
        return found if found in _PARTITIONS else "aws"

    @property
    def suffix(self) -> str:
        """The domain of S3 in that part of AWS."""
        return "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"


def _setting(properties: Mapping[str, str], key: str) -> str | None:
    return properties.get(key) or properties.get(key.replace("s3-", "s3.", 1)) or None


def _secret(properties: Mapping[str, str], key: str) -> Secret | None:
    found = _setting(properties, key)
    return Secret(found) if found else None


def _endpoint(properties: Mapping[str, str], key: str) -> Endpoint | None:
    text = _setting(properties, key)
    if text is None:
        return None
    parts = urlsplit(text.lower())
    host = parts.netloc.removesuffix(_DEFAULT_PORT.get(parts.scheme, "?"))
    if parts.scheme not in _DEFAULT_PORT or not _HOST.fullmatch(host) or parts.path.strip("/") or parts.query:
        raise _wrong(key, "the address of an S3 server such as https://s3.example.com:9000")
    return Endpoint(parts.scheme, host)


def _lifetime(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIFETIME
    if not text.isascii() or not text.isdigit() or not SHORTEST <= int(text[:9]) <= LONGEST:
        raise _wrong("s3-token-expire-in-secs", f"a number of seconds from {SHORTEST} to {LONGEST}")
    return int(text)


def _flag(key: str, text: str | None, *, default: bool) -> bool:
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise _wrong(key, "true or false")
    return text.lower() == "true"


def _wrong(key: str, wanted: str) -> IllegalArgument:
    return IllegalArgument(f"property '{clip(key)}' cannot be used", hint=f"it is {wanted}")
