"""The settings of one server, put together: a flag wins over the environment, that over the file, that over the default."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from headgate.catalogs.openings import Openings
from headgate.model.errors import IllegalArgument
from headgate.model.secrets import Secret
from headgate.settings.file import Oidc, connections, distinct, read
from headgate.settings.setting import (
    CONFIG,
    DEV,
    FILE,
    FOLDER,
    HOME,
    HOST,
    HOSTS,
    LARGEST_DOCUMENT,
    PLACES,
    PORT,
    SERVICE_ADMINS,
    SPARK_MASTER,
    SPARK_MEMORY,
    SPARK_OPTIONS,
    SPARK_REMOTE,
    STORE,
    WAREHOUSE,
    WORKER,
    WORKERS,
    Setting,
)
from headgate.sync.connections import Connection

HANDOVER: Final = "HEADGATE_SERVE"
"""Where the parent process leaves the settings for the processes that it starts."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a server process needs to know."""

    home: str
    store: Secret
    warehouse: str
    openings: Openings = Openings()
    """The places (the warehouse among them) and hosts that tenants may name."""
    host: str = HOST.default
    port: int = PORT.default
    workers: int = WORKERS.default
    dev: bool = DEV.default
    service_admins: frozenset[str] = frozenset()
    oidc: tuple[Oidc, ...] = ()
    connections: dict[str, Connection] = {}
    """The systems whose policies are synchronised, by name."""
    worker: bool = WORKER.default
    """Whether the server starts a worker of its own."""
    spark_master: str | None = None
    spark_remote: str | None = None
    spark_memory: str = SPARK_MEMORY.default
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


def load(flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Settings:
    """Put the settings together. `flags` are those that were given; None counts as not given."""
    home = Path(HOME.value(flags, environment, None))
    asked = CONFIG.value(flags, environment, None)
    file = read(Path(asked).expanduser() if asked else None, home / FILE)

    def value(setting: Setting) -> Any:
        return setting.value(flags, environment, file)

    master, remote = value(SPARK_MASTER), value(SPARK_REMOTE)
    if master and remote:
        raise IllegalArgument(
            "Spark is either at a master or behind Spark Connect",
            hint=f"give one of the two: {SPARK_MASTER.sources}; {SPARK_REMOTE.sources}",
        )
    dev, admins = value(DEV), frozenset(value(SERVICE_ADMINS))
    warehouse = value(WAREHOUSE) or str(home / "warehouse")
    places = (FOLDER.read(PLACES, place) for place in value(PLACES))
    return Settings(
        home=str(home),
        store=Secret(value(STORE) or f"sqlite:///{home}/headgate.db"),
        warehouse=warehouse,
        openings=Openings.of((warehouse, *places), value(HOSTS), value(LARGEST_DOCUMENT) * 1024 * 1024),
        host=value(HOST),
        port=value(PORT),
        workers=value(WORKERS),
        dev=dev,
        service_admins=admins | {"admin"} if dev else admins,
        oidc=distinct(file.oidc),
        connections=connections(file.sync),
        worker=value(WORKER),
        spark_master=master,
        spark_remote=remote,
        spark_memory=value(SPARK_MEMORY),
        spark_options=value(SPARK_OPTIONS),
    )
