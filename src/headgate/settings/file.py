"""`headgate.toml`: what it may say, and how it is read. What is not understood is refused."""

import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.secrets import Secret
from headgate.settings.setting import CONFIG, SETTINGS
from headgate.sync.connections import Connection
from headgate.sync.registry import connectable

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by key pairs only: with a shared secret whoever can check a token could also forge one."""


class Oidc(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """An issuer of tokens that is trusted, and how its tokens are read."""

    issuer: str
    audience: str
    jwks_url: str | None = None
    """Where its keys are; without it the issuer's own discovery document says."""
    algorithms: tuple[str, ...] = ("RS256", "ES256", "PS256")
    name_claims: tuple[str, ...] = ("preferred_username", "sub")
    """The first of these that a token has names the user."""
    groups_claim: str | bool = "groups"
    """The claim that lists the groups; `false` declares that the issuer's tokens carry none."""
    leeway: int = 30
    """Seconds by which clocks may differ."""
    client_id: str | None = None
    scope: str | None = None
    token_path: str | None = None

    def __post_init__(self) -> None:
        if not self.issuer or not self.audience:
            raise ValueError("an oidc issuer needs both 'issuer' and 'audience'")
        if not self.algorithms or not set(self.algorithms) <= set(ALGORITHMS):
            raise ValueError(f"'algorithms' must be some of {', '.join(ALGORITHMS)}")
        if not self.name_claims:
            raise ValueError("'name-claims' must name a claim")
        if self.groups_claim is True or self.groups_claim == "":
            raise ValueError("'groups-claim' must name a claim, or be false for an issuer without groups")
        if not 0 <= self.leeway <= 300:
            raise ValueError("'leeway' must be 0 to 300 seconds")


class _ConnectionTable(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """One table ``[sync.connections.<kind>.<name>]``."""

    url: str
    catalog: str | None = None
    metalake: str | None = None
    user: str | None = None
    password: str | None = None
    metalakes: tuple[str, ...] = ()
    options: dict[str, str] = {}


class Sync(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    connections: dict[str, dict[str, _ConnectionTable]] = {}


def _table(prefix: str) -> type[msgspec.Struct]:
    """What the file, or the table of it that `prefix` leads to, may say: the keys of the settings that have one."""
    fields: list[tuple[str, Any, Any]] = []
    for setting in SETTINGS:
        key = setting.key or ""
        if key.startswith(prefix) and "." not in (name := key.removeprefix(prefix)) and name:
            fields.append((name.replace("-", "_"), setting.form.of_file | None, None))
    if not prefix:
        tables = dict.fromkeys(s.key.partition(".")[0] for s in SETTINGS if s.key and "." in s.key)
        fields += [(name, (table := _table(f"{name}.")), table()) for name in tables]
        fields += [("oidc", tuple[Oidc, ...], ()), ("sync", Sync, Sync())]
    return msgspec.defstruct(
        "File", fields, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True
    )


_File: Final = _table("")
"""Development mode is not among it: it must be asked for at every start."""


def read(asked: Path | None, usual: Path) -> Any:
    """The file that was asked for, else the usual one if it is there."""
    path = asked or usual
    try:
        text = path.read_text()
    except FileNotFoundError:
        if asked is None:
            return _File()
        raise IllegalArgument(f"there is no file {path}", hint=f"correct {CONFIG.sources}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise IllegalArgument(f"{path} cannot be read", hint=type(error).__name__) from None
    try:
        return msgspec.convert(tomllib.loads(text), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise IllegalArgument(f"{path} cannot be understood", hint=str(error)) from None


def distinct(issuers: tuple[Oidc, ...]) -> tuple[Oidc, ...]:
    if len({issuer.issuer for issuer in issuers}) != len(issuers):
        raise IllegalArgument("an oidc issuer is configured twice", hint="one entry for each issuer")
    return issuers


def connections(sync: Sync) -> dict[str, Connection]:
    """The connections by the names that commands use, such as ``postgresql:main``."""
    unknown = sorted(sync.connections.keys() - connectable().keys())
    if unknown:
        raise IllegalArgument(
            f"'{unknown[0]}' is no kind of system that policies are synchronised with",
            hint=f"write [sync.connections.KIND.NAME] with one of {', '.join(sorted(connectable()))}",
        )
    return {
        f"{kind}:{name}": Connection(
            kind=kind,
            url=Secret(table.url),
            catalog=table.catalog or name,
            metalake=table.metalake or name,
            user=table.user,
            password=None if table.password is None else Secret(table.password),
            metalakes=table.metalakes,
            options=table.options,
        )
        for kind, named in sync.connections.items()
        for name, table in named.items()
    }
