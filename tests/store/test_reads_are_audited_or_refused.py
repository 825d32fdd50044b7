"""Reads are audited in groups a moment later; while that cannot be done, nothing is read."""

import time
from typing import Any

import pytest

from headgate.model.errors import Unavailable
from headgate.store import Store, audit
from headgate.store.audit import Event
from headgate.store.audit_buffer import AuditBuffer


def event(n: int) -> Event:
    return Event(
        metalake="lake",
        user="ann",
        action="read_table",
        type="table",
        object=f"c.s.t{n}",
        allowed=True,
        revision=1,
        details={},
    )


def kept(store: Store) -> list[Any]:
    return [found.object for found in audit.query(store, metalake="lake", limit=10_000)]


def test_events_are_written_in_order_within_a_moment(store: Store) -> None:
    buffer = AuditBuffer(store)
    for n in range(500):
        buffer.add(event(n))
    deadline = time.monotonic() + 60
    while len(kept(store)) < 500 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert kept(store) == [f"c.s.t{n}" for n in range(500)]
    buffer.close()


def test_what_waits_is_written_at_the_end(store: Store) -> None:
    buffer = AuditBuffer(store)
    buffer.add(event(1))
    buffer.close()
    assert kept(store) == ["c.s.t1"]


def test_nothing_more_is_read_while_it_cannot_be_written_and_nothing_is_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = AuditBuffer(store)
    real = audit.record_all

    def broken(*_: object) -> None:
        raise Unavailable("the disk is full")

    monkeypatch.setattr(audit, "record_all", broken)
    buffer.add(event(1))
    buffer.flush()
    with pytest.raises(Unavailable, match="cannot be written"):
        buffer.add(event(2))
    monkeypatch.setattr(audit, "record_all", real)
    buffer.flush()
    buffer.add(event(3))
    buffer.close()
    assert kept(store) == ["c.s.t1", "c.s.t3"]
