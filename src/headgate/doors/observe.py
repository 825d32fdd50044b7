"""What the server tells about itself: Prometheus metrics. Names of routes only, never of people or objects."""

import time

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest


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

    def seen(self, door: str, route: str, method: str, status: int, started: float) -> None:
        self._requests.labels(door, route, method if len(method) < 10 else "other", str(status)).inc()
        self._seconds.labels(door, method if len(method) < 10 else "other").observe(
            time.perf_counter() - started
        )

    def text(self) -> bytes:
        return generate_latest(self.registry)
