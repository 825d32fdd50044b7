"""A pointer that may have been moved keeps its document: whoever lost an answer must not delete what the table lives on."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.databases.iceberg_tables import JdbcPointers
from headgate.catalogs.interface import TablePlace
from headgate.catalogs.outside.line import NoAnswer
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.model import tables as t
from headgate.model.errors import Conflict, HeadgateError, OutcomeUnknown
from headgate.store import Store
from tests.catalogs import jdbc
from tests.catalogs.suite import Opened, table

Fault = Callable[..., Any]
T = TablePlace(("s",), "t")
LOST = NoAnswer("the database does not answer")
REFUSED = Conflict("somebody else changed it", about="commit")


@pytest.fixture
def here(store: Store, tmp_path: Path) -> Iterator[Opened]:
    catalog = jdbc.opened_catalog(store, jdbc.on_sqlite(tmp_path), tmp_path)
    catalog.create_schema(("s",), None, {})
    yield Opened(catalog, store)
    catalog.close()


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes an operation of the database fail, `after` it was done or before it."""

    def fail(operation: str, error: HeadgateError, *, after: bool, times: int = 1) -> None:
        real, left = getattr(JdbcPointers, operation), [times]

        def failing(self: JdbcPointers, *sent: Any) -> Any:
            if not left[0]:
                return real(self, *sent)
            left[0] -= 1
            if after:
                real(self, *sent)
            raise error

        monkeypatch.setattr(JdbcPointers, operation, failing)

    return fail


def pointers(here: Opened) -> PointerCatalog:
    assert isinstance(here.catalog, PointerCatalog)
    return here.catalog


def files(here: Opened, at: TablePlace) -> set[str]:
    """The documents that lie beside the one that is pointed to."""
    location = pointers(here).system.load(at).location
    return {file.name for file in Path(location.removeprefix("file://")).parent.iterdir()}


@pytest.mark.parametrize("error", [LOST, REFUSED], ids=["lost", "refused when sent again"])
def test_a_change_whose_answer_is_lost_is_found_to_be_made(
    here: Opened, faults: Callable[..., None], error: HeadgateError
) -> None:
    at = here.create(table(("a", "integer")))
    faults("swap", error, after=True)
    here.alter(at, t.AddColumn(("b",), "string"))
    names = [column.name for column in here.catalog.load_table(at).definition.columns]
    assert names == ["a", "b"]


def test_a_new_table_whose_answer_is_lost_is_found_to_be_made(
    here: Opened, faults: Callable[..., None]
) -> None:
    faults("create", LOST, after=True)
    at = here.create(table(("a", "integer")))
    assert here.catalog.load_table(at).definition.columns[0].name == "a"


def test_a_change_that_somebody_went_on_from_is_found_to_be_made(
    here: Opened, faults: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = here.create(table(("a", "integer")))
    swap = JdbcPointers.swap

    def lost(self: JdbcPointers, moved: Any) -> None:
        swap(self, moved)
        monkeypatch.setattr(JdbcPointers, "swap", swap)
        here.alter(at, t.AddColumn(("c",), "string"))
        raise LOST

    monkeypatch.setattr(JdbcPointers, "swap", lost)
    here.alter(at, t.AddColumn(("b",), "string"))
    assert [column.name for column in here.catalog.load_table(at).definition.columns] == ["a", "b", "c"]


def test_a_change_of_which_nothing_is_known_keeps_its_document(
    here: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = here.create(table(("a", "integer")))
    before, load, swap = files(here, at), JdbcPointers.load, JdbcPointers.swap

    def lost(self: JdbcPointers, *sent: Any) -> Any:
        raise LOST

    def made(self: JdbcPointers, moved: Any) -> None:
        swap(self, moved)
        monkeypatch.setattr(JdbcPointers, "load", lost)
        raise LOST

    monkeypatch.setattr(JdbcPointers, "swap", made)
    with pytest.raises(OutcomeUnknown, match="not known"):
        here.alter(at, t.AddColumn(("b",), "string"))
    monkeypatch.setattr(JdbcPointers, "load", load)
    assert len(here.catalog.load_table(at).definition.columns) == 2
    assert len(files(here, at) - before) == 1


def test_a_change_that_may_still_arrive_keeps_its_document(here: Opened, faults: Callable[..., None]) -> None:
    at = here.create(table(("a", "integer")))
    before = files(here, at)
    faults("swap", LOST, after=False)
    with pytest.raises(OutcomeUnknown, match="not known"):
        here.alter(at, t.AddColumn(("b",), "string"))
    assert len(files(here, at) - before) == 1


def test_a_change_that_is_refused_leaves_no_document(here: Opened, faults: Callable[..., None]) -> None:
    at = here.create(table(("a", "integer")))
    before = files(here, at)
    faults("swap", REFUSED, after=False, times=5)
    with pytest.raises(Conflict):
        here.alter(at, t.AddColumn(("b",), "string"))
    assert files(here, at) == before


def test_several_tables_whose_answer_is_lost_are_found_to_be_changed(
    here: Opened, faults: Callable[..., None]
) -> None:
    one = here.create(table(("a", "integer")))
    faults("swap_together", LOST, after=True)
    update = {"action": "set-properties", "updates": {"k": "v"}}
    (staged,) = pointers(here).commit_together([(one, [], [update])])
    assert staged.result.metadata["properties"]["k"] == "v"
    assert pointers(here).document(one).metadata["properties"]["k"] == "v"


def test_what_cannot_be_taken_back_is_said_to_stand(here: Opened, faults: Callable[..., None]) -> None:
    at = here.create(table(("a", "integer")))
    staged = here.catalog.alter_table(at, (t.AddColumn(("b",), "string"),))
    faults("swap", LOST, after=False)
    with pytest.raises(OutcomeUnknown, match="was changed in its own system, but not here"):
        staged.abandon()
    assert len(here.catalog.load_table(at).definition.columns) == 2

    made = here.catalog.create_table(TablePlace(("s",), "u"), table(("a", "integer")))
    faults("drop", LOST, after=False)
    with pytest.raises(OutcomeUnknown, match="was changed in its own system, but not here"):
        made.abandon()
    assert here.catalog.load_table(TablePlace(("s",), "u")).definition.columns[0].name == "a"


def test_what_others_went_on_from_is_said_to_stand(here: Opened) -> None:
    at = here.create(table(("a", "integer")))
    staged = here.catalog.alter_table(at, (t.AddColumn(("b",), "string"),))
    here.alter(at, t.AddColumn(("c",), "string"))
    with pytest.raises(OutcomeUnknown):
        staged.abandon()
    assert len(here.catalog.load_table(at).definition.columns) == 3
