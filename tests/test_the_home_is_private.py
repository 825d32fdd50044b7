"""Nobody but the server's own user reads what lies in its folder, also if the folder was there before."""

import os
import stat
from pathlib import Path

import pytest

from headgate.home import keep_private
from headgate.model.errors import IllegalArgument
from headgate.settings.server import load
from tests.real.server import running

FIELDS = [{"id": 1, "name": "a", "type": "int", "required": False}]


def open_to_others(folder: Path) -> list[str]:
    found = [folder, *folder.rglob("*")]
    return [str(path) for path in found if not path.is_symlink() and path.stat().st_mode & 0o077]


@pytest.fixture(autouse=True)
def mask() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)


def lived_in(home: Path) -> None:
    """A folder as it was left by a version that did not care."""
    (home / "index" / "ab").mkdir(parents=True)
    (home / "warehouse" / "lake").mkdir(parents=True)
    for name in ("headgate.db", "headgate.toml", "index/ab/segment", "warehouse/lake/data.parquet", "log"):
        (home / name).write_text("")
        (home / name).chmod(0o644)
    for folder in (home, *home.rglob("*")):
        if folder.is_dir():
            folder.chmod(0o755)


def test_a_folder_that_was_open_is_closed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    lived_in(home)
    outside = tmp_path / "theirs"
    outside.write_text("")
    outside.chmod(0o644)
    (home / "link").symlink_to(outside)
    keep_private(load({"home": str(home)}, {}))
    assert open_to_others(home) == []
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644, "what a link leads to is not ours"
    (home / "new").write_text("")
    (home / "folder").mkdir()
    assert open_to_others(home) == [], "what is written from now on is private"


def test_a_store_elsewhere_is_closed_too(tmp_path: Path) -> None:
    store = tmp_path / "elsewhere.db"
    for end in ("", "-wal", "-shm"):
        Path(f"{store}{end}").write_text("")
        Path(f"{store}{end}").chmod(0o666)
    keep_private(load({"home": str(tmp_path / "home"), "store": f"sqlite:///{store}"}, {}))
    assert [stat.S_IMODE(Path(f"{store}{end}").stat().st_mode) for end in ("", "-wal", "-shm")] == [0o600] * 3


def test_what_cannot_be_closed_keeps_the_server_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    lived_in(home)

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", denied)
    with pytest.raises(IllegalArgument, match="can be read by others"):
        keep_private(load({"home": str(home)}, {}))


@pytest.mark.slow
def test_everything_that_a_server_writes_is_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "headgate.toml").write_text("")
    (home / "headgate.db").touch(0o644)
    with running(home, "--dev", "--no-worker") as server:
        server.must("admin", "POST", "/api/metalakes", {"name": "lake"})
        catalog = {"name": "c", "type": "relational", "provider": "lakehouse-iceberg"}
        server.must("admin", "POST", "/api/metalakes/lake/catalogs", catalog)
        server.must("admin", "POST", "/iceberg/v1/lake.c/namespaces", {"namespace": ["s"]})
        table = {"name": "t", "schema": {"type": "struct", "fields": FIELDS}}
        server.must("admin", "POST", "/iceberg/v1/lake.c/namespaces/s/tables", table)
        server.must("admin", "POST", "/iceberg/v1/lake.c/namespaces/s/tables/t/plan", {})
        assert len(list(home.rglob("*.metadata.json"))) == 1
        assert open_to_others(home) == []
    assert open_to_others(home) == []
