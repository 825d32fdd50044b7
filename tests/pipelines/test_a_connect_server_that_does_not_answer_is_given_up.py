"""Promise: nobody waits longer than said for a Spark Connect server that takes connections and does not answer."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from headgate.pipelines import session
from headgate.pipelines.session import SparkSettings, is_alive, open_session

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(60),
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning"
    ),
]


@pytest.fixture
def mute() -> Iterator[str]:
    """The address of a server that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"sc://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENING", "ANSWERING", "LEAVING"):
        monkeypatch.setattr(session, name, 1.0)


def test_a_session_is_not_waited_for_without_end(mute: str) -> None:
    pytest.importorskip("pyspark.sql.connect")
    with pytest.raises(TimeoutError, match="Spark Connect does not answer within 1 s"):
        open_session(SparkSettings(remote=mute))
    ends = time.monotonic() + 10
    while any(thread.name == session.WAITING for thread in threading.enumerate()):
        assert time.monotonic() < ends, "what waited for it ends as well"
        time.sleep(0.05)


def test_a_session_whose_server_fell_silent_is_not_alive(mute: str) -> None:
    from pyspark.sql import SparkSession

    opened = SparkSession.builder.remote(mute).create()
    assert not is_alive(opened)
    session.close_session(opened)
