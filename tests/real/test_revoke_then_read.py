"""A grant that was revoked through one server is never honoured by another, not even by a request that races it."""

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.postgres import new_database
from tests.real.server import RunningServer, running

pytestmark = [pytest.mark.real, pytest.mark.slow]

LAKE = "/api/metalakes/lake"
SCHEMA = LAKE + "/catalogs/c/schemas/s"
GRANT = f"{LAKE}/permissions/users/ann/grant"
REVOKE = f"{LAKE}/permissions/users/ann/revoke"
ROLES = {"roleNames": ["reader"]}
FORGETFUL = [sys.executable, "-c", "from tests.real.forgetful import serve; serve()"]


def lay_out(server: RunningServer) -> None:
    """A schema that `ann` may load if and only if she holds the role `reader`."""
    server.must("admin", "POST", "/api/metalakes", {"name": "lake"})
    body = {
        "name": "c",
        "type": "relational",
        "provider": "lakehouse-iceberg",
        "properties": {"catalog-backend": "native"},
    }
    server.must("admin", "POST", LAKE + "/catalogs", body)
    server.must("admin", "POST", LAKE + "/catalogs/c/schemas", {"name": "s"})
    server.must("admin", "POST", LAKE + "/users", {"name": "ann"})
    uses = [{"name": name, "condition": "allow"} for name in ("use_catalog", "use_schema")]
    objects = [{"type": "catalog", "fullName": "c", "privileges": uses}]
    server.must("admin", "POST", LAKE + "/roles", {"name": "reader", "securableObjects": objects})


def stale_answers(a: RunningServer, b: RunningServer, rounds: int, readers: int) -> list[str]:
    """Grant and revoke through one server while the other is read; whatever was answered from the past."""
    wrong: list[str] = []
    # The facts a reader may rely on: since when it is revoked, and whether that may be changing right now.
    era, lock, done = [0], threading.Lock(), threading.Event()
    revoked = [True]

    def reader() -> None:
        with httpx.Client(base_url=b.url, auth=("ann", ""), timeout=60) as client:
            while not done.is_set():
                with lock:
                    before, was_revoked = era[0], revoked[0]
                status = client.get(SCHEMA).status_code
                with lock:
                    unchanged = era[0] == before
                if status not in (200, 403):
                    wrong.append(f"answered {status}")
                elif was_revoked and unchanged and status == 200:
                    wrong.append("read after the revocation was acknowledged")

    def turn(path: str, now_revoked: bool) -> None:
        with lock:
            # From here on until acknowledged either answer is right.
            era[0] += 1
            revoked[0] = False
        a.must("admin", "PUT", path, ROLES)
        with lock:
            era[0] += 1
            revoked[0] = now_revoked

    threads = [threading.Thread(target=reader) for _ in range(readers)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(rounds):
            turn(GRANT, False)
            if (status := b.ask("ann", "GET", SCHEMA).status_code) != 200:
                wrong.append(f"{status} after the grant was acknowledged")
            deadline = time.monotonic() + 180
            while b.ask("ann", "GET", SCHEMA).status_code != 200 and time.monotonic() < deadline:
                time.sleep(0.02)
            turn(REVOKE, True)
            if (status := b.ask("ann", "GET", SCHEMA).status_code) != 403:
                wrong.append(f"{status} after the revocation was acknowledged")
    finally:
        done.set()
        for thread in threads:
            thread.join()
    return wrong


Pair = tuple[RunningServer, RunningServer, str]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two servers over one store, and its address."""
    folder = tmp_path_factory.mktemp("pair")
    store = f"sqlite:///{folder}/store.db"
    if request.param == "postgresql":
        store = new_database(request.getfixturevalue("postgres_server"))
    with (
        running(folder / "a", "--dev", "--store", store) as a,
        running(folder / "b", "--dev", "--store", store) as b,
    ):
        lay_out(a)
        assert b.ask("ann", "GET", SCHEMA).status_code == 403
        yield a, b, store


def test_a_revoked_grant_is_never_honoured_by_another_process(pair: Pair) -> None:
    a, b, _ = pair
    assert stale_answers(a, b, rounds=30, readers=3) == []


def test_this_would_be_noticed_if_a_server_remembered_too_long(pair: Pair, tmp_path: Path) -> None:
    a, _, store = pair
    with running(tmp_path, "--dev", "--store", store, command=FORGETFUL) as forgetful:
        found = stale_answers(a, forgetful, rounds=2, readers=1)
    assert any("revocation" in wrong for wrong in found), found


def test_a_revoked_token_is_refused_by_another_process_at_once(pair: Pair) -> None:
    a, b, _ = pair
    for _ in range(10):
        made = a.must("admin", "POST", "/api/headgate/tokens", {"user": "ann"})
        assert b.ask(made["text"], "GET", "/api/authn/me").json()["principal"] == "ann"
        a.must("admin", "DELETE", f"/api/headgate/tokens/{made['token']['id']}")
        assert b.ask(made["text"], "GET", "/api/authn/me").status_code == 401
