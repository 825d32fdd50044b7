"""`headgate sync diff --spark`: two snapshots of the server, compared on Spark by the command itself."""

from typing import Any

import msgspec

from headgate.cli.failure import Failure
from headgate.cli.session import Session
from headgate.cli.sync_requests import send
from headgate.model.errors import HeadgateError


def compared(session: Session, body: dict[str, Any], master: str | None, remote: str | None) -> Any:
    """The difference as the server would tell it. The server only reads the two systems: Spark runs here, or on a cluster."""
    try:
        from headgate.pipelines.session import SparkSettings, open_session
        from headgate.sync.at_scale import on_spark
    except ModuleNotFoundError:
        raise Failure("Spark is not installed here", "install headgate[spark]") from None
    from headgate.sync.names import PrincipalMap
    from headgate.sync.operations import compare
    from headgate.sync.snapshot import PolicySnapshot
    from headgate.sync.words import shown

    try:
        names = PrincipalMap.same_names() if body["names"] is None else PrincipalMap(body["names"])
        source, target = (
            PolicySnapshot.read(
                msgspec.json.encode(send(session, "fetch", {"source": name}, f"reading {name}")["snapshot"])
            )
            for name in (body["source"], body["target"])
        )
        spark = open_session(SparkSettings(master=master or "local[*]", remote=remote))
        try:
            return shown(compare(source, target, names, on_spark(spark)))
        finally:
            spark.stop()
    except HeadgateError as error:
        raise Failure(error.message, error.hint) from None
