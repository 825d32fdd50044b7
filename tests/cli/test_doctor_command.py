"""`headgate doctor` names what is wrong with a store and what to do about it, and says so by its exit code."""

import json
from pathlib import Path

from sqlalchemy import update

from headgate.model.objects import ObjectType
from headgate.store import Store, objects, places
from headgate.store import tables as t
from tests.real.server import Result, headgate_here


def store_in(home: Path) -> Store:
    home.mkdir(mode=0o700)
    store = Store(f"sqlite:///{home}/headgate.db")
    store.prepare()
    return store


def fill(store: Store, **properties: str) -> tuple[int, int]:
    """A catalog with two tables, each in its own place; the ids of the tables."""
    body = {"type": "relational", "provider": "lakehouse-iceberg", "folder": "lake/c"}
    with store.write("admin", "test") as tx:
        lake = objects.create(tx, 0, 0, ObjectType.METALAKE, "lake")
        catalog = objects.create(
            tx,
            lake,
            lake,
            ObjectType.CATALOG,
            "c",
            properties={"catalog-backend": "native", **properties},
            body=body,
        )
        schema = objects.create(tx, catalog, lake, ObjectType.SCHEMA, "s")
        older, younger = (
            objects.create(tx, schema, lake, ObjectType.TABLE, name) for name in ("older", "younger")
        )
        places.claim(tx, older, ["s3://bucket/t"])
        places.claim(tx, younger, ["s3://bucket/u"])
    return older, younger


def overlap(store: Store, younger: int) -> None:
    """As it was in stores from before places were kept."""
    p = t.places.c
    with store.write("admin", "test") as tx:
        values = {"place": "s3://bucket/t/data", "state": places.CONTESTED}
        tx.execute(update(t.places).where(p.object == younger).values(values))


def doctor(home: Path, *more: str) -> Result:
    return headgate_here("doctor", "--home", str(home), *more)


def test_a_sound_store_gets_no_finding(tmp_path: Path) -> None:
    store = store_in(tmp_path / "home")
    fill(store)
    store.close()
    result = doctor(tmp_path / "home", "--output", "json")
    assert (result.returncode, json.loads(result.stdout)) == (0, []), result.stderr


def test_places_that_overlap_are_named_with_both_of_their_tables(tmp_path: Path) -> None:
    store = store_in(tmp_path / "home")
    older, younger = fill(store)
    overlap(store, younger)
    result = doctor(tmp_path / "home", "--output", "json")
    assert result.returncode == 1, result.stderr
    (finding,) = json.loads(result.stdout)
    assert finding["check"] == "places"
    for word in ("c.s.older", "c.s.younger", "s3://bucket/t", "s3://bucket/t/data"):
        assert word in finding["problem"]
    assert "drop the older with purge" in finding["next"]
    assert "overlaps" in doctor(tmp_path / "home").stdout.replace("\n", " "), "and in the table"
    with store.write("admin", "test") as tx:
        objects.drop(tx, older)
    store.close()
    (finding,) = json.loads(doctor(tmp_path / "home", "--output", "json").stdout)
    assert f"--release {older}" in finding["next"]
    released = doctor(tmp_path / "home", "--release", str(older))
    assert (released.returncode, "c.s.older" in released.stdout) == (0, True), released.stderr
    assert doctor(tmp_path / "home").returncode == 0, "nothing is in the way any more"


def test_properties_that_nothing_reads_are_named(tmp_path: Path) -> None:
    store = store_in(tmp_path / "home")
    fill(store, uri="jdbc:sqlite:x")
    store.close()
    result = doctor(tmp_path / "home", "--output", "json")
    assert result.returncode == 1, result.stderr
    (finding,) = json.loads(result.stdout)
    assert finding["check"] == "properties"
    assert "catalog c " in finding["problem"]
    assert "'uri'" in finding["problem"]


def test_without_a_store_it_says_where_to_look(tmp_path: Path) -> None:
    result = doctor(tmp_path / "nowhere")
    assert result.returncode == 1
    assert "name the server's --home" in result.stderr
