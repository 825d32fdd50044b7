"""Empty, locked, unreachable or newer: the store is unavailable, the text says what to do, and nobody gets a permit."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import event, text

from headgate.decide import Op
from headgate.model.errors import Unavailable
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward.kernel import Kernel
from headgate.store import Store
from tests.postgres import free_port

LAKE = ObjectRef("lake", ObjectType.METALAKE)


def refused(store: Store) -> str:
    """What a question is answered with, which is never a permit."""
    with pytest.raises(Unavailable) as error:
        Kernel(store, frozenset({"ann"})).permit(Identity("ann"), Op.CREATE_METALAKE, LAKE)
    return str(error.value)


def test_an_empty_store(store_url: str) -> None:
    store = Store(store_url)
    with pytest.raises(Unavailable, match="empty: start 'headgate serve'"):
        store.check()
    assert "is empty: start 'headgate serve'" in refused(store)
    store.close()


def test_a_store_of_a_newer_version_is_left_untouched(store_url: str) -> None:
    store = Store(store_url)
    store.prepare()
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'v9999'"))
    for attempt in (store.prepare, store.check):
        with pytest.raises(Unavailable, match=r"v9999.*newer Headgate: upgrade this one"):
            attempt()
    with store.engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "v9999"
    store.close()


def test_an_unreachable_store() -> None:
    store = Store(f"postgresql://someone:secret@127.0.0.1:{free_port()}/nowhere")
    told = refused(store)
    assert "does not answer" in told
    assert "secret" not in told
    store.close()


def test_a_store_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/nowhere/store.db")
    assert "unable to open database file" in refused(store)


def test_a_store_of_an_unknown_kind() -> None:
    with pytest.raises(Unavailable, match="use sqlite:///… or postgresql://…"):
        Store("mysql://somewhere/x")


@pytest.mark.slow
def test_a_locked_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = Store(f"sqlite:///{path}")
    store.prepare()
    store.engine.dispose()
    event.listen(store.engine, "connect", lambda c, _: c.execute("PRAGMA busy_timeout=50"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="database is locked"), store.write("ann", "test"):
        pass
    assert store.revision() == 0, "reading goes on beside a writer"
    store.close()
    other.execute("ROLLBACK")
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    assert "database is locked" in refused(store)
    other.close()
    assert store.revision() == 0, "and it recovers by itself"
    store.close()
