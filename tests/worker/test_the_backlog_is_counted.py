"""Promise: the operator is told how many copies wait and for how long, of no table by name."""

from datetime import timedelta

import pytest

from headgate.store import Store, backlog, ledger
from headgate.store.reads import backlog as counting
from tests.worker.test_the_ledger_names_a_copy_once import ask, take
from tests.worker.times import Clock


def test_copies_are_counted_by_state_and_the_oldest_is_timed(
    book: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "clock", clock)
    assert backlog.measured(book) == backlog.Backlog(dict.fromkeys(backlog.STATES, 0), 0.0)
    ask(book, "k1", "k2")
    batch = take(book)
    clock.forward(timedelta(seconds=20))
    ask(book, "k3", view="w")
    found = backlog.measured(book)
    assert found.copies == {"wanted": 1, "making": 2, "made": 0, "failed": 0}
    assert 20 <= found.oldest < 35, "also what is being made is waited for"
    assert ledger.made(book, batch, [(one.key, b"made") for one in batch.wanted])
    found = backlog.measured(book)
    assert found.copies == {"wanted": 1, "making": 0, "made": 2, "failed": 0}
    assert found.oldest < 15
