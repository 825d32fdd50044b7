"""Jars of other people's Java programs: a pom of ours names them, Maven resolves them."""

import hashlib
from functools import partial
from pathlib import Path
from typing import Final

from tests.peers import CACHE, Missing, Peer, program, run, whole

_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_HERE: Final = Path(__file__).parent

NAMES: Final = {
    _HERE / "hive" / "pom.xml": "Hive Metastore 3",
    _HERE / "hive" / "four" / "pom.xml": "Hive Metastore 4",
    _HERE / "kafka" / "pom.xml": "Kafka",
    _HERE / "mysql" / "pom.xml": "MySQL 8",
    _HERE / "nessie" / "pom.xml": "Nessie",
    _HERE / "ranger" / "pom.xml": "Ranger's policy engine",
    _HERE / "rck" / "pom.xml": "Iceberg's compatibility kit",
}


def peers() -> list[Peer]:
    return [_peer(pom) for pom in NAMES]


def jars(pom: Path) -> Path:
    """The folder with everything that the pom names."""
    return _peer(pom).found()


def java(name: str = "java") -> str:
    return program(name, "install a JDK 17")


def _peer(pom: Path) -> Peer:
    wanted = hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    place = CACHE / "maven" / f"{pom.parent.name}-{wanted}"
    return Peer(NAMES[pom], place, lambda place: whole(place, partial(_resolve, pom)))


def _resolve(pom: Path, folder: Path) -> None:
    maven = program("mvn", "install Maven")
    run(
        [maven, "-B", "-q", "-f", pom, _COPY, "-DincludeScope=runtime", f"-DoutputDirectory={folder}"],
        timeout=900,
    )
    if not folder.is_dir():
        raise Missing(f"Maven copied nothing for {pom.parent.name}")
