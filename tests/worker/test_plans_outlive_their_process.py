"""Promise: a plan that was submitted is finished, whichever process stops, dies or loses the store meanwhile."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headgate import planning
from headgate.model.errors import Unavailable
from headgate.steward import Steward
from headgate.store import Store, plans
from tests.conftest import Api, in_process
from tests.openings import opened
from tests.worker.stand import ICE, Stand, standing
from tests.worker.times import Clock


@contextmanager
def another(stand: Stand) -> Iterator[Api]:
    """A second server on the same store."""
    store = Store(str(stand.store.url))
    steward = Steward(store, warehouse=str(stand.folder / "warehouse"), openings=opened(stand.folder))
    with in_process(steward) as api:
        yield api
    steward.close()
    store.close()


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    with standing(tmp_path, f"sqlite:///{tmp_path}/store.db") as stand:
        stand.table("t", 2)
        yield stand


class Slow:
    """Plans wait until they are let go, longer than a client does; and can be made to fail once."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.count = 0
        self.fails = False
        self._plan = planning.plan

    def __call__(self, *args: Any, **more: Any) -> Any:
        self.count += 1
        assert self.go.wait(60)
        if self.fails:
            self.fails = False
            raise Unavailable("the store does not answer")
        return self._plan(*args, **more)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    slow = Slow()
    monkeypatch.setattr(planning, "plan", slow)
    yield slow
    slow.go.set()


def settled(api: Api, path: str, user: str = "bob") -> Any:
    for _ in range(300):
        answer = api(user, "GET", path)
        assert answer.status_code == 200, answer.text
        if answer.json()["status"] != "submitted":
            break
        threading.Event().wait(0.1)
    return answer.json()


def submitted(stand: Stand) -> str:
    answer = stand.plan("t", user="bob")
    assert answer["status"] == "submitted"
    return f"{ICE}/t/plan/{answer['plan-id']}"


def test_a_server_that_stops_leaves_its_plans_to_the_others_at_once(stand: Stand, slow: Slow) -> None:
    path = submitted(stand)
    stand.steward.scans.close()
    with another(stand) as api:
        assert api("bob", "GET", path).json()["status"] == "submitted"
        assert slow.count == 2
        slow.go.set()
        done = settled(api, path)
    assert (done["status"], len(done["file-scan-tasks"])) == ("completed", 2)


def test_a_plan_is_taken_over_only_from_a_process_that_is_silent(
    stand: Stand, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(plans.clock)
    monkeypatch.setattr(plans, "clock", clock)
    path = submitted(stand)
    with another(stand) as api:
        for _ in range(3):
            assert api("bob", "GET", path).json()["status"] == "submitted"
        assert slow.count == 1, "somebody is at it"
        clock.forward(plans.LEASE + timedelta(seconds=1))
        assert api("ann", "GET", path).status_code == 404
        for _ in range(3):
            assert api("bob", "GET", path).json()["status"] == "submitted"
        assert slow.count == 2, "taken over, once"
        slow.go.set()
        assert settled(api, path)["status"] == "completed"


def test_a_plan_that_lost_the_store_is_begun_again(stand: Stand, slow: Slow) -> None:
    path = submitted(stand)
    slow.fails = True
    slow.go.set()
    assert settled(stand.api, path)["status"] == "completed"
    assert slow.count == 2


def test_what_one_may_no_longer_see_is_not_planned_again(stand: Stand, slow: Slow) -> None:
    path = submitted(stand)
    stand.steward.scans.close()
    stand.policies("policy: none\non: lake.cat.s.t\nto: [user:bob]\nrows: region = 'EU'\n")
    slow.go.set()
    with another(stand) as api:
        assert api("bob", "GET", path).status_code == 404
    assert slow.count == 1
