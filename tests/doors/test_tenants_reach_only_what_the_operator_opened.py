"""CREATE_CATALOG is no right to the server's disk or network: places and hosts are the operator's to open."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from headgate.catalogs.openings import Openings
from headgate.steward import Steward
from headgate.store import Store
from tests.conftest import Api, in_process
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People

CATALOGS = f"{LAKE}/catalogs"
ICEBERG = {"type": "relational", "provider": "lakehouse-iceberg"}
TOKEN = "hg_0123456789abcdef_a-live-token-of-somebody"


@pytest.fixture
def openings() -> Openings:
    """The default: the server's own warehouse, which the steward opens by itself, and no host."""
    return Openings()


@pytest.fixture(autouse=True)
def lake(api: Api, people: People) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    people.join("mallory")
    people.may("mallory", "CREATE_CATALOG USE_CATALOG", "metalake", "lake")


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """A folder of the machine that is nobody's lake."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "tokens.json").write_text(json.dumps({"format-version": TOKEN, "table-uuid": TOKEN}))
    return folder


@pytest.fixture
def listener() -> Iterator[tuple[int, list[str]]]:
    """A server on this machine, and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"defaults": {}, "overrides": {}}')

        do_POST = do_PUT = do_HEAD = do_GET

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, asked
    server.shutdown()
    server.server_close()


def declare(api: Api, properties: dict[str, str], name: str = "c", **more: str) -> httpx.Response:
    return api("mallory", "POST", CATALOGS, {"name": name, **ICEBERG, **more, "properties": properties})


def refused(answer: httpx.Response, *words: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (400, 1001), answer.text
    for word in words:
        assert word in answer.json()["message"]


def test_a_catalog_names_no_folder_that_is_not_open(api: Api, secrets: Path, tmp_path: Path) -> None:
    for key in ("warehouse", "allowed-locations"):
        for place in (
            str(secrets),
            "/etc",
            f"file://{secrets}",
            "s3://their-bucket/x",
            f"{tmp_path}/warehouse-2",
        ):
            refused(declare(api, {key: place}), f"'{key}'", "'places' in headgate.toml")
    refused(declare(api, {"location": str(secrets)}, type="fileset", provider="fileset"), "'places'")
    refused(declare(api, {"location-x": "s3://theirs"}, type="fileset", provider="fileset"), "'places'")
    words = {"location": f"{secrets}/{{{{schema}}}}/x"}
    refused(declare(api, words, type="fileset", provider="fileset"), "'places'")
    # The server's own warehouse is open.
    assert declare(api, {"warehouse": str(tmp_path / "warehouse" / "mine")}).status_code == 200
    altered = {"updates": [{"@type": "setProperty", "property": "allowed-locations", "value": str(secrets)}]}
    refused(api("mallory", "PUT", f"{CATALOGS}/c", altered), "allowed-locations")
    tested = api("mallory", "POST", f"{CATALOGS}/c/testConnection", altered)
    assert tested.json()["code"] == 1001, tested.text


def test_no_file_of_the_machine_is_quoted_by_register(api: Api, secrets: Path, tmp_path: Path) -> None:
    assert declare(api, {}).status_code == 200
    ice = "/iceberg/v1/lake.c"
    assert api("mallory", "POST", f"{ice}/namespaces", {"namespace": ["s"]}).status_code == 200
    (tmp_path / "warehouse").mkdir(exist_ok=True)
    link = tmp_path / "warehouse" / "link"
    link.symlink_to(secrets)
    for path in (secrets / "tokens.json", link / "tokens.json", tmp_path / "store.db"):
        body = {"name": "t", "metadata-location": str(path)}
        answer = api("mallory", "POST", f"{ice}/namespaces/s/register", body)
        assert answer.status_code == 400, answer.text
        assert TOKEN not in answer.text


def test_a_fileset_lists_no_folder_of_the_machine(api: Api, secrets: Path) -> None:
    catalog = {"name": "f", "type": "fileset"}
    assert api("mallory", "POST", CATALOGS, catalog).status_code == 200
    for name, properties in (("s", {}), ("t", {"location": str(secrets)})):
        made = api("mallory", "POST", f"{CATALOGS}/f/schemas", {"name": name, "properties": properties})
        assert made.status_code == 200, made.text
        for place in ({"storageLocation": str(secrets)}, {"storageLocations": {"a": f"file:{secrets}/x"}}):
            for type in ("managed", "external"):
                body = {"name": "x", "type": type, **place}
                answer = api("mallory", "POST", f"{CATALOGS}/f/schemas/{name}/filesets", body)
                refused(answer, "'places'")
    refused(api("mallory", "POST", f"{CATALOGS}/f/schemas/t/filesets", {"name": "y"}), "'places'")
    assert "tokens.json" not in api("mallory", "GET", f"{CATALOGS}/f/schemas/s/filesets/x/files").text


def test_no_host_is_asked_that_is_not_open(api: Api, listener: tuple[int, list[str]]) -> None:
    port, asked = listener
    for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "169.254.169.254", "2130706433", "127.1"):
        url = f"http://{host}:{port}"
        for properties in (
            {"catalog-backend": "rest", "uri": url},
            {"s3-endpoint": url},
            {"s3.endpoint": url},
            {"s3-sts-endpoint": url, "s3-role-arn": "arn:aws:iam::1:role/x"},
        ):
            refused(declare(api, properties), "has not opened", "'hosts' in headgate.toml")
            body = {"name": "c", **ICEBERG, "properties": properties}
            tested = api("mallory", "POST", f"{CATALOGS}/testConnection", body)
            assert tested.json()["code"] == 1001, tested.text
    assert asked == []


def test_what_the_operator_shuts_is_shut_for_catalogs_that_are_there(
    store: Store, tmp_path: Path, listener: tuple[int, list[str]]
) -> None:
    port, asked = listener
    elsewhere = tmp_path / "elsewhere"

    def operated(openings: Openings) -> Steward:
        return Steward(
            store, service_admins=frozenset({"admin"}), warehouse=str(tmp_path / "w"), openings=openings
        )

    wide = operated(opened(elsewhere))
    with in_process(wide) as api:
        assert declare(api, {"warehouse": str(elsewhere)}, "there").status_code == 200
        rest = {"catalog-backend": "rest", "uri": f"http://127.0.0.1:{port}"}
        assert declare(api, rest, "other").status_code == 200
        ice = "/iceberg/v1/lake.there/namespaces"
        assert api("mallory", "POST", ice, {"namespace": ["s"]}).status_code == 200
        fields = [{"id": 1, "name": "a", "type": "int", "required": False}]
        table = {"name": "t", "schema": {"type": "struct", "fields": fields}}
        assert api("mallory", "POST", f"{ice}/s/tables", table).status_code == 200
        assert api("mallory", "GET", f"{ice}/s/tables/t").status_code == 200
        api("mallory", "GET", f"{CATALOGS}/other/schemas")
    wide.close()
    before = len(asked)
    assert before > 0, "the host was open"
    narrow = operated(Openings())
    with in_process(narrow) as api:
        loaded = api("mallory", "GET", f"{ice}/s/tables/t")
        assert loaded.status_code == 403, loaded.text
        assert "'places'" in loaded.text
        api("mallory", "GET", f"{CATALOGS}/other/schemas")
        api("mallory", "GET", "/iceberg/v1/lake.other/namespaces/x/tables/t")
        tested = api("mallory", "POST", f"{CATALOGS}/other/testConnection", {"updates": []})
        assert tested.json()["code"] != 0
        dropped = api("mallory", "DELETE", f"{CATALOGS}/there?force=true")
        assert dropped.json()["dropped"] is True, "its owner can still drop it"
    narrow.close()
    assert len(asked) == before
