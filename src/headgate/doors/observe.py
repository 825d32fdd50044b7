"""What the server tells about itself: Prometheus metrics. Names of routes only, never of people or objects."""

import os
import time
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from headgate import logs

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Counts requests and their times by door, route and status."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "headgate_requests",
            "Requests answered",
            ["door", "route", "method", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "headgate_request_seconds",
            "Time to answer",
            ["door", "method"],
            registry=self.registry,
            buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
        )
        lost = Counter(
            "headgate_log_lines_lost", "Lines of the log that could not be written", registry=self.registry
        )
        logs.on_loss(lost.inc)
        self._evaluations = Counter(
            "headgate_plan_evaluations",
            "Plans by whether they were found in the cache of evaluations",
            ["cache"],
            registry=self.registry,
        )
        for found in ("hit", "miss"):
            self._evaluations.labels(found)

        self._waits = Histogram(
            "headgate_copies_wait_seconds",
            "Time that readers waited for governed copies, by how it ended: ready, late (they come back), crowded (too many waited), refused",
            ["outcome"],
            registry=self.registry,
            buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20),
        )
        for outcome in ("ready", "late", "crowded", "refused"):
            self._waits.labels(outcome)
        # What all processes share is told by whoever was asked last.
        self._copies = Gauge(
            "headgate_copies",
            "Governed copies by state: wanted, making, made, failed",
            ["state"],
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )
        self._oldest = Gauge(
            "headgate_copies_oldest_seconds",
            "For how long the copy that has waited the longest has been wanted; 0 if none is",
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )

    def waited(self, outcome: str, seconds: float) -> None:
        """Count a client that waited for copies."""
        self._waits.labels(outcome).observe(seconds)

    def backlog(self, copies: Mapping[str, int], oldest: float) -> None:
        """Set what the store says at this moment."""
        for state, count in copies.items():
            self._copies.labels(state).set(count)
        self._oldest.set(oldest)

    def evaluated(self, hit: bool) -> None:
        """Count a plan that was looked for in the cache of evaluations."""
        self._evaluations.labels("hit" if hit else "miss").inc()

    def seen(self, door: str, route: str, method: str, status: int, started: float) -> None:
        known = method if method in _METHODS else "other"
        self._requests.labels(door, route, known, str(status)).inc()
        self._seconds.labels(door, known).observe(time.perf_counter() - started)

    def text(self) -> bytes:
        """All of it; with several processes on one port, the sum over them, whichever is asked."""
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            everyone = CollectorRegistry()
            MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
            return generate_latest(everyone)
        return generate_latest(self.registry)
