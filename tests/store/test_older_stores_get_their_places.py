"""A store from before the registry: what is there and what was dropped have their places, and the younger of two is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from alembic import command

from headgate.model import changes as c
from headgate.model.errors import Forbidden, IllegalArgument, NotFound
from headgate.model.objects import ObjectType
from headgate.model.principals import PrincipalKind
from headgate.steward.doctor import examine
from headgate.store import Store, dropped, migrations, places, pointers

LAKE, CAT, SCHEMA, OLD, LOST, TAG, FILES, FOLDERS, YOUNG, FILESET, FINE = range(1, 12)
OWNER = 1
T = ObjectType
TREE: tuple[tuple[int, int, ObjectType, str], ...] = (
    (LAKE, 0, T.METALAKE, "lake"),
    (CAT, LAKE, T.CATALOG, "cat"),
    (SCHEMA, CAT, T.SCHEMA, "s"),
    (OLD, SCHEMA, T.TABLE, "old"),
    (LOST, SCHEMA, T.TABLE, "lost"),
    (TAG, LAKE, T.TAG, "pii"),
    (FILES, LAKE, T.CATALOG, "files"),
    (FOLDERS, FILES, T.SCHEMA, "f"),
    (YOUNG, SCHEMA, T.TABLE, "young"),
    (FILESET, FOLDERS, T.FILESET, "x"),
    (FINE, SCHEMA, T.TABLE, "fine"),
)
UUID = "0123456789abcdef0123456789abcdef"


def at(folder: Path, name: str) -> str:
    return f"file://{folder}/{name}"


def insert(connection: sa.Connection, table: str, **values: Any) -> None:
    known = sa.MetaData()
    known.reflect(connection, only=[table])
    connection.execute(sa.insert(known.tables[table]).values(values))


def object_row(
    connection: sa.Connection, id: int, parent: int, type: ObjectType, name: str, **body: Any
) -> None:
    insert(
        connection,
        "objects",
        id=id,
        parent=parent,
        metalake=0 if id == LAKE else LAKE,
        type=type.value,
        name=name,
        properties=b"{}",
        body=msgspec.json.encode(body),
        in_use=True,
        version=1,
        creator="x",
        created_at="2026-01-01",
    )


def journal(connection: sa.Connection, revision: int, *entries: c.Change) -> None:
    insert(
        connection,
        "journal",
        revision=revision,
        at=f"2026-01-0{revision}",
        actor="x",
        action="x",
        changes=msgspec.json.encode(list(entries)),
    )
    connection.execute(sa.text("UPDATE state SET revision = :revision"), {"revision": revision})


def seen(connection: sa.Connection, revision: int, name: str, folder: str) -> None:
    insert(
        connection,
        "audit",
        at="2026-01-02",
        metalake="lake",
        user="x",
        action="load_table",
        type="table",
        object=name,
        allowed=True,
        revision=revision,
        details=msgspec.json.encode({"folders": [folder]}),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the tables lie; the files of `lost` are still there, those of one that was purged are not."""
    (tmp_path / "lake" / f"lost-{UUID}").mkdir(parents=True)
    return tmp_path / "lake"


@pytest.fixture
def upgraded(store_url: str, folder: Path) -> Iterator[Store]:
    store = Store(store_url)
    with store.engine.execution_options(headgate_write=True).begin() as connection:
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        fill(connection, folder)
    store.prepare()
    store.check()
    yield store
    store.close()


def fill(connection: sa.Connection, folder: Path) -> None:
    for id, parent, type, name in TREE:
        if id not in (LOST, FILESET):
            object_row(connection, id, parent, type, name)
    inner = {"unknown": f"file:{folder}/old/inner", "far": "s3://bucket/x"}
    object_row(connection, FILESET, FOLDERS, T.FILESET, "x", locations=inner)
    insert(
        connection,
        "principals",
        id=OWNER,
        metalake=LAKE,
        kind=PrincipalKind.USER.value,
        name="ann",
        enabled=True,
        attributes=b"{}",
        creator="x",
        created_at="2026-01-01",
    )
    for id, name in ((OLD, "old"), (YOUNG, f"lost-{UUID}/data"), (FINE, "fine")):
        place = at(folder, name)
        insert(connection, "pointers", object=id, location=f"{place}/0.json", place=place)
    journal(connection, 1, *(c.ObjectPut(*entry) for entry in TREE if entry[0] <= TAG))
    journal(connection, 2, c.OwnerSet(LOST, OWNER), c.LabelSet(TAG, LOST, 2, "v", True))
    seen(connection, 2, "cat.s.lost", at(folder, f"lost-{UUID}"))
    seen(connection, 2, "cat.s.lost", at(folder, "purged"))
    gone = (c.LabelSet(TAG, LOST, 2, None, False), c.OwnerSet(LOST, None), c.ObjectGone(LOST))
    journal(connection, 3, *gone)
    journal(connection, 4, *(c.ObjectPut(*entry) for entry in TREE if entry[0] > TAG))
    for name in ("fine-before", "fine"):
        seen(connection, 4, "cat.s.fine", at(folder, name))


def test_everything_has_its_places_and_the_younger_of_two_is_refused(upgraded: Store, folder: Path) -> None:
    with upgraded.read() as read:
        known = {
            object: {(row.place, row.state) for row in places.of(read, object)}
            for object in (OLD, LOST, YOUNG, FILESET, FINE)
        }
        former = dropped.get(read, LOST)
        lost = places.of(read, LOST)
    assert known == {
        OLD: {(at(folder, "old"), places.LIVE)},
        LOST: {(at(folder, f"lost-{UUID}"), places.DROPPED)},
        YOUNG: {(at(folder, f"lost-{UUID}/data"), places.CONTESTED)},
        FILESET: {(at(folder, "old/inner"), places.CONTESTED), ("s3://bucket/x", places.LIVE)},
        FINE: {(at(folder, "fine"), places.LIVE), (at(folder, "fine-before"), places.LIVE)},
    }
    assert lost[0].uuid is not None
    assert lost[0].uuid.replace("-", "") == UUID
    assert former is not None
    assert (former.name, former.owner, former.labels) == ("cat.s.lost", OWNER, [(TAG, 2, "v")])
    assert (former.metalake, former.catalog) == (LAKE, CAT)
    assert pointers.location(upgraded, OLD) == f"{at(folder, 'old')}/0.json"
    with pytest.raises(Forbidden, match="belongs to something else"):
        pointers.location(upgraded, YOUNG)
    with pytest.raises(Forbidden):
        places.check_uncontested(upgraded, FILESET)


def test_the_doctor_names_both_and_an_owner_decides(upgraded: Store) -> None:
    found = {finding.problem: finding.next for finding in examine(upgraded)}
    assert len(found) == 2
    with_lost = next(problem for problem in found if "cat.s.lost" in problem)
    assert f"cat.s.young (object {YOUNG})" in with_lost
    assert f"cat.s.lost (object {LOST}, dropped)" in with_lost
    assert f"--release {LOST}" in found[with_lost]
    with_old = next(problem for problem in found if "cat.s.old" in problem)
    assert "files.f.x" in with_old
    with upgraded.write("x", "x") as tx:
        for wrong in (OLD, 4711):
            with pytest.raises(NotFound):
                dropped.release(tx, wrong)
        dropped.release(tx, LOST)
        places.release(tx, OLD, [places.of(tx, OLD)[0].place])
    assert examine(upgraded) == []
    assert pointers.location(upgraded, YOUNG) is not None
    places.check_uncontested(upgraded, FILESET)


def test_nobody_claims_what_was_dropped_before_the_upgrade(upgraded: Store, folder: Path) -> None:
    with upgraded.write("x", "x") as tx:
        for place in (f"lost-{UUID}", f"lost-{UUID}/metadata", "fine-before/x"):
            with pytest.raises(IllegalArgument):
                places.claim(tx, OLD, [at(folder, place)])
        taken = places.of(tx, LOST)[0].uuid
        with pytest.raises(IllegalArgument, match="uuid"):
            places.claim(tx, OLD, [at(folder, "old")], uuid=taken)
        places.claim(tx, OLD, [at(folder, "lost")])
