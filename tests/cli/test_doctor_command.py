"""`headgate doctor` names what is wrong with a store and what to do about it, and says so by its exit code."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

from sqlalchemy import insert, update

from headgate.model.objects import ObjectType
from headgate.store import Store, ledger, objects, places
from headgate.store import tables as t
from headgate.store.database import stored_time
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
    (finding,) = (each for each in json.loads(result.stdout) if each["check"] == "properties")
    assert "catalog c " in finding["problem"]
    assert "'uri'" in finding["problem"]


def test_without_a_store_it_says_where_to_look(tmp_path: Path) -> None:
    result = doctor(tmp_path / "nowhere")
    assert result.returncode == 1
    assert "name the server's --home" in result.stderr


# -- the machine ----------------------------------------------------------------------------------------------------


def found_on(home: Path, **env: str) -> dict[str, dict[str, str]]:
    result = headgate_here("doctor", "--home", str(home), "--output", "json", **env)
    assert "Traceback" not in result.stderr
    return {finding["check"]: finding for finding in json.loads(result.stdout)}


def test_a_machine_without_java_or_with_an_old_one_is_told_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store_in(home).close()
    assert "JAVA_HOME" in found_on(home, JAVA_HOME=str(tmp_path))["java"]["problem"]
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    for line, amiss in (('openjdk version "1.8.0_402"', "Java 8"), ('openjdk version "17.0.9"', None)):
        java.write_text(f"#!/bin/sh\necho '{line}' >&2\n")
        java.chmod(0o700)
        finding = found_on(home, JAVA_HOME=str(tmp_path)).get("java")
        assert (finding is None) is (amiss is None)
        assert amiss is None or (finding is not None and amiss in finding["problem"])


def test_without_pyspark_it_is_said_how_to_install_it_or_to_do_without(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store_in(home).close()
    with mock.patch("headgate.cli.operations.machine.is_installed", return_value=False):
        finding = found_on(home)["pyspark"]
        assert "pip install 'headgate[spark]'" in finding["next"]
        assert "--no-worker" in finding["next"]
        (home / "headgate.toml").write_text("worker = false\n")
        assert found_on(home) == {}


def test_an_issuer_whose_keys_cannot_be_fetched_and_a_jar_that_is_gone_are_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store_in(home).close()
    (home / "headgate.toml").write_text(
        '[[oidc]]\nissuer = "http://127.0.0.1:1"\naudience = "a"\n[spark.options]\n"spark.jars" = "/nowhere/x.jar"\n'
    )
    found = found_on(home)
    assert "http://127.0.0.1:1" in found["oidc"]["problem"]
    assert "jars" in found


def test_a_catalog_whose_storage_cannot_be_used_is_named_with_the_reason(tmp_path: Path) -> None:
    store = store_in(tmp_path / "home")
    fill(store, warehouse=str(tmp_path / "not-opened"))
    finding = found_on(tmp_path / "home")["storage"]
    assert "catalog c does not work" in finding["problem"]
    with store.write("admin", "test") as tx:
        (catalog,) = objects.in_use(tx, ObjectType.CATALOG)
        objects.alter(tx, catalog, in_use=False)
    store.close()
    assert "storage" not in found_on(tmp_path / "home"), "what is out of use need not work"


def test_a_clock_that_differs_from_the_stores_is_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store_in(home).close()
    late = datetime.now(UTC) - timedelta(minutes=2)
    with mock.patch("headgate.steward.doctor.clock.clock", return_value=late):
        assert "s apart" in found_on(home)["clock"]["problem"]


def test_copies_that_nobody_makes_are_told_and_a_short_wait_is_not(tmp_path: Path) -> None:
    store = store_in(tmp_path / "home")
    older, _ = fill(store)
    wanted = {
        "key": "k", "object": older, "view": "v", "snapshot": 1, "document": "d", "source": b"", "state": ledger.WANTED,
        "attempts": 0, "after": "2020-01-01T00:00:00.000Z", "asked_at": stored_time(datetime.now(UTC)),
    }  # fmt: skip
    with store.write("admin", "test") as tx:
        tx.execute(insert(t.lens_copies).values(wanted))
    assert "worker" not in found_on(tmp_path / "home")
    with store.write("admin", "test") as tx:
        tx.execute(update(t.lens_copies).values(asked_at="2020-01-01T00:00:00.000Z"))
    assert "1 governed copy waits" in found_on(tmp_path / "home")["worker"]["problem"]
    soon = stored_time(datetime.now(UTC) + timedelta(minutes=1))
    with store.write("admin", "test") as tx:
        tx.execute(update(t.lens_copies).values(state=ledger.MAKING, until=soon))
    assert "worker" not in found_on(tmp_path / "home"), "somebody works at it"
    store.close()
