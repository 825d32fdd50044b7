"""A fuzz of all doors: never a fault of the server, never a look inside, never a change after a refusal.

By hand, with other examples every time: ``pytest tests/doors/test_a_fuzz_finds_no_500.py --fuzz-seconds 3600``.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.doors.openapi import document
from headgate.steward.reads import waiting
from tests.doors.fuzz import CALLERS, DOOMED, NAMES, WEIRD, Sent, World, bent

DOORS = {door.name: door for door in (GravitinoDoor(), IcebergDoor(), HeadgateDoor())}
INSIDE = (
    b"Traceback",
    b"site-packages",
    b'File "',
    b"sqlalchemy",
    b"sqlite3",
    b"src/headgate",
    b"object at 0x",
)
LEAST = 150
"""Requests that are sent however slow the machine is."""
MOST = 20 * LEAST
"""Requests after which one of every kind must have been among them."""
WEIRD_NAMES = [text for text in WEIRD if isinstance(text, str) and text and len(text) < 5000]


class Knocking:
    """Sends requests to a world and looks at the answers; a world that was taken apart is made anew."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.worlds = 0
        self.sent = 0
        self.statuses: dict[int, int] = {}
        self.world = self._anew()
        self.until = time.monotonic() + seconds

    def _anew(self) -> World:
        self.worlds += 1
        return World(self.folder / str(self.worlds))

    @property
    def over(self) -> bool:
        """On a slow machine the time may be up before one request was right."""
        return time.monotonic() > self.until and self.sent >= LEAST and (self.varied or self.sent >= MOST)

    @property
    def varied(self) -> bool:
        return {200, 400, 401} <= self.statuses.keys()

    def knock(self, user: str | None, sent: Sent) -> int:
        before = self.world.state()
        status, body = self.world.send(user, sent)
        self.sent += 1
        self.statuses[status] = self.statuses.get(status, 0) + 1
        told = f"\n{user}: {sent}\n{status} {body[:1000]!r}"
        assert status < 500 or status == 503, told
        assert not any(word in body for word in INSIDE), told
        if status >= 400:
            json.loads(body or b"{}")
            assert self.world.state() == before, f"a change after a refusal{told}"
        elif self.sent % 40 == 0 and not self.world.sound():
            self.world.close()
            self.world = self._anew()
        return status


@pytest.fixture
def knocking(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Knocking]:
    # Nobody makes governed copies here, so nobody waits for them either.
    monkeypatch.setattr(waiting, "PATIENCE", 0.01)
    knocking = Knocking(tmp_path, seconds(request.config))
    yield knocking
    knocking.world.close()


def seconds(config: pytest.Config) -> float:
    return float(config.getoption("--fuzz-seconds") or 12)


def start(config: pytest.Config) -> int:
    """The first seed: always the same, or by hand another every time."""
    return Random().randrange(2**32) if config.getoption("--fuzz-seconds") else 0


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_of_requests_made_from_the_document(
    door: str, knocking: Knocking, request: pytest.FixtureRequest
) -> None:
    schema = schemathesis.openapi.from_dict(document(DOORS[door].routes))
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == len(DOORS[door].routes)
    round = start(request.config)
    while not knocking.over:
        r = Random(round)
        some = r.sample(operations, 10)

        @seed(round)
        @settings(
            max_examples=30,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.one_of([operation.as_strategy() for operation in some]), st.integers(0, 2**32))
        def knock(case: Any, number: int) -> None:
            chance = Random(number)
            user = chance.choice(CALLERS)
            knocking.knock(user, _sent(case, user, chance))

        knock()
        round += 1
    assert knocking.varied, knocking.statuses


@pytest.mark.slow
def test_of_requests_that_were_right_before_they_were_bent(
    knocking: Knocking, request: pytest.FixtureRequest
) -> None:
    number = start(request.config)
    while not knocking.over:
        r = Random(number)
        knocking.knock(r.choice((*CALLERS, "admin", "admin")), bent(r))
        number += 1
    assert knocking.varied, knocking.statuses


def _sent(case: Any, user: str | None, r: Random) -> Sent:
    """A generated request, with names in it that are there."""
    path = case.path
    for name, value in (case.path_parameters or {}).items():
        known = NAMES.get(name, ["x"])
        text = r.choice(known) if r.random() < 0.85 else r.choice([*WEIRD_NAMES, str(value)])
        if user == "admin" and case.method.upper() in ("DELETE", "PATCH", "PUT") and text in DOOMED:
            text = r.choice(("spare", "other")) if name == "table" or r.random() < 0.3 else text
        path = path.replace("{" + name + "}", quote(text.encode("utf-8", "replace"), safe=""))
    query = [(k, v) for k, v in (case.query or {}).items() if isinstance(v, str)]
    if r.random() < 0.1:
        query.append(
            (r.choice(("limit", "pageToken", "pageSize", "details", "metalake")), str(r.choice(WEIRD))[:500])
        )
    if "/headgate/" in path:
        query = [*((k, v) for k, v in query if k != "metalake"), ("metalake", "lake")]
    body = b""
    if case.body is not schemathesis.core.NOT_SET and case.body is not None:
        form = isinstance(case.body, dict) and case.media_type == "application/x-www-form-urlencoded"
        body = (
            urlencode(case.body, errors="replace") if form else json.dumps(case.body, default=str)
        ).encode()
    headers = {}
    if r.random() < 0.05:
        name = r.choice(("Idempotency-Key", "Headgate-At-Least", "X-Gravitino-Active-Roles", "Headgate-Purpose", "If-None-Match", "X-Iceberg-Access-Delegation", "X-Client-Version", "Accept", "Content-Type"))  # fmt: skip
        headers[name] = str(r.choice(WEIRD))[:300].replace("\n", "")
    return Sent(case.method.upper(), path, urlencode(query, errors="replace"), headers, body)
