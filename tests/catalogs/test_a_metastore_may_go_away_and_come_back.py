"""A Hive Metastore that stops, hangs or comes back: who asks hears of it in time, with its name, and nothing has to be restarted."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.catalogs.hive_metastore import wire as wires
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.model import tables as t
from headgate.model.errors import ConnectionFailed, OutcomeUnknown
from headgate.store import Store
from tests.catalogs import hive_server
from tests.catalogs.any_metastore import AnyMetastore, BreakingWire, any_metastore
from tests.catalogs.suite import Opened, table

pytestmark = pytest.mark.real

GONE = "Hive Metastore of catalog 'hms' (does not answer|failed to answer)"


@pytest.fixture
def wire(hive_metastore: int) -> Iterator[BreakingWire]:
    hive_server.emptied(hive_metastore)
    found = BreakingWire(hive_metastore)
    yield found
    found.cut()
    hive_server.emptied(hive_metastore)


@pytest.fixture
def other(hive_metastore: int) -> Iterator[BreakingWire]:
    found = BreakingWire(hive_metastore)
    yield found
    found.cut()


@pytest.fixture
def silent() -> Iterator[AnyMetastore]:
    with any_metastore() as found:
        yield found


class Metastores:
    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.made: list[PointerCatalog] = []

    def open(self, *urls: str) -> PointerCatalog:
        declared = {"metastore.uris": ",".join(urls), "warehouse": f"file://{self.folder}/tables"}
        found = hive_server.opened_catalog("iceberg", self.store, declared, self.folder)
        assert isinstance(found, PointerCatalog)
        self.made.append(found)
        return found


@pytest.fixture
def metastores(store: Store, tmp_path: Path) -> Iterator[Metastores]:
    found = Metastores(store, tmp_path)
    yield found
    for catalog in found.made:
        catalog.close()


def back(catalog: PointerCatalog) -> list[str]:
    """What is answered once the metastore is there again, and how soon."""
    deadline = time.monotonic() + 5
    while True:
        try:
            return catalog.schemas(())
        except ConnectionFailed:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_a_metastore_that_was_restarted_is_asked_as_if_nothing_had_been(
    metastores: Metastores, wire: BreakingWire
) -> None:
    catalog = metastores.open(wire.url)
    assert "default" in catalog.schemas(())
    wire.cut()
    wire.mend()
    assert "default" in catalog.schemas(()), "the connection that was kept is gone, and nobody hears of it"
    wire.cut()
    wire.mend()
    catalog.create_schema(("s",), None, {})
    assert "s" in catalog.schemas(())


def test_one_that_is_gone_is_named_at_once_and_comes_back_by_itself(
    metastores: Metastores, wire: BreakingWire
) -> None:
    catalog = metastores.open(wire.url)
    catalog.create_schema(("s",), None, {})
    wire.cut()
    started = time.monotonic()
    for _ in range(5):
        with pytest.raises(ConnectionFailed, match=GONE):
            catalog.schemas(())
    assert time.monotonic() - started < 5
    wire.mend()
    assert "s" in back(catalog)


def test_one_that_hangs_is_given_up_in_time(
    metastores: Metastores, wire: BreakingWire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wires, "READING", 1.5)
    catalog = metastores.open(wire.url)
    catalog.test()
    wire.silent = True
    started = time.monotonic()
    with pytest.raises(ConnectionFailed, match=GONE):
        catalog.schemas(())
    assert time.monotonic() - started < 6
    wire.silent = False
    assert "default" in back(catalog)


def test_the_next_address_is_asked_where_one_does_not_answer(
    metastores: Metastores,
    wire: BreakingWire,
    other: BreakingWire,
    silent: AnyMetastore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wires, "READING", 1.5)
    catalog = metastores.open(wire.url, other.url)
    catalog.create_schema(("s",), None, {})
    wire.cut()
    assert "s" in catalog.schemas(()), "nobody hears of it"
    other.cut()
    wire.mend()
    assert "s" in back(catalog)
    hung = metastores.open(silent.url, wire.url)
    assert "s" in hung.schemas(())
    asked = len(silent.asked)
    assert "s" in hung.schemas(())
    assert len(silent.asked) == asked, "the address that answered is asked first from now on"


def test_a_commit_whose_answer_is_lost_on_the_way_has_landed_or_is_not_known_to_have(
    metastores: Metastores, wire: BreakingWire, store: Store
) -> None:
    catalog = metastores.open(wire.url)
    catalog.create_schema(("s",), None, {})
    here = Opened(catalog, store)
    at = here.create(table(("a", "integer")))
    wire.lose = b"alter_table_with_environment_context"
    try:
        here.alter(at, t.AddColumn(("b",), "string"))
    except OutcomeUnknown:
        """The metastore was still at it."""
    back(catalog)
    deadline = time.monotonic() + 5
    while list(catalog.load_table(at).fields) != ["a", "b"]:
        assert time.monotonic() < deadline, "and its document is there"
        time.sleep(0.1)
    here.alter(at, t.AddColumn(("c",), "string"))
    assert list(catalog.load_table(at).fields) == ["a", "b", "c"]


def test_a_change_is_not_sent_twice(metastores: Metastores, wire: BreakingWire) -> None:
    catalog = metastores.open(wire.url)
    catalog.test()
    wire.lose = b"create_database"
    with pytest.raises(ConnectionFailed, match=GONE):
        catalog.create_schema(("s",), None, {})
    assert "s" in back(catalog), "it was made the first time"
