"""What the server tells about itself: Prometheus metrics. Names of routes only, never of people or objects."""

import os
import time

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
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
