"""`headgate sync diff --spark`: two snapshots of the server, compared on Spark by the command itself."""

import socket
from typing import Any
from urllib.parse import urlsplit

import msgspec

from headgate.cli.failure import Failure, Usage
from headgate.cli.session import Session
from headgate.cli.sync_requests import send
from headgate.model.errors import HeadgateError


def compared(session: Session, body: dict[str, Any], master: str | None, remote: str | None) -> Any:
    """The difference as the server would tell it. The server only reads the two systems: Spark runs here, or on a cluster."""
    try:
        from pyspark.errors import PySparkException

        from headgate.pipelines.errors import causes_of
        from headgate.pipelines.session import SparkSettings, bare_session
        from headgate.sync.at_scale import on_spark
    except ModuleNotFoundError:
        raise Failure("Spark is not installed here", "install headgate[spark]") from None
    from headgate.sync.names import PrincipalMap
    from headgate.sync.operations import compare
    from headgate.sync.snapshot import PolicySnapshot
    from headgate.sync.words import shown

    try:
        if remote is not None:
            _answers(remote)
        names = PrincipalMap.same_names() if body["names"] is None else PrincipalMap(body["names"])
        source, target = (
            PolicySnapshot.read(msgspec.json.encode(told))
            for told in (
                body["snapshot"] if "snapshot" in body else _fetched(session, body["source"]),
                _fetched(session, body["target"]),
            )
        )
        # Nothing but facts is compared, so no jar has to be fetched first.
        spark = bare_session(SparkSettings(master=master or "local[*]", remote=remote, packages=()))
        try:
            return shown(compare(source, target, names, on_spark(spark)))
        finally:
            spark.stop()
    except HeadgateError as error:
        raise Failure(error.message, error.hint) from None
    except PySparkException as error:
        told = ", ".join(causes_of(error))
        raise Failure(f"Spark could not compare them ({told})", "look into the log of Spark") from error


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


def _fetched(session: Session, name: str) -> Any:
    return send(session, "fetch", {"source": name}, f"reading {name}")["snapshot"]
