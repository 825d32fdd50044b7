"""Forged tables in a real Headgate server process: planned over HTTP, as a client would."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.iceberg_lake import IcebergLake, iceberg_lake

from bench.forge import ForgedTable
from bench.wire import Connection, Target

CATALOG = "lake.forged"
_FILE = b'"file-path":'


@dataclass(frozen=True)
class Served:
    """A server process with a catalog of forged tables."""

    lake: IcebergLake

    @property
    def uri(self) -> str:
        return self.lake.uri

    @property
    def token(self) -> str:
        return self.lake.token

    @property
    def target(self) -> Target:
        return Target(f"{self.uri}/v1/{CATALOG}", {"Authorization": f"Bearer {self.token}"})

    def register(self, name: str, table: ForgedTable) -> None:
        body = {"name": name, "metadata-location": str(table.metadata_path)}
        connection = Connection(self.target)
        connection.ask(self.target.request("POST", "/namespaces/s/register", body))
        connection.close()


@contextmanager
def served(home: Path, forged: Path) -> Iterator[Served]:
    """A server whose catalog takes over the tables forged in a folder."""
    with iceberg_lake(home, flags=("--no-worker",), places=(forged,)) as lake:
        catalog = {
            "name": "forged",
            "type": "relational",
            "provider": "lakehouse-iceberg",
            "properties": {"allowed-locations": str(forged)},
        }
        lake.server.must(lake.token, "POST", "/api/metalakes/lake/catalogs", catalog)
        made = lake.server.ask(lake.token, "POST", f"/iceberg/v1/{CATALOG}/namespaces", {"namespace": ["s"]})
        assert made.status_code == 200, made.text
        yield Served(lake)


@dataclass(frozen=True)
class Plans:
    """Plans of one table over one connection."""

    target: Target
    name: str
    connection: Connection

    def whole(self, filter: Any = None, more: dict[str, Any] | None = None) -> tuple[list[bytes], float]:
        """All answers that make up a plan, fetched one after the other, and the milliseconds until the last."""
        body = {"case-sensitive": False, "filter": True if filter is None else filter, **(more or {})}
        request = self.target.request("POST", f"/namespaces/s/tables/{self.name}/plan", body)
        start = time.perf_counter()
        answers = [self._completed(self.connection.ask(request))]
        if answers[0].startswith(b'{"status":"completed","plan-tasks":'):
            for token in json.loads(answers[0])["plan-tasks"]:
                task = self.target.request(
                    "POST", f"/namespaces/s/tables/{self.name}/tasks", {"plan-task": token}
                )
                answers.append(self.connection.ask(task))
        return answers, (time.perf_counter() - start) * 1000

    def _completed(self, answer: bytes) -> bytes:
        """The plan itself, where it took so long that the server said to come back for it."""
        while answer.startswith(b'{"status":"submitted"'):
            time.sleep(0.02)
            path = f"/namespaces/s/tables/{self.name}/plan/{json.loads(answer)['plan-id']}"
            answer = self.connection.ask(self.target.request("GET", path))
        return answer

    def timed(self, files: int, filter: Any = None, more: dict[str, Any] | None = None) -> float:
        """Milliseconds of a plan that finds so many files."""
        answers, milliseconds = self.whole(filter, more)
        found = sum(answer.count(_FILE) for answer in answers)
        if found != files:
            raise AssertionError(f"the server planned {found} files of {self.name} instead of {files}")
        return milliseconds


def http_cases(server: Served, name: str, table: ForgedTable, repeat: int) -> dict[str, Any]:
    """Cold once, then warm plans in shuffled order. Cold is the first plan ever of the table in a running server.

    Each warm plan is asked for in words of its own, so that it is evaluated; repeated ones are asked for in the same words.
    """
    connection = Connection(server.target)
    plans = Plans(server.target, name, connection)
    cold = plans.timed(table.files)
    cases = {
        "selective": (table.one_percent_files, table.one_percent_filter),
        "full": (table.files, None),
        "repeated": (table.one_percent_files, table.one_percent_filter),
    }
    plans.timed(*cases["repeated"])
    times: dict[str, list[float]] = {case: [] for case in cases}
    order = [case for case in cases for _ in range(repeat)]
    random.shuffle(order)
    for number, case in enumerate(order, 1):
        own = None if case == "repeated" else {"select": [table.one_percent_column] * number}
        times[case].append(plans.timed(*cases[case], own))
    connection.close()
    return {
        "http_cold_ms": cold,
        "http_cold_files_per_second": table.files / cold * 1000,
        "http_selective_ms": statistics.median(times["selective"]),
        "http_selective_best_ms": min(times["selective"]),
        "http_repeated_ms": statistics.median(times["repeated"]),
        "http_full_ms": statistics.median(times["full"]),
        "http_full_best_ms": min(times["full"]),
        "http_full_files_per_second": table.files / min(times["full"]) * 1000,
    }
