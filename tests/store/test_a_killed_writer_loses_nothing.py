"""A process that dies in the middle of a change: what was acknowledged is there, what was not is not there at all."""

import subprocess
import sys
import time
from random import Random

import pytest

from headgate.decide import Authority
from headgate.model.objects import ObjectType
from headgate.store import Store, objects, snapshot

WRITER = """
import sys, time
from headgate.model.objects import ObjectType
from headgate.model.principals import PrincipalKind
from headgate.store import Store, access, objects

store, stop_at, number = Store(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
while True:
    with store.write("writer", "test") as tx:
        lake = objects.create(tx, 0, 0, ObjectType.METALAKE, f"lake{number}")
        if number == stop_at:
            print("half", flush=True)
            time.sleep(60)
        access.set_owner(tx, lake, access.add_principal(tx, lake, PrincipalKind.USER, "ann"))
    print(number, flush=True)
    number += 1
"""


def start(url: str, stop_at: int, first: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, url, str(stop_at), str(first)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def lakes(url: str) -> list[str]:
    """The metalakes that are there, after making sure that nothing of any of them is missing."""
    store = Store(url)
    at, everything = snapshot.everything(store)
    entries = store.changes(0, at)
    assert entries is not None, "the journal has a gap"
    whole = Authority(0).applied(everything, at)
    assert Authority(0).applied((c for _, changes in entries for c in changes), at) == whole
    found = list(whole.children_of(0, ObjectType.METALAKE))
    assert all(node.owner is not None for node in found), "a metalake without its owner"
    assert len(found) == at
    with store.write("after", "test") as tx:
        objects.drop(tx, objects.create(tx, 0, 0, ObjectType.METALAKE, "the store still takes changes"))
        tx.changes.clear()
    store.close()
    return [node.name for node in found]


def test_a_change_that_was_cut_off_never_happened(store_url: str) -> None:
    store = Store(store_url)
    store.prepare()
    store.close()
    writer = start(store_url, stop_at=3)
    assert writer.stdout is not None
    told = []
    for line in writer.stdout:
        if line.strip() == "half":
            break
        told.append(f"lake{line.strip()}")
    writer.kill()
    writer.communicate()
    assert told == ["lake0", "lake1", "lake2"]
    assert sorted(lakes(store_url)) == told


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_whatever_was_acknowledged_survives_a_kill_at_any_moment(store_url: str, seed: int) -> None:
    store = Store(store_url)
    store.prepare()
    store.close()
    writer = start(store_url, stop_at=-1)
    assert writer.stdout is not None
    first = writer.stdout.readline().strip()
    time.sleep(Random(seed).uniform(0, 0.3))
    writer.kill()
    rest, _ = writer.communicate()
    told = [f"lake{number}" for number in (first, *rest.split())]
    there = lakes(store_url)
    assert set(told) <= set(there)
    assert len(there) <= len(told) + 1, "at most the change whose acknowledgement was cut off"
