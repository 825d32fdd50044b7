"""The settings of a server: from flags, the environment and `headgate.toml`, checked once, then frozen.

A flag wins over the environment, the environment over the file, the file over the default. What is not understood is
refused: a misspelt setting must not silently leave a door open.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from headgate.catalogs.openings import Openings
from headgate.model.errors import IllegalArgument
from headgate.model.secrets import Secret
from headgate.sync.connections import KINDS, Connection

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by key pairs only: with a shared secret whoever can check a token could also forge one."""

FILE: Final = "headgate.toml"
HANDOVER: Final = "HEADGATE_SERVE"
"""Where the parent process leaves the settings for the processes that it starts."""


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


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a server process needs to know."""

    home: str
    store: Secret
    warehouse: str
    openings: Openings = Openings()
    """The places (the warehouse among them) and hosts that tenants may name."""
    host: str = "127.0.0.1"
    port: int = 8090
    workers: int = 1
    dev: bool = False
    service_admins: frozenset[str] = frozenset()
    oidc: tuple[Oidc, ...] = ()
    connections: dict[str, Connection] = {}
    """The systems whose policies are synchronised, by name."""
    worker: bool = True
    """Whether the server starts a worker of its own."""
    spark_master: str | None = None
    spark_remote: str | None = None
    spark_memory: str = "2g"
    spark_options: dict[str, str] = {}
    """Further settings of the Spark session."""

    def handed_over(self) -> str:
        """For the environment of the server's own processes."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def taken_over(cls, environment: Mapping[str, str]) -> "Settings":
        text = environment.get(HANDOVER)
        if text is None:
            raise IllegalArgument("no settings were handed over", hint="start the server by 'headgate serve'")
        return msgspec.json.decode(text, type=cls)


class _Connection(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """One table ``[sync.connections.<kind>.<name>]``."""

    url: str
    catalog: str | None = None
    metalake: str | None = None
    user: str | None = None
    password: str | None = None
    metalakes: tuple[str, ...] = ()
    options: dict[str, str] = {}


class _Sync(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    connections: dict[str, dict[str, _Connection]] = {}


class _Spark(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """The table ``[spark]``: where jobs run."""

    master: str | None = None
    remote: str | None = None
    memory: str | None = None
    options: dict[str, str] = {}


class _File(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """What `headgate.toml` may say. Development mode is not among it: it must be asked for at every start."""

    store: str | None = None
    warehouse: str | None = None
    places: tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None
    host: str | None = None
    port: int | None = None
    workers: int | None = None
    service_admins: tuple[str, ...] | None = None
    oidc: tuple[Oidc, ...] = ()
    sync: _Sync = _Sync()
    worker: bool | None = None
    spark: _Spark = _Spark()


def load(flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Settings:
    """Put the settings together. `flags` are those that were given; None counts as not given."""

    def given(name: str) -> Any:
        flag = flags.get(name)
        return flag if flag is not None else environment.get(f"HEADGATE_{name.upper()}")

    home = Path(given("home") or "~/.headgate").expanduser().absolute()
    file = _read(Path(given("config")).expanduser() if given("config") else None, home / FILE)

    def setting(name: str, default: Any) -> Any:
        found = given(name)
        if found is None:
            found = getattr(file, name)
        return default if found is None else found

    dev = bool(flags.get("dev"))
    master, remote = given("spark_master") or file.spark.master, given("spark_remote") or file.spark.remote
    if master and remote:
        raise IllegalArgument(
            "Spark is either at a master or behind Spark Connect", hint="give one of the two"
        )
    admins = _names(setting("service_admins", ()))
    warehouse = _warehouse(setting("warehouse", str(home / "warehouse")))
    places = (_warehouse(place) for place in _listed(setting("places", ())))
    return Settings(
        home=str(home),
        store=Secret(setting("store", f"sqlite:///{home}/headgate.db")),
        warehouse=warehouse,
        openings=Openings.of((warehouse, *places), _listed(setting("hosts", ()))),
        host=setting("host", "127.0.0.1"),
        port=_number(setting("port", 8090), "port", 0, 65_535),
        workers=_number(setting("workers", 1), "workers", 1, 256),
        dev=dev,
        service_admins=admins | {"admin"} if dev else admins,
        oidc=_distinct(file.oidc),
        connections=_connections(file.sync),
        worker=not flags.get("no_worker") and file.worker is not False,
        spark_master=master,
        spark_remote=_remote(remote),
        spark_memory=file.spark.memory or "2g",
        spark_options=file.spark.options,
    )


def _read(asked: Path | None, usual: Path) -> _File:
    path = asked or usual
    try:
        text = path.read_text()
    except FileNotFoundError:
        if asked is None:
            return _File()
        raise IllegalArgument(f"there is no file {path}", hint="correct --config") from None
    except (OSError, UnicodeDecodeError) as error:
        raise IllegalArgument(f"{path} cannot be read", hint=type(error).__name__) from None
    try:
        return msgspec.convert(tomllib.loads(text), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise IllegalArgument(f"{path} cannot be understood", hint=str(error)) from None


def _names(value: Any) -> frozenset[str]:
    return frozenset(_listed(value))


def _listed(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(part.strip() for part in parts if part.strip())


def _number(value: Any, name: str, least: int, most: int) -> int:
    text = str(value)
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise IllegalArgument(f"'{name}' must be a number from {least} to {most}")
    return int(text)


def _warehouse(value: str) -> str:
    return value if "://" in value else str(Path(value).expanduser().absolute())


def _remote(value: str | None) -> str | None:
    if value is not None and not value.startswith("sc://"):
        raise IllegalArgument(f"'{value}' is no Spark Connect address", hint="write sc://host:15002")
    return value


def _distinct(issuers: tuple[Oidc, ...]) -> tuple[Oidc, ...]:
    if len({issuer.issuer for issuer in issuers}) != len(issuers):
        raise IllegalArgument("an oidc issuer is configured twice", hint="one entry for each issuer")
    return issuers


def _connections(sync: _Sync) -> dict[str, Connection]:
    """The connections by the names that commands use, such as ``postgresql:main``."""
    unknown = sorted(sync.connections.keys() - KINDS.keys())
    if unknown:
        raise IllegalArgument(
            f"'{unknown[0]}' is no kind of system that policies are synchronised with",
            hint=f"write [sync.connections.KIND.NAME] with one of {', '.join(sorted(KINDS))}",
        )
    return {
        f"{kind}:{name}": Connection(
            kind=kind,
            url=Secret(said.url),
            catalog=said.catalog or name,
            metalake=said.metalake or name,
            user=said.user,
            password=None if said.password is None else Secret(said.password),
            metalakes=said.metalakes,
            options=said.options,
        )
        for kind, named in sync.connections.items()
        for name, said in named.items()
    }
