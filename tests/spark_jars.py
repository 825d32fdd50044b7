"""The jars that Spark sessions ask for by name: resolved once, so that no two tests resolve them at the same time."""

import hashlib
import sys
from pathlib import Path
from typing import Final

from headgate.pipelines.needs import AWS, HADOOP_AWS, RUNTIME, SQLITE
from tests.peers import Missing, Peer, run

PACKAGES: Final = (RUNTIME, SQLITE, AWS, HADOOP_AWS)
_IVY: Final = Path.home() / ".ivy2.5.2"
"""Where Spark 4.1 keeps what it resolved."""

_RESOLVE: Final = """
from headgate.pipelines.needs import SparkWork
from headgate.pipelines.session import SparkSettings, open_session
work = SparkWork(jobs=True, tables=("s3://b",), files=("s3://b",))
open_session(SparkSettings(master="local[1]", driver_memory="512m", work=work)).stop()
"""


def _fetch(mark: Path) -> None:
    run([sys.executable, "-c", _RESOLVE], timeout=900)
    if not _IVY.is_dir():
        raise Missing(f"Spark keeps its jars elsewhere than in {_IVY}")
    mark.touch()


_DIGEST: Final = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:16]

PEER: Final = Peer("Spark's jars", _IVY / f"headgate-{_DIGEST}", _fetch)
