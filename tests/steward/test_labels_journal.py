"""Labels reach the decision point: through the journal as from the whole state."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.decide import Authority
from headgate.model.objects import ObjectType
from headgate.store import Store, Write, labels, objects, snapshot

Step = tuple[str, int, int, int, str | None]


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("put", "put", "put", "take", "drop tag", "drop object")),
            st.integers(0, 3),
            st.integers(0, 3),
            st.integers(0, 2),
            st.sampled_from((None, "x", "y")),
        ),
        max_size=12,
    )
)
def test_labels_from_the_journal_are_those_from_scratch(steps: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        store = Store(f"sqlite:///{Path(folder)}/store.db")
        store.prepare()
        _play(store, steps)
        store.close()


def _play(store: Store, steps: list[Step]) -> None:
    with store.write("test", "plant") as tx:
        lake = objects.create(tx, 0, 0, ObjectType.METALAKE, "lake")
        make: Callable[[ObjectType, int], int] = lambda type, i: objects.create(
            tx, lake, lake, type, f"{type}{i}"
        )
        tags = [make(ObjectType.TAG, i) for i in range(4)]
        catalogs = [make(ObjectType.CATALOG, i) for i in range(4)]
    at, changes = snapshot.everything(store)
    followed = Authority(at).applied(changes, at)
    for step in steps:
        with store.write("test", "step") as tx:
            _step(tx, step, tags, catalogs)
        revision = store.revision()
        entries = store.changes(followed.revision, revision)
        assert entries is not None
        followed = followed.applied((c for _, some in entries for c in some), revision)
    at, changes = snapshot.everything(store)
    assert followed == Authority(at).applied(changes, at)


def _step(tx: Write, step: Step, tags: list[int], catalogs: list[int]) -> None:
    what, tag, catalog, field, value = step
    there = [objects.get(tx, id) is not None for id in (tags[tag], catalogs[catalog])]
    if what == "drop tag" and there[0]:
        objects.drop(tx, tags[tag])
    elif what == "drop object" and there[1]:
        objects.drop(tx, catalogs[catalog])
    elif what == "put" and all(there):
        labels.put(tx, tags[tag], catalogs[catalog], field, value)
    elif what == "take":
        labels.take(tx, tags[tag], catalogs[catalog], field)
