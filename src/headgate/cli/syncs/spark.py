"""`headgate sync diff --spark`: two snapshots of the server, compared on Spark by the command itself."""

from typing import TYPE_CHECKING, Any

import msgspec

from headgate.cli.failure import Failure
from headgate.cli.operations.spark import LOCAL, open_spark
from headgate.cli.session import Session
from headgate.cli.syncs.requests import send
from headgate.model.errors import HeadgateError
from headgate.pipelines.needs import NO_TABLES

if TYPE_CHECKING:
    from headgate.pipelines.session import SparkSession
    from headgate.sync.snapshots.names import PrincipalMap
    from headgate.sync.snapshots.snapshot import PolicySnapshot


def compared(session: Session, body: dict[str, Any], master: str | None, remote: str | None) -> Any:
    """The difference as the server would tell it. The server only reads the two systems: Spark runs here, or on a cluster."""
    from headgate.sync.snapshots.names import PrincipalMap
    from headgate.sync.snapshots.snapshot import PolicySnapshot

    try:
        names = PrincipalMap.same_names() if body["names"] is None else PrincipalMap(body["names"])
        source, target = (
            PolicySnapshot.read(msgspec.json.encode(answer))
            for answer in (
                body["snapshot"] if "snapshot" in body else _fetched(session, body["source"]),
                _fetched(session, body["target"]),
            )
        )
    except HeadgateError as error:
        raise Failure(error.message, error.hint) from None
    spark = open_spark(master or LOCAL, remote, work=NO_TABLES)
    try:
        return _on(spark, source, target, names)
    finally:
        spark.stop()


def _on(
    spark: "SparkSession", source: "PolicySnapshot", target: "PolicySnapshot", names: "PrincipalMap"
) -> Any:
    from headgate.pipelines.errors import causes_of, is_of_spark
    from headgate.sync.comparing.at_scale import on_spark
    from headgate.sync.operations import compare
    from headgate.sync.rendering import render_difference

    try:
        return render_difference(compare(source, target, names, on_spark(spark)))
    except HeadgateError as error:
        raise Failure(error.message, error.hint) from None
    except Exception as error:
        if not is_of_spark(error):
            raise
        causes = ", ".join(causes_of(error))
        raise Failure(f"Spark could not compare them ({causes})", "look into the log of Spark") from error


def _fetched(session: Session, name: str) -> Any:
    return send(session, "fetch", {"source": name}, f"reading {name}")["snapshot"]
