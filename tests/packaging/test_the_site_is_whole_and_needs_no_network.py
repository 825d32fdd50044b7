"""Promise: the documentation is a site whose links all lead somewhere, which can be searched, and which asks nobody else for anything."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.installed import clean
from tests.peers import ROOT

NOWHERE = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
FETCHED = re.compile(
    r"""<(?:script|img|iframe)[^>]*\ssrc=["'](?:https?:)?//|<link[^>]*\shref=["'](?:https?:)?//"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    made = subprocess.run(
        build, cwd=ROOT, capture_output=True, text=True, timeout=200, env=clean(**NOWHERE), check=False
    )
    assert made.returncode == 0, made.stderr
    return folder


def test_every_page_is_on_the_site(site: Path) -> None:
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    made = {page.relative_to(site).with_suffix(".md") for page in site.rglob("*.html")}
    for page in pages:
        assert (page.with_name("index.md") if page.name == "README.md" else page) in made
    assert {Path("start.md"), Path("security.md"), Path("changes.md")} <= made


def test_a_browser_fetches_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not FETCHED.search(page.read_text()), page.name
    assert "@import" not in "".join(sheet.read_text() for sheet in site.rglob("*.css"))


def test_what_is_searched_for_is_found(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text())
    for word, page in (
        ("headgate_requests_total", "metrics.html"),
        ("show_last_4", "masks.html"),
        ("pg_dump", "keeping.html"),
    ):
        assert any(word in entry["text"] and entry["location"].startswith(page) for entry in index["docs"]), (
            word
        )


def test_no_page_has_a_picture_that_is_drawn_elsewhere() -> None:
    assert not [
        page for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")) if "```mermaid" in page.read_text()
    ]
