"""Headgate's own tokens: made once, shown once, kept as a digest, dead the moment they are revoked."""

import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from headgate.decide import Op
from headgate.model.errors import IllegalArgument, NotFound, Unauthenticated
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.records import TokenRecord
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.store import tokens
from headgate.store.database import now

PREFIX: Final = "hg_"
SERVER: Final = ObjectRef("*", ObjectType.METALAKE)
"""What is asked about when a question is about the server itself."""

_SHAPE: Final = re.compile(r"hg_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_AGE: Final = re.compile(r"([1-9][0-9]{0,4})([mhd])")
_MINUTES: Final = {"m": 1, "h": 60, "d": 60 * 24}


class Issued(msgspec.Struct, frozen=True):
    """A token that was just made: the only time its text exists here."""

    record: TokenRecord
    text: str

    def __repr__(self) -> str:
        return f"Issued({self.record!r})"


class Tokens:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @act(Op.MANAGE_TOKENS)
    def create(
        self,
        permit: Permit,
        user: str,
        groups: tuple[str, ...] = (),
        expires: str | None = None,
        comment: str | None = None,
    ) -> Issued:
        """Make a token that proves to be `user`; `expires` is an age such as 30d, 12h or 15m."""
        if (
            not all(_usable(name) for name in (user, *groups))
            or len(groups) > 2000
            or len(comment or "") > 1000
        ):
            raise IllegalArgument(
                "a user or group name of the token cannot be used, or its comment is too long"
            )
        secret = secrets.token_urlsafe(32)
        record = TokenRecord(
            id=secrets.token_hex(8),
            digest=_digest(secret),
            user=user,
            groups=tuple(sorted(set(groups))),
            comment=comment,
            creator=permit.identity.user,
            created_at=now(),
            expires_at=expiry(expires),
            revision=self.kernel.store.revision(),
        )
        tokens.add(self.kernel.store, record)
        self._audit(permit, record, "created")
        return Issued(record, f"{PREFIX}{record.id}_{secret}")

    @act(Op.MANAGE_TOKENS)
    def list(self, permit: Permit) -> list[TokenRecord]:
        assert permit.op is Op.MANAGE_TOKENS
        return tokens.every(self.kernel.store)

    @act(Op.MANAGE_TOKENS)
    def revoke(self, permit: Permit, id: str) -> bool:
        """End a token; False if it had been revoked before."""
        record = tokens.find(self.kernel.store, id)
        if record is None:
            raise NotFound(f"there is no token '{clip(id)}'", hint="list the tokens", about="token")
        done = tokens.revoke(self.kernel.store, id)
        self._audit(permit, record, "revoked")
        return done

    def proven(self, text: str) -> TokenRecord:
        """The token of that text, which proves to be its user."""
        shape = _SHAPE.fullmatch(text)
        record = tokens.find(self.kernel.store, shape[1]) if shape else None
        if shape is None or record is None or not hmac.compare_digest(_digest(shape[2]), record.digest):
            raise Unauthenticated("the token is not valid")
        if record.revoked_at is not None:
            raise Unauthenticated("the token was revoked", hint="ask a service admin for a new one")
        if record.expires_at is not None and record.expires_at <= now():
            raise Unauthenticated("the token has expired", hint="ask a service admin for a new one")
        return record

    def _audit(self, permit: Permit, record: TokenRecord, done: str) -> None:
        self.kernel.audit(
            permit.identity,
            permit.op,
            permit.ref,
            permit.revision,
            allowed=True,
            token=record.id,
            user=record.user,
            done=done,
        )


def expiry(age: str | None) -> str | None:
    """When a token of that age ends."""
    if age is None:
        return None
    shape = _AGE.fullmatch(age)
    if shape is None:
        raise IllegalArgument(f"'{clip(age)}' is not an age", hint="write 30d, 12h or 15m")
    end = datetime.now(UTC) + timedelta(minutes=int(shape[1]) * _MINUTES[shape[2]])
    return end.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _digest(secret: str) -> str:
    # The secret is 256 random bits: there is nothing to guess that a slow hash would have to slow down.
    return hashlib.sha256(secret.encode()).hexdigest()


def _usable(name: str) -> bool:
    return 0 < len(name) <= 256 and name.isprintable() and name == name.strip()
