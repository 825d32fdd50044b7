"""Once a revocation is acknowledged, no process answers from the grant that was there before."""

import threading
from collections.abc import Iterator

import pytest

from headgate.decide import Op
from headgate.model.errors import Forbidden
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity, PrincipalKind
from headgate.model.privileges import Privilege, PrivilegeBits
from headgate.steward.kernel import Kernel
from headgate.store import Store, access, objects

ANN = Identity("ann")
CATALOG = ObjectRef("lake", ObjectType.CATALOG, ("sales",))


class Pair:
    """Two kernels over one store, each with connections of its own, as two server processes have them."""

    def __init__(self, url: str) -> None:
        self.stores = [Store(url), Store(url)]
        self.stores[0].prepare()
        self.writer, self.reader = (Kernel(store) for store in self.stores)
        with self.stores[0].write("admin", "test") as tx:
            self.lake = objects.create(tx, 0, 0, ObjectType.METALAKE, "lake")
            self.catalog = objects.create(tx, self.lake, self.lake, ObjectType.CATALOG, "sales")
            self.role = objects.create(tx, self.lake, self.lake, ObjectType.ROLE, "reader")
            user = access.add_principal(tx, self.lake, PrincipalKind.USER, "ann")
            access.hold_role(tx, self.role, user, True)

    def let(self, allowed: bool) -> None:
        with self.writer.store.write("admin", "test") as tx:
            masks = PrivilegeBits(Privilege.USE_CATALOG.bit if allowed else 0)
            access.set_grants(tx, self.role, self.catalog, masks)

    def may(self) -> bool:
        try:
            self.reader.permit(ANN, Op.LOAD_CATALOG, CATALOG)
        except Forbidden:
            return False
        return True


@pytest.fixture
def pair(store_url: str) -> Iterator[Pair]:
    made = Pair(store_url)
    yield made
    for store in made.stores:
        store.close()


def test_the_other_kernel_never_answers_from_before(pair: Pair) -> None:
    for _ in range(20):
        pair.let(True)
        assert pair.may()
        pair.let(False)
        assert not pair.may()


def test_not_even_while_it_is_being_asked_all_the_time(pair: Pair) -> None:
    done = threading.Event()
    wrong: list[str] = []
    asked = [0]
    turn = [0]  # odd from when a revocation is acknowledged until the next grant begins

    def keep_asking() -> None:
        while not done.is_set():
            before = turn[0]
            if pair.may() and before % 2 == 1 and turn[0] == before:
                wrong.append("allowed after the revocation was acknowledged")
            asked[0] += 1

    pair.let(True)
    readers = [threading.Thread(target=keep_asking) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(10):
        pair.let(False)
        turn[0] += 1
        seen = asked[0]
        while asked[0] < seen + 6:
            assert any(reader.is_alive() for reader in readers)
        turn[0] += 1
        pair.let(True)
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_without_asking_the_store_for_its_revision_the_old_answer_would_be_given(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above can fail: with a counter that is kept instead of read, they would."""
    pair.let(True)
    assert pair.may()
    kept = pair.reader.store.revision()
    monkeypatch.setattr(pair.reader.store, "revision", lambda: kept)
    pair.let(False)
    assert pair.may(), "the stale answer that reading the counter prevents"
    monkeypatch.undo()
    assert not pair.may()


def test_a_request_that_asks_for_a_revision_is_not_answered_from_before_it(pair: Pair) -> None:
    pair.let(True)
    now = pair.writer.authority().revision
    assert pair.reader.authority(at_least=now).revision >= now


def test_a_reader_that_comes_late_to_compile_does_not_read_everything_again(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.reader.authority()
    pair.let(True)
    behind = pair.reader.store.revision()
    pair.let(False)
    pair.reader.authority()
    read = pair.reader.store.revision
    seen = iter([behind])
    monkeypatch.setattr(pair.reader.store, "revision", lambda: next(seen, None) or read())
    monkeypatch.setattr("headgate.store.snapshot.everything", lambda store: pytest.fail("read everything"))
    assert pair.reader.authority().revision == behind + 1
