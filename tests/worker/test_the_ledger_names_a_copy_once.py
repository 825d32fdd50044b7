"""Promise: whatever dies and whoever comes second, a copy is recorded once, by who holds its lease."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from headgate.store import Store, database, ledger
from headgate.store.reads.ledger import Batch, Fault, Wanted
from tests.worker.times import Clock

OVER = ledger.LEASE + timedelta(seconds=1)


def ask(book: Store, *keys: str, snapshot: int = 1, document: str = "d1", view: str = "v") -> None:
    ledger.want(
        book, 1, view, snapshot, document, [Wanted(key, b"source of " + key.encode()) for key in keys]
    )


def take(book: Store, worker: str = "a", most: int = 100) -> Batch:
    batch = ledger.take(book, worker, most)
    assert batch is not None
    return batch


def keys(batch: Batch | None) -> set[str]:
    return set() if batch is None else {one.key for one in batch.wanted}


def states(book: Store, *keys: str) -> dict[str, str]:
    return {key: entry.state for key, entry in ledger.entries(book, keys).items()}


def test_what_waits_for_one_snapshot_and_view_is_taken_together(book: Store) -> None:
    ask(book, "k1", "k2")
    ask(book, "other", view="w")
    ask(book, "k3")
    first, second = take(book, "a"), take(book, "b")
    assert (keys(first), keys(second)) == ({"k1", "k2", "k3"}, {"other"})
    assert {one.source for one in second.wanted} == {b"source of other"}
    assert ledger.take(book, "c", 100) is None
    ask(book, "k1", "k4")
    assert keys(take(book, "c", most=1)) == {"k4"}, "what is being made is not asked for again"


def test_what_waits_is_looked_for_where_it_was_seen_last(book: Store) -> None:
    ask(book, "k1", "k2", document="gone")
    ask(book, "k2", "k3", snapshot=2, document="new")
    batches = [take(book, "a"), take(book, "a")]
    assert {(b.document, b.snapshot, frozenset(keys(b))) for b in batches} == {
        ("gone", 1, frozenset({"k1"})),
        ("new", 2, frozenset({"k2", "k3"})),
    }


def test_two_workers_never_hold_the_same_copy(book: Store) -> None:
    everything = {f"k{n}" for n in range(60)}
    ask(book, *everything)

    def work(name: str) -> list[str]:
        taken: list[str] = []
        while (batch := ledger.take(book, name, 7)) is not None:
            bodies = [(one.key, f"{name} {one.key}".encode()) for one in batch.wanted]
            assert ledger.made(book, batch, bodies) == keys(batch)
            taken += keys(batch)
        return taken

    with ThreadPoolExecutor(4) as pool:
        shares = list(pool.map(work, "abcd"))
    assert sorted(key for share in shares for key in share) == sorted(everything)
    bodies = {key: entry.body for key, entry in ledger.entries(book, list(everything)).items()}
    assert bodies == {key: f"{w} {key}".encode() for w, s in zip("abcd", shares, strict=True) for key in s}


def test_a_lease_is_kept_by_beating_and_lost_by_silence(book: Store, clock: Clock) -> None:
    ask(book, "k1", "k2")
    first = take(book, "a")
    for _ in range(3):
        clock.forward(ledger.LEASE - timedelta(seconds=1))
        assert ledger.beat(book, first)
    assert ledger.take(book, "b", 100) is None
    clock.forward(OVER)
    second = take(book, "b")
    assert (keys(second), second.attempts) == ({"k1", "k2"}, 2)
    assert not ledger.beat(book, first)


def test_who_lost_the_lease_records_nothing_and_who_has_it_does(book: Store, clock: Clock) -> None:
    ask(book, "k1", "k2")
    first = take(book, "a")
    clock.forward(OVER)
    second = take(book, "b", most=1)
    taken = next(iter(keys(second)))
    kept = ({"k1", "k2"} - {taken}).pop()
    assert ledger.made(book, first, [("k1", b"of a"), ("k2", b"of a")]) == {kept}, "nobody took this one over"
    assert ledger.made(book, second, [(taken, b"of b")]) == {taken}
    assert ledger.made(book, first, [(taken, b"late, of a")]) == frozenset()
    ledger.failed(book, first, "late", Fault.INPUT)
    ledger.void(book, first)
    bodies = {key: entry.body for key, entry in ledger.entries(book, ["k1", "k2"]).items()}
    assert bodies == {kept: b"of a", taken: b"of b"}


def test_saying_made_again_answers_the_same(book: Store) -> None:
    """A worker whose connection broke does not know whether it was heard."""
    ask(book, "k")
    batch = take(book)
    assert ledger.made(book, batch, [("k", b"file 1")]) == {"k"}
    assert ledger.made(book, batch, [("k", b"file 1")]) == {"k"}
    assert ledger.made(book, batch, [("k", b"file 2")]) == frozenset()


def again(book: Store, clock: Clock, seconds: float) -> Batch:
    """Take what is not there to be taken until so many seconds have passed."""
    clock.forward(timedelta(seconds=seconds - 0.5))
    assert ledger.take(book, "a", 100) is None
    clock.forward(timedelta(seconds=1))
    return take(book)


def test_a_failed_copy_waits_longer_each_time_and_is_given_up_with_the_reason(
    book: Store, clock: Clock
) -> None:
    ask(book, "k")
    batch = take(book)
    for seconds in (1, 2, 4, 8):
        ledger.failed(book, batch, "not yet", Fault.JOB)
        batch = again(book, clock, seconds)
    assert batch.attempts == ledger.TRIES
    ledger.failed(book, batch, "why it cannot be", Fault.JOB)
    entry = ledger.entries(book, ["k"])["k"]
    assert (entry.state, entry.reason, entry.cooling) == (ledger.FAILED, "why it cannot be", True)


def test_what_was_given_up_cools_off_and_is_then_tried_anew(book: Store, clock: Clock) -> None:
    ask(book, "k")
    ledger.failed(book, take(book), "no", Fault.INPUT)
    ask(book, "k")
    assert ledger.take(book, "a", 1) is None, "still cooling"
    clock.forward(ledger.COOLING + timedelta(seconds=1))
    assert not ledger.entries(book, ["k"])["k"].cooling
    assert ledger.take(book, "a", 1) is None, "nobody asks for it any more"
    ask(book, "k")
    assert take(book).attempts == 1


def test_a_damaged_file_is_found_without_taking_others_down(book: Store, clock: Clock) -> None:
    """One of a hundred files ends every job that it is in."""
    everything = {f"k{n}" for n in range(100)}
    ask(book, *everything)
    jobs = 0
    for _ in range(100):
        clock.forward(timedelta(seconds=30))
        batch = ledger.take(book, "a", 500)
        if batch is None:
            break
        jobs += 1
        if "k42" in keys(batch):
            ledger.failed(book, batch, "damaged", Fault.JOB)
        else:
            ledger.made(book, batch, [(key, b"x") for key in keys(batch)])
    found = states(book, *everything)
    assert {key for key, state in found.items() if state != ledger.MADE} == {"k42"}
    assert found["k42"] == ledger.FAILED
    assert jobs < 40, "not each file alone"


def test_refused_input_is_told_apart_without_waiting(book: Store) -> None:
    ask(book, *(f"k{n}" for n in range(9)))
    ledger.failed(book, take(book), "one of them is outside the table", Fault.INPUT)
    while (batch := ledger.take(book, "a", 16)) is not None:
        if "k5" in keys(batch):
            ledger.failed(book, batch, "outside the table", Fault.INPUT)
        else:
            ledger.made(book, batch, [(key, b"x") for key in keys(batch)])
    assert {k for k, state in states(book, *(f"k{n}" for n in range(9))).items() if state != ledger.MADE} == {
        "k5"
    }


def test_what_is_nobodys_fault_fails_together_and_soon(book: Store, clock: Clock) -> None:
    """Without Spark each file alone would be tried in vain."""
    ask(book, *(f"k{n}" for n in range(20)))
    ledger.failed(book, take(book), "Spark does not start", Fault.AROUND)
    batch = again(book, clock, 5)
    assert len(batch.wanted) == 20
    ledger.failed(book, batch, "Spark does not start", Fault.AROUND)
    assert set(states(book, *keys(batch)).values()) == {ledger.FAILED}


def test_what_workers_die_of_is_given_up(book: Store, clock: Clock) -> None:
    ask(book, "poison", "k2")
    for attempt in range(ledger.TRIES):
        batch = ledger.take(book, f"w{attempt}", 100)
        while batch is not None and "poison" not in keys(batch):
            ledger.made(book, batch, [(key, b"x") for key in keys(batch)])
            batch = ledger.take(book, f"w{attempt}", 100)
        assert batch is not None
        clock.forward(OVER)
    assert ledger.take(book, "last", 100) is None
    assert states(book, "poison", "k2") == {"poison": ledger.FAILED, "k2": ledger.MADE}
    assert "workers ended" in (ledger.entries(book, ["poison"])["poison"].reason or "")


def test_work_that_nobody_wants_any_more_is_forgotten(book: Store) -> None:
    ask(book, "k1", "k2")
    batch = take(book)
    ledger.made(book, batch, [("k1", b"x")])
    ledger.void(book, batch)
    assert states(book, "k1", "k2") == {"k1": ledger.MADE}


@pytest.mark.parametrize("skew", [timedelta(hours=-5), timedelta(hours=5)])
def test_no_process_with_a_wrong_clock_takes_or_hides_work(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, skew: timedelta
) -> None:
    """Times of leases and waits are the store's own. On SQLite all processes have the clock of one machine."""
    book = Store(postgres_url)
    book.prepare()
    ask(book, "k1")
    held = take(book, "right")

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:
            return datetime.now(UTC) + skew

    monkeypatch.setattr(database, "datetime", Wrong)
    assert database.now()[:13] != database.stored_time(datetime.now(UTC))[:13]
    assert ledger.take(book, "wrong", 1) is None, "a live lease is not taken"
    ask(book, "k2")
    monkeypatch.undo()
    assert keys(take(book, "right")) == {"k2"}, "what it asked for is due at once"
    assert ledger.beat(book, held)
    book.close()
