"""Places and hosts: compared as they are written, segment by segment; nothing is open unless it is listed."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.catalogs.iceberg.storage import GuardedIO, Storage
from headgate.catalogs.openings import Openings
from headgate.catalogs.rest import RestIceberg
from headgate.model.errors import Forbidden, IllegalArgument
from headgate.store import Store
from tests.openings import opened

SECRET = "not for you"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file beside the place that is open, with links to it and its folder inside of the place."""
    (tmp_path / "open").mkdir()
    (tmp_path / "openly").mkdir()
    secret = tmp_path / "openly" / "secret.json"
    secret.write_text(json.dumps({"a": SECRET}))
    (tmp_path / "open" / "link.json").symlink_to(secret)
    (tmp_path / "open" / "folder").symlink_to(tmp_path / "openly")
    return secret


def test_no_way_to_storage_leads_out_of_the_places(tmp_path: Path, outside: Path) -> None:
    storage = Storage({}, opened(tmp_path / "open"))
    inner = tmp_path / "open"
    tricks = [
        str(outside),
        f"file://{outside}",
        f"file:{outside}",
        f"{inner}/../openly/secret.json",
        f"file://{inner}/link.json",
        f"{inner}/folder/secret.json",
        f"{inner}/./link.json",
        f"{inner}//link.json",
        f"FILE://{outside}",
        f"file://localhost{outside}",
        "s3://bucket/key",
        "gs://bucket/key",
        "hdfs://127.0.0.1:1/key",
        "secret.json",
        "",
    ]
    for trick in tricks:
        for act in (
            storage.read,
            storage.delete,
            storage.delete_folder,
            storage.files,
            storage.probe,
            lambda path: storage.write(path, {}),
            lambda path: storage.io.new_input(path).open().read(),
            lambda path: storage.io.new_output(path).exists(),
        ):
            with pytest.raises(Forbidden) as refused:
                act(trick)
            assert str(tmp_path) not in str(refused.value), "a path may come out of a document"
    assert outside.read_text()


def test_many_files_are_looked_at_as_each_would_be(tmp_path: Path, outside: Path) -> None:
    openings = opened(tmp_path / "open", "s3://b/t")
    inner = tmp_path / "open"
    openings.check_files([f"{inner}/a", f"file://{inner}/b", f"{inner}/new/c", "s3a://b/t/d/e"])
    for foreign in (
        str(outside),
        f"{inner}/link.json",
        f"{inner}/folder/secret.json",
        f"{inner}/..",
        "s3://b/t2/e",
        "s3://b/t/..",
    ):
        with pytest.raises(Forbidden):
            openings.check_files([f"{inner}/a", foreign, f"{inner}/b"])


def test_a_location_means_the_file_that_was_compared(tmp_path: Path) -> None:
    """A parser of URIs would open `…/t` for `…/t?x`, which is another folder to whoever compares places."""
    storage = Storage({}, opened(tmp_path))
    (tmp_path / "t").mkdir()
    for odd in ("t?x", "t#x", "t;x"):
        storage.write(f"file://{tmp_path}/{odd}/a.json", {"odd": odd})
        assert (tmp_path / odd / "a.json").exists()
        assert storage.read(f"{tmp_path}/{odd}/a.json") == {"odd": odd}
    assert list((tmp_path / "t").iterdir()) == []
    assert GuardedIO.parse_location("s3a://b/k?versionId=1#x") == ("s3", "b", "b/k?versionId=1#x")


def test_what_was_read_while_more_was_open_is_forgotten(tmp_path: Path) -> None:
    path = str(tmp_path / "a" / "doc.json")
    Storage({}, opened(tmp_path)).write(path, {"kept": 1})
    assert Storage({}, opened(tmp_path)).read(path) == {"kept": 1}
    with pytest.raises(Forbidden):
        Storage({}, opened(tmp_path / "b")).read(path)


_part = st.sampled_from(["open", "openly", "..", ".", "", "folder", "a", "x?y", "%2e%2e", "open\n"])


@given(parts=st.lists(_part, max_size=6), start=st.sampled_from(["", "file://", "file:"]))
def test_whatever_a_path_is_made_of_it_stays_inside(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], start: str
) -> None:
    root = tmp_path_factory.getbasetemp() / "places"
    (root / "open").mkdir(parents=True, exist_ok=True)
    (root / "openly").mkdir(exist_ok=True)
    if not (root / "open" / "folder").exists():
        (root / "open" / "folder").symlink_to(root / "openly")
    path = "/".join([str(root), *parts])
    real = os.path.realpath(path)
    if opened(root / "open").holds(start + path):
        assert real == str(root / "open") or real.startswith(f"{root}/open/")
    s3 = "/".join(["s3://b", *parts])
    if opened("s3://b/open").holds(s3):
        assert s3.startswith("s3://b/open")
        assert not s3.startswith("s3://b/openly")


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1",
        "http://127.0.0.1:9000/x",
        "http://localhost:80",
        "http://[::1]:9000",
        "http://0.0.0.0",
        "http://169.254.169.254/latest/meta-data",
        "http://[fe80::1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://example.com@127.0.0.1/",
        "http://example.com:443@evil.example/",
        "http://example.com.evil.example/",
        "http://sub.example.com/",
        "http://example.com:9001/",
        "http://example.com\\@127.0.0.1/",
        "http://exa mple.com/",
        "http://example.com\n.evil/",
        "//example.com:9000/",
        "example.com:9000",
        "http://[::1",
        "",
    ],
)
def test_no_address_is_reached_that_was_not_listed(address: str, store: Store) -> None:
    some = opened(hosts=("example.com:9000",))
    for openings in (Openings(), some):
        assert not openings.reaches(address)
        with pytest.raises(IllegalArgument, match="has not opened") as refused:
            openings.check_url("property 'uri'", address)
        assert "'hosts'" in str(refused.value)
    with pytest.raises(IllegalArgument):
        RestIceberg(store, "lake/fed", {"uri": address}, some)
    with pytest.raises(IllegalArgument):
        RestIceberg(
            store,
            "lake/fed",
            {"uri": "http://example.com:9000", "oauth2-server-uri": address or "x"},
            some,
        )


def test_a_listed_host_is_reached_at_its_port_or_at_any() -> None:
    openings = opened(
        hosts=("S3.Example:9000", "any.example", "127.0.0.1", "[::1]:8181", "fe80::1", "tls.example:443")
    )
    for address in (
        "https://s3.example:9000/x",
        "http://ANY.example",
        "http://any.example:77/y?z",
        "http://127.0.0.1:5",
        "http://[::1]:8181/api",
        "http://[fe80::1]:5",
        "https://tls.example/",
    ):
        assert openings.reaches(address), address
    for address in ("http://s3.example", "http://[::1]:8182", "http://tls.example"):
        assert not openings.reaches(address), address


@pytest.mark.parametrize(
    "entry", ["http://x", "x/y", "x:99999", "x:y", "a b", "*", "*.example", "u@x", "[::1", ""]
)
def test_an_operator_who_writes_something_else_than_a_host_is_refused(entry: str) -> None:
    with pytest.raises(IllegalArgument, match="is no host"):
        Openings.of((), [entry])


@pytest.mark.parametrize("entry", ["relative", "/", "s3://", "gs://b", "/a/../b", "https://host/x"])
def test_an_operator_who_writes_something_else_than_a_place_is_refused(entry: str) -> None:
    with pytest.raises(IllegalArgument):
        Openings.of([entry])
