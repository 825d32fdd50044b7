"""What the tests run against is fetched in one place, before they start."""

import re
from pathlib import Path

import pytest

from tests import peers
from tests.peers import ROOT, Missing, Peer, whole

_FETCHING = re.compile(
    r"apt-get|\bmvn\b|copy-dependencies|pip\", \"install|\"go\",|go install|urlopen|--with\b"
)
_MAY = {"peers.py", "maven.py", "minio.py", "environments.py", "spark_jars.py", "test_peers.py"}


def test_no_test_fetches_anything_by_itself() -> None:
    files = [f for f in (ROOT / "tests").rglob("*.py") if not (f.parent == ROOT / "tests" and f.name in _MAY)]
    found = [f"{f.relative_to(ROOT)}: {m[0]}" for f in files for m in _FETCHING.finditer(f.read_text())]
    assert found == []


def test_every_pom_is_fetched_before_the_tests_start() -> None:
    from tests.maven import NAMES

    assert set((ROOT / "tests").rglob("pom.xml")) == NAMES.keys()


def test_a_hiccup_of_a_registry_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PAUSE", 0.0)
    tries: list[int] = []

    def fetch(place: Path) -> None:
        tries.append(len(tries))
        if len(tries) < peers.TRIES:
            raise Missing("the registry closed the connection")
        place.touch()

    peer = Peer("a program", tmp_path / "program", fetch)
    assert peers.fetch(peer) is None
    assert peer.found() == tmp_path / "program"
    assert len(tries) == peers.TRIES


def test_what_cannot_be_fetched_is_told_in_the_words_of_who_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "PAUSE", 0.0)

    def fetch(place: Path) -> None:
        peers.run(["sh", "-c", "echo 'Could not transfer artifact' >&2; exit 7"], timeout=10)

    assert peers.fetch(Peer("a program", tmp_path / "program", fetch)) is not None
    assert "Could not transfer artifact" in capsys.readouterr().err


def test_a_fetch_that_breaks_off_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    def half(made: Path) -> None:
        made.mkdir()
        (made / "one.jar").touch()
        raise Missing("the disk is full")

    peer = Peer("a program", tmp_path / "jars", lambda place: whole(place, half))
    with pytest.raises(Missing, match="disk"):
        peer.fetch(peer.place)
    assert not peer.there
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="scripts/test"):
        Peer("a program", tmp_path / "program", lambda place: None).found()
