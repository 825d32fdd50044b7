"""LoadTable and commit over HTTP, at 1 and 16 clients, with authorisation on and off, beside Apache's fixture server.

    python -m bench.catalog [--quick]

All servers run at the same time and are asked in turns, in shuffled order, so a busy machine is busy for all of them.
The caller is one of 200 users whose right to the tables comes from one role among 200. "off" is the same server on the
same store with the decision taken out (`bench.unchecked`); the fixture knows no callers, keeps no audit trail and is
given time to compile itself. Every answer is checked. A case is its best round by the median.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table
from tests.real.iceberg_kit import fixture_server
from tests.real.iceberg_lake import IcebergLake, iceberg_lake
from tests.real.server import headgate, running

from bench.wire import Connection, Target, storm

RESULTS = Path(__file__).parent / "results" / "catalog.json"
SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": n, "name": f"c{n}", "type": "long", "required": False} for n in range(1, 21)],
}
USERS, FEW_USERS = 200, 20
CLIENTS = (1, 16)
TABLES = [{"name": f"t{client}", "schema": SCHEMA} for client in range(max(CLIENTS))]
UNCHECKED = [sys.executable, "-m", "bench.unchecked"]
FIXTURE, ON, OFF, WORKERS = "fixture", "headgate", "headgate, off", "headgate, 2 workers"


@dataclass(frozen=True)
class Server:
    """A server under test: how its tables are loaded and committed to. Each client has a table of its own."""

    name: str
    target: Target

    def load(self, _: int, client: int) -> bytes:
        return self.target.request("GET", f"/namespaces/s/tables/t{client}")

    def commit(self, number: int, client: int) -> bytes:
        update = {"action": "set-properties", "updates": {"n": str(number)}}
        body = {"requirements": [], "updates": [update]}
        return self.target.request("POST", f"/namespaces/s/tables/t{client}", body)

    def columns(self) -> list[str]:
        """What a client gets to know of the table."""
        connection = Connection(self.target)
        answer = json.loads(connection.ask(self.load(0, 0)))
        connection.close()
        return [field["name"] for field in answer["metadata"]["schemas"][0]["fields"]]

    def measured(self, case: str, requests: int, clients: int) -> dict[str, float]:
        """Milliseconds at the median and the 99th percentile, and requests a second."""
        request = self.load if case == "load" else self.commit
        times, seconds = storm(self.target, request, requests, clients)
        times.sort()
        return {
            "p50": statistics.median(times),
            "p99": times[min(len(times) - 1, int(len(times) * 0.99))],
            "per_second": requests / seconds,
        }


Found = dict[str, dict[str, dict[str, float]]]


def rounds(servers: list[Server], requests: int, repeat: int) -> Found:
    """Each case of each server, in turns; the best round of each by its median."""
    found: Found = {}
    for clients in CLIENTS:
        for case, share in (("load", 1), ("commit", 10)):
            name = f"{case}, {clients} {'client' if clients == 1 else 'clients'}"
            for _ in range(repeat):
                for server in random.sample(servers, len(servers)):
                    result = server.measured(case, max(requests // share, clients), clients)
                    best = found.setdefault(name, {}).get(server.name)
                    if best is None or result["p50"] < best["p50"]:
                        found[name][server.name] = result
    return found


def governed(lake: IcebergLake, home: Path, users: int) -> str:
    """A token of a user whose right to the tables comes from one role among many."""
    root = "/api/metalakes/lake"
    wanted = (
        ("catalog", "cat", ["use_catalog"]),
        ("schema", "cat.s", ["use_schema"]),
        *(("table", f"cat.s.t{n}", ["select_table", "modify_table"]) for n in range(max(CLIENTS))),
    )
    grants = [
        {
            "fullName": name,
            "type": type,
            "privileges": [{"name": privilege, "condition": "allow"} for privilege in privileges],
        }
        for type, name, privileges in wanted
    ]
    for n in range(users):
        lake.server.must(lake.token, "POST", f"{root}/users", {"name": f"user{n}"})
        lake.server.must(
            lake.token, "POST", f"{root}/roles", {"name": f"role{n}", "securableObjects": grants}
        )
        role = {"roleNames": [f"role{n}"]}
        lake.server.must(lake.token, "PUT", f"{root}/permissions/users/user{n}/grant", role)
    return headgate("token", "create", "--home", str(home), "--user", "user7").stdout.strip()


def memory(pid: int) -> float:
    """Resident megabytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the process is gone")


@contextmanager
def everyone(folder: Path, users: int) -> Iterator[tuple[list[Server], float]]:
    """All servers, each with the tables, and the memory of one that has nothing to do."""
    home = folder / "lake"
    with ExitStack() as open:
        lake = open.enter_context(iceberg_lake(home))
        time.sleep(1)
        idle = memory(lake.server.process.pid)
        for table in TABLES:
            created = lake.ask("POST", "/namespaces/s/tables", table)
            assert created.status_code == 200, created.text
        token = {"Authorization": f"Bearer {governed(lake, home, users)}"}
        flags = ("--service-admins", "admin", "--warehouse", str(home / "warehouse"))
        paths = f"{os.getcwd()}:{os.environ.get('PYTHONPATH', '')}"
        off = open.enter_context(running(home, *flags, command=UNCHECKED, PYTHONPATH=paths))
        two = open.enter_context(running(home, *flags, "--workers", "2"))
        fixture = open.enter_context(fixture_server(folder / "fixture"))
        httpx.post(f"{fixture}/v1/namespaces", json={"namespace": ["s"]}).raise_for_status()
        for table in TABLES:
            httpx.post(f"{fixture}/v1/namespaces/s/tables", json=table).raise_for_status()
        urls = {ON: lake.server.url, OFF: off.url, WORKERS: two.url}
        yield (
            [
                Server(FIXTURE, Target(f"{fixture}/v1")),
                *(Server(name, Target(f"{url}/iceberg/v1/lake.cat", token)) for name, url in urls.items()),
            ],
            idle,
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="fewer users, requests and rounds")
    options.add_argument("--requests", type=int, help="loads of a round")
    options.add_argument("--rounds", type=int)
    given = options.parse_args()
    requests = given.requests or (300 if given.quick else 3000)
    repeat = given.rounds or (2 if given.quick else 5)
    with (
        tempfile.TemporaryDirectory() as folder,
        everyone(Path(folder), FEW_USERS if given.quick else USERS) as (servers, idle),
    ):
        for server in servers:
            assert server.columns() == [field["name"] for field in SCHEMA["fields"]], server.name
            storm(server.target, server.load, requests * 2, 16)
            storm(server.target, server.commit, requests // 10, 1)
        found = rounds(servers, requests, repeat)
    goals = compared(found, idle)
    show(found, goals)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"cases": found, "idle_mb": idle, "goals": goals}, indent=2) + "\n")


def compared(found: Found, idle: float) -> list[dict[str, Any]]:
    """What was found beside what was aimed at."""

    def p50(case: str, server: str, other: str) -> float:
        return found[case][server]["p50"] / found[case][other]["p50"]

    loads = ["load, 1 client", "load, 16 clients"]
    goals = [(f"{case}: headgate ÷ fixture", p50(case, ON, FIXTURE), 1.5) for case in loads]
    goals += [(f"{case}: 2 workers ÷ fixture", p50(case, WORKERS, FIXTURE), 1.5) for case in loads]
    goals += [(f"{case}: authorisation on ÷ off", p50(case, ON, OFF), 1.1) for case in found]
    goals += [("idle server, MB", idle, 200)]
    return [
        {"goal": name, "found": value, "at most": most, "met": value <= most} for name, value, most in goals
    ]


def show(found: Found, goals: list[dict[str, Any]]) -> None:
    table = Table("case", "server", "p50 ms", "p99 ms", "a second", "p50 ÷ fixture")
    for case, servers in found.items():
        for name in (FIXTURE, ON, OFF, WORKERS):
            result = servers[name]
            numbers = [f"{result[key]:.2f}" for key in ("p50", "p99")]
            ratio = result["p50"] / servers[FIXTURE]["p50"]
            table.add_row(case, name, *numbers, f"{result['per_second']:.0f}", f"{ratio:.2f}")
    aims = Table("goal", "found", "at most", "")
    for goal in goals:
        aims.add_row(
            goal["goal"], f"{goal['found']:.2f}", f"{goal['at most']}", "met" if goal["met"] else "MISSED"
        )
    console = Console()
    console.print(table)
    console.print(aims)


if __name__ == "__main__":
    main()
