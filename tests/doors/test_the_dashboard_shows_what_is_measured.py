"""Promise: every metric of the dashboard is in /metrics of a running server with the labels that are asked for, and each metric of
/metrics has its line on the page and its place on the dashboard."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio.from_thread
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from headgate.doors.app import create
from headgate.settings.server import load
from tests.peers import ROOT

DASHBOARD = json.loads((ROOT / "deploy/grafana/headgate.json").read_text())
PAGE = (ROOT / "docs/metrics.md").read_text()
NAMES = re.compile(r"\bheadgate_\w+")
LABELS = re.compile(r"(\w+)=~?\"")
BY = re.compile(r"by \(([^)]*)\)")
OF_PROMETHEUS = {"job", "le"}
"""Labels that the scrape adds, and that buckets have."""


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


@pytest.fixture
def measured(tmp_path: Path, empty_store: bytes) -> Iterator[Any]:
    """`scrape()` of a whole server that has just answered something."""
    (tmp_path / "headgate.db").write_bytes(empty_store)
    settings = load({"home": str(tmp_path), "dev": True}, {})
    transport = httpx.ASGITransport(app=create(settings), client=("127.0.0.1", 1))
    with anyio.from_thread.start_blocking_portal() as portal:
        client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", auth=("admin", "x"))

        def scrape() -> dict[str, set[str]]:
            portal.call(lambda: client.get("/api/metalakes"))
            answer = portal.call(lambda: client.get("/metrics"))
            assert answer.status_code == 200, answer.text
            found: dict[str, set[str]] = {}
            for family in text_string_to_metric_families(answer.text):
                for sample in family.samples:
                    found.setdefault(sample.name, set()).update(sample.labels)
            return found

        yield scrape
        portal.call(client.aclose)


def test_every_metric_of_the_dashboard_is_measured(measured: Any) -> None:
    found = measured()
    for expression in expressions():
        names = NAMES.findall(expression)
        assert names
        for name in names:
            assert name in found, f"nothing measures {name}"
        asked = set(LABELS.findall(expression)) | {
            label.strip() for group in BY.findall(expression) for label in group.split(",")
        }
        assert asked - OF_PROMETHEUS <= found[names[0]], expression


def test_every_metric_is_on_the_page_and_on_the_dashboard(measured: Any) -> None:
    shown = set(NAMES.findall(" ".join(expressions())))
    for name in measured():
        if name.endswith("_created"):
            continue
        whole = re.sub(r"_(bucket|count|sum)$", "", name)
        assert f"| `{whole}` |" in PAGE, f"docs/metrics.md does not name {whole}"
        assert {whole, f"{whole}_bucket", f"{whole}_count"} & shown, f"the dashboard does not show {whole}"


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
