"""Records: what is kept of objects, people, versions, tokens, statistics and answers, as frozen values."""

from typing import Any, Final

import msgspec

from headgate.model.objects import ObjectType
from headgate.model.principals import Attributes, Audit, PrincipalKind


class ObjectRecord(msgspec.Struct, frozen=True):
    """An object as it is stored. `body` holds what only its type knows; `version` counts its changes."""

    id: int
    parent: int
    metalake: int
    type: ObjectType
    name: str
    comment: str | None
    properties: dict[str, str]
    body: dict[str, Any]
    in_use: bool
    version: int
    audit: Audit

    def __repr__(self) -> str:
        # Properties may hold secrets.
        return f"ObjectRecord({self.id}, {self.type!r}, {self.name!r}, version={self.version})"


class PrincipalRecord(msgspec.Struct, frozen=True):
    """A user or group as it is stored."""

    id: int
    metalake: int
    kind: PrincipalKind
    name: str
    external_id: str | None
    enabled: bool
    attributes: Attributes
    audit: Audit


_attributes: Final = msgspec.json.Decoder(Attributes)


def attributes_of(stored: bytes) -> Attributes:
    return _attributes.decode(stored)


class VersionRecord(msgspec.Struct, frozen=True):
    """A version of a model as it is stored."""

    version: int
    body: dict[str, Any]
    aliases: tuple[str, ...]
    audit: Audit


def audit_of(row: Any) -> Audit:
    return Audit(row.creator, row.created_at, row.modifier, row.modified_at)


class TokenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A token as it is kept. Times are ISO-8601 in UTC."""

    id: str
    digest: str
    user: str
    groups: tuple[str, ...]
    comment: str | None
    creator: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None = None
    revision: int = 0
    """The revision of the store when it was made."""

    def __repr__(self) -> str:
        return f"TokenRecord(id={self.id!r}, user={self.user!r})"


class Statistic(msgspec.Struct, frozen=True):
    """One value about a table or a partition."""

    partition: str
    name: str
    value: Any
    audit: Audit


class KeptAnswer(msgspec.Struct, frozen=True):
    """What was answered, and a digest of what had been asked."""

    request: str
    status: int
    body: bytes
