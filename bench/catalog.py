"""LoadTable and commit over HTTP, at 1 and 16 clients, with authorisation on and off, beside Apache's fixture server.

    python -m bench.catalog [--requests 400]

All servers run at the same time and are asked in turns, so a busy machine is busy for all of them. "Off" is the caller
who owns the metalake, for whom the first condition holds; "on" is one of 200 users whose right comes from a role among
200 roles. Every answer is checked.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table
from tests.real.iceberg_kit import fixture_server
from tests.real.iceberg_lake import IcebergLake, iceberg_lake
from tests.real.server import headgate

RESULTS = Path(__file__).parent / "results" / "catalog.json"
SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": n, "name": f"c{n}", "type": "long", "required": False} for n in range(1, 21)],
}
USERS = 200


@dataclass(frozen=True)
class Server:
    """A server under test: how a table is loaded and committed to there."""

    name: str
    client: httpx.Client
    table: str

    def load(self) -> None:
        answer = self.client.get(self.table)
        assert answer.status_code == 200, answer.text

    def commit(self, number: int) -> None:
        update = {"action": "set-properties", "updates": {"n": str(number)}}
        answer = self.client.post(self.table, json={"requirements": [], "updates": [update]})
        assert answer.status_code == 200, answer.text


def measured(act: Callable[[int], Any], requests: int, clients: int) -> dict[str, float]:
    """Milliseconds at the median and the 99th percentile, and requests a second."""
    times: list[float] = []

    def one(number: int) -> None:
        start = time.perf_counter()
        act(number)
        times.append((time.perf_counter() - start) * 1000)

    begin = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(one, range(requests)))
    seconds = time.perf_counter() - begin
    times.sort()
    return {
        "p50": statistics.median(times),
        "p99": times[min(len(times) - 1, int(len(times) * 0.99))],
        "per_second": requests / seconds,
    }


def rounds(servers: list[Server], requests: int) -> dict[str, dict[str, dict[str, float]]]:
    """Each case of each server, in turns; the best of three rounds by its median."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for clients in (1, 16):
        for _ in range(3):
            for server in servers:
                cases = {
                    f"load, {clients} clients": measured(lambda _, s=server: s.load(), requests, clients)
                }
                if clients == 1:
                    cases["commit, 1 client"] = measured(server.commit, requests // 8, 1)
                for case, result in cases.items():
                    best = found.setdefault(case, {}).get(server.name)
                    if best is None or result["p50"] < best["p50"]:
                        found[case][server.name] = result
    return found


def governed(lake: IcebergLake, home: Path) -> str:
    """A token of a user whose right to the table comes from one role among many."""
    root = "/api/metalakes/lake"
    for n in range(USERS):
        lake.server.must(lake.token, "POST", f"{root}/users", {"name": f"user{n}"})
        grants = [
            {
                "fullName": name,
                "type": type,
                "privileges": [{"name": privilege, "condition": "allow"} for privilege in privileges],
            }
            for type, name, privileges in (
                ("catalog", "cat", ["use_catalog"]),
                ("schema", "cat.s", ["use_schema"]),
                ("table", "cat.s.t", ["select_table", "modify_table"]),
            )
        ]
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


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--requests", type=int, default=400)
    requests = options.parse_args().requests
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with iceberg_lake(home / "lake") as lake, fixture_server(home / "fixture") as fixture:
            idle = memory(lake.server.process.pid)
            created = lake.ask("POST", "/namespaces/s/tables", {"name": "t", "schema": SCHEMA})
            assert created.status_code == 200, created.text
            httpx.post(f"{fixture}/v1/namespaces", json={"namespace": ["s"]}).raise_for_status()
            made = httpx.post(f"{fixture}/v1/namespaces/s/tables", json={"name": "t", "schema": SCHEMA})
            made.raise_for_status()
            user = governed(lake, home / "lake")
            servers = [
                Server("fixture", httpx.Client(timeout=60), f"{fixture}/v1/namespaces/s/tables/t"),
                *(
                    Server(
                        name,
                        httpx.Client(timeout=60, headers={"Authorization": f"Bearer {token}"}),
                        f"{lake.uri}/v1/lake.cat/namespaces/s/tables/t",
                    )
                    for name, token in (("owner", lake.token), ("governed", user))
                ),
            ]
            for server in servers:
                for _ in range(50):
                    server.load()
            found = rounds(servers, requests)
            for server in servers:
                server.client.close()
    show(found, idle)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"cases": found, "idle_mb": idle}, indent=2) + "\n")


def show(found: dict[str, dict[str, dict[str, float]]], idle: float) -> None:
    table = Table("case", "server", "p50 ms", "p99 ms", "a second", "p50 ÷ fixture")
    for case, servers in found.items():
        for name, result in servers.items():
            ratio = result["p50"] / servers["fixture"]["p50"]
            table.add_row(
                case,
                name,
                f"{result['p50']:.2f}",
                f"{result['p99']:.2f}",
                f"{result['per_second']:.0f}",
                f"{ratio:.2f}",
            )
    console = Console()
    console.print(table)
    console.print(f"idle server: {idle:.0f} MB")


if __name__ == "__main__":
    main()
