"""Promise: who holds all that the server gave, and opens every path in it, finds no value outside their lens."""

from typing import Any

import pytest

from headgate.planning import PlanRequest
from headgate.steward import Permit
from headgate.steward.metadata.tables import place_of
from headgate.steward.reads.copies import governed
from headgate.steward.reads.making import TableReads
from headgate.steward.reads.planning.answering import Answering
from headgate.steward.reads.table_read import GovernedRead, TableRead
from tests.leaks.canaries import Forbidden
from tests.leaks.files import laid_open
from tests.leaks.hostile import HostileReader, Loot, local
from tests.leaks.hunt import Case, Hunt
from tests.leaks.marks import HUNT
from tests.leaks.truth import Person, names

pytestmark = HUNT


def guesses(case: Case, person: Person) -> list[str]:
    """Names that the person may have heard of: of a hidden column, of a masked one, of one that never was."""
    view = case.seen_by(person)
    assert view is not None
    every = {c.name for c in case.table.columns}
    hidden = sorted(every - set(names(view.columns)))[:2]
    masked = sorted(case.table.column(path[0]).name for path in view.masks)[:1]
    return [*hidden, *masked, "zqneverthere"]


def hunted(hunt: Hunt, case: Case, person: Person) -> Loot:
    hunt.ready(case, person)
    forbidden = case.forbidden_for(person)
    return HostileReader(hunt.ask_as(person), case.table.name, guesses(case, person), forbidden).hunt()


def test_nothing_outside_the_lens_in_answers_and_files(hunt: Hunt, case: Case) -> None:
    for person in hunt.people:
        view = case.seen_by(person)
        assert view is not None
        if view.whole:
            continue
        loot = hunted(hunt, case, person)
        where = f"LEAK_SEED={hunt.seed}, {case.table.name} as {person.name}"
        assert loot.leaks == [], where
        # The reader was given what there is to see, and the search went through it.
        assert {path.suffix for path in loot.files} >= {".json", ".avro"}, where
        heap = b"".join(laid_open(path).bytes for path in loot.files)
        shown = Forbidden.of(case.table.ever, case.forbidden_for(person).values)
        visible = {
            str(row[c.name]) for row in case.rows_for(person) for c in view.columns if c.type == "string"
        }
        assert visible & set(shown.words) <= set(shown.in_bytes(heap)), where


def test_no_cell_is_in_the_logs(hunt: Hunt, case: Case) -> None:
    for person in hunt.people:
        hunted(hunt, case, person)
    cells = Forbidden.of(case.table.ever, names(case.table.columns))
    assert cells.in_bytes(hunt.server.log.read_bytes() + hunt.server.out.read_bytes()) == []


def see_all(patch: pytest.MonkeyPatch) -> None:
    """Nobody is restricted."""

    def whole(self: TableReads, permit: Permit) -> TableRead:
        adapter = self.tables.documents_of(permit)
        return TableRead(permit.node.id, adapter.document(place_of(permit)), adapter)

    patch.setattr(TableReads, "of", whole)


def plan_originals(patch: pytest.MonkeyPatch) -> None:
    """Files of the table itself are planned."""

    def veiled(self: Answering, permit: Permit, read: GovernedRead, request: PlanRequest, **_: object) -> Any:
        return self._rendered(permit, read, self._direct(read, request))

    patch.setattr(Answering, "_governed", veiled)


def tell_the_table(patch: pytest.MonkeyPatch) -> None:
    """The table's own document instead of the governed one."""
    patch.setattr(governed.Governed, "document", lambda self, read, *_: read.document)


BREAKS = {"all is seen": see_all, "plans": plan_originals, "loads": tell_the_table}


class TestTheHuntFindsLeaks:
    """The same search where something is broken; a hunt that finds nothing there would find nothing anywhere."""

    def test_in_the_table_itself(self, hunt: Hunt, case: Case) -> None:
        told = hunt.server.ask(
            hunt.tokens["admin"],
            "GET",
            "/iceberg/v1/lake.cat/namespaces/{}/tables/{}".format(*case.table.name.split(".")),
        ).json()
        folder = local(told["metadata"]["location"])
        opened = [
            laid_open(path) for path in folder.rglob("*") if path.is_file() and "_headgate" not in path.parts
        ]
        every = Forbidden.of(case.table.ever, ())
        found = set(every.in_bytes(b"\n".join(o.bytes for o in opened)))
        assert every.words <= found, "every name and every text"
        assert {str(n) for n in every.numbers} <= found, "every number of eight bytes"
        values = {value for o in opened for value in o.values}
        assert {v for v in every.values if type(v) is not str} - values == set()
        assert any(o.blooms for o in opened)

    @pytest.mark.parametrize("broken", sorted(BREAKS))
    def test_in_a_server_that_is_broken(
        self, hunt: Hunt, case: Case, broken: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        BREAKS[broken](monkeypatch)
        leaks: list[str] = []
        with hunt.another() as ask_as:
            for person in hunt.people:
                view = case.seen_by(person)
                if view is not None and not view.whole:
                    forbidden = case.forbidden_for(person)
                    leaks += HostileReader(ask_as(person), case.table.name, [], forbidden).hunt().leaks
        assert leaks
