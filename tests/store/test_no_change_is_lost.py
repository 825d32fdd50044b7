"""Two writers never lose a change, ids are never used again, and the journal has everything."""

import threading

import pytest

from headgate.decide import Authority
from headgate.model.errors import AlreadyExists, Conflict, HeadgateError
from headgate.model.objects import ObjectType
from headgate.model.principals import PrincipalKind
from headgate.store import Store, access, objects, snapshot


@pytest.fixture
def prepared(store_url: str) -> str:
    store = Store(store_url)
    store.prepare()
    store.close()
    return store_url


def metalake(store: Store, name: str) -> int:
    with store.write("ann", "test") as tx:
        return objects.create(tx, 0, 0, ObjectType.METALAKE, name)


def test_an_id_is_never_used_again(prepared: str) -> None:
    store = Store(prepared)
    first = metalake(store, "lake")
    with store.write("ann", "test") as tx:
        user = access.add_principal(tx, first, PrincipalKind.USER, "ann")
    with store.write("ann", "test") as tx:
        objects.drop(tx, first)
    again = metalake(store, "lake")
    with store.write("ann", "test") as tx:
        other = access.add_principal(tx, again, PrincipalKind.USER, "ann")
    assert again > first
    assert other > user
    store.close()


def test_of_two_changes_to_the_same_object_exactly_one_is_told_of_a_conflict(prepared: str) -> None:
    stores = [Store(prepared), Store(prepared)]
    id = metalake(stores[0], "lake")
    with stores[0].read() as read:
        before = objects.present(read, id)
    together = threading.Barrier(2)
    ends: list[HeadgateError | None] = []

    def change(store: Store, comment: str) -> None:
        together.wait()
        try:
            with store.write("ann", "test") as tx:
                objects.alter(tx, before, comment=comment)
            ends.append(None)
        except HeadgateError as error:
            ends.append(error)

    writers = [threading.Thread(target=change, args=(s, f"by {n}")) for n, s in enumerate(stores)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(type(end) for end in ends if end) == [Conflict]
    assert len(ends) == 2
    with stores[0].read() as read:
        after = objects.present(read, id)
    assert after.version == before.version + 1
    assert after.comment in ("by 0", "by 1")
    assert stores[1].revision() == 2
    for store in stores:
        store.close()


def test_writers_of_two_processes_take_turns_and_every_revision_is_there(prepared: str) -> None:
    stores = [Store(prepared), Store(prepared)]

    def make(number: int, store: Store) -> None:
        for n in range(10):
            metalake(store, f"lake-{number}-{n}")

    writers = [threading.Thread(target=make, args=pair) for pair in enumerate(stores)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    entries = stores[0].changes(0, 20)
    assert entries is not None
    assert [revision for revision, _ in entries] == list(range(1, 21))
    at, everything = snapshot.everything(stores[1])
    replayed = Authority(0).applied((c for _, changes in entries for c in changes), 20)
    assert at == 20
    assert replayed == Authority(0).applied(everything, at)
    for store in stores:
        store.close()


def test_a_change_that_fails_leaves_nothing(prepared: str) -> None:
    store = Store(prepared)
    metalake(store, "lake")

    def make_two() -> None:
        with store.write("ann", "test") as tx:
            objects.create(tx, 0, 0, ObjectType.METALAKE, "other")
            objects.create(tx, 0, 0, ObjectType.METALAKE, "lake")

    with pytest.raises(AlreadyExists):
        make_two()
    assert store.revision() == 1
    with store.read() as read:
        assert objects.find(read, 0, ObjectType.METALAKE, "other") is None
    assert store.changes(0, 2) is None
    store.close()
