"""Scans as a client plans them: submitted plans are polled until they are done."""

import time
from typing import Any

from tests.conftest import Api


def scanned(api: Api, user: str, table: str, body: Any = None, *, seconds: float = 60) -> Any:
    """The plan of a scan once it is completed (or failed); `table` is the path of the table."""
    planned = api(user, "POST", f"{table}/plan", body or {})
    assert planned.status_code == 200, planned.text
    return polled(api, user, table, planned.json(), seconds=seconds)


def polled(api: Api, user: str, table: str, planned: Any, *, seconds: float = 60) -> Any:
    """A plan that was answered, once it is done."""
    ends = time.monotonic() + seconds
    id = planned.get("plan-id")
    while planned["status"] == "submitted":
        assert time.monotonic() < ends, "the plan was never done"
        time.sleep(0.05)
        planned = api(user, "GET", f"{table}/plan/{id}").json()
    return planned
