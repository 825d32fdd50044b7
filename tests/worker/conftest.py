"""An empty store on either database, and a clock that tests turn."""

from collections.abc import Iterator

import pytest

from headgate.store import Store, ledger
from tests.worker.times import Clock


@pytest.fixture
def book(store_url: str) -> Iterator[Store]:
    store = Store(store_url)
    store.prepare()
    yield store
    store.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The store's clock, which the test moves forward."""
    clock = Clock(ledger.clock)
    monkeypatch.setattr(ledger, "clock", clock)
    return clock
