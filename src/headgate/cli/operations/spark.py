"""Spark on the caller's side: where it runs, and a catalog's tables in it, read through the server as the caller."""

import base64
import hashlib
import socket
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from headgate.cli.failure import Failure, Usage
from headgate.cli.session import Session
from headgate.model.errors import HeadgateError
from headgate.pipelines.needs import SparkWork

if TYPE_CHECKING:
    from headgate.pipelines.session import SparkSession

Master = Annotated[
    str, typer.Option("--spark-master", help="Where Spark runs: local[*], spark://…, k8s://…, yarn.")
]
Remote = Annotated[
    str | None, typer.Option("--spark-remote", help="A Spark Connect server, sc://…, instead of a master.")
]
Conf = Annotated[
    list[str] | None, typer.Option("--spark-conf", help="A setting for Spark as KEY=VALUE; may be repeated.")
]
LOCAL: Final = "local[*]"


def open_spark(
    master: str,
    remote: str | None,
    conf: list[str] | None = None,
    more: dict[str, str] | None = None,
    *,
    work: SparkWork,
) -> "SparkSession":
    """Start Spark, or connect to it, with what the work needs."""
    own: dict[str, str] = {}
    for text in conf or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise Usage(f"'{text}' is not a setting", "write --spark-conf KEY=VALUE")
        own[key] = value
    if remote is not None:
        _answers(remote)
    try:
        from headgate.pipelines.session import SparkSettings, open_session

        return open_session(
            SparkSettings(master=master, remote=remote, work=work, more={**(more or {}), **own})
        )
    except HeadgateError as error:
        raise Failure(error.message, error.hint) from None
    except Exception as error:
        raise Failure(
            f"Spark at {remote or master} does not start ({type(error).__name__})",
            "see that Java 17 is installed, and that --spark-master is right"
            if remote is None
            else "see that it serves Spark 4.1, and that --spark-remote is right",
        ) from None


def _answers(remote: str) -> None:
    """Ask for the server first: Spark's own client tries for minutes to reach one that is not there."""
    try:
        parts = urlsplit(remote)
        if parts.scheme != "sc" or not parts.hostname:
            raise Usage(f"'{remote}' is no address of Spark Connect", "write sc://host:15002")
        socket.create_connection((parts.hostname, parts.port or 15002), timeout=10).close()
    except ValueError:
        raise Usage(f"'{remote}' is no address of Spark Connect", "write sc://host:15002") from None
    except OSError as error:
        raise Failure(f"no Spark Connect server answers at {remote}", str(error)) from None


def catalog_settings(session: Session, catalog: str) -> tuple[str, dict[str, str]]:
    """A name for a catalog in Spark, and the settings that make it the server's, read as whoever is signed in.

    The name differs between callers: Spark opens a catalog once and keeps who opened it.
    """
    metalake = session.in_metalake()[1]
    caller = f"{session.url}\0{metalake}\0{catalog}\0{session.token}\0{session.login}"
    name = f"headgate_{hashlib.sha256(caller.encode()).hexdigest()[:12]}"
    prefix = f"spark.sql.catalog.{name}"
    settings: dict[str, Any] = {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "rest",
        f"{prefix}.uri": f"{session.address}/iceberg",
        f"{prefix}.warehouse": f"{metalake}.{catalog}",
        f"{prefix}.cache-enabled": "false",
        f"{prefix}.header.X-Iceberg-Access-Delegation": "vended-credentials",
    }
    if session.token:
        settings[f"{prefix}.token"] = session.token
    elif session.login:
        basic = base64.b64encode(f"{session.login}:".encode()).decode()
        settings[f"{prefix}.header.Authorization"] = f"Basic {basic}"
    return name, settings
