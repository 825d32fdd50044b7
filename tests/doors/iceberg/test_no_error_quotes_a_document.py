"""Whatever a file holds that is named as metadata, no answer and no log repeats a value or a key of it."""

import gzip
import itertools
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.conftest import Api
from tests.doors.iceberg.conftest import ICE, SCHEMA, create
from tests.doors.lake import LAKE
from tests.planning.forge import Forge, ForgedFile, ForgedManifest, ForgedSnapshot, simple_schema

CANARY = "canary7f3a"
"""In every value and every key of a document that is not Iceberg's."""
_numbers = itertools.count()

WORDS = (
    *("format-version", "table-uuid", "location", "schemas", "schema", "fields", "id", "name", "type"),
    *(
        "current-schema-id",
        "last-column-id",
        "partition-specs",
        "sort-orders",
        "properties",
        "refs",
        "snapshots",
    ),
    *(
        "snapshot-id",
        "manifest-list",
        "view-uuid",
        "versions",
        "version-log",
        "current-version-id",
        "statistics",
    ),
    *("view-version", "representations", "default-namespace", "schema-id", "summary", "last-sequence-number"),
)
_text = st.just(CANARY) | st.builds(lambda n: f"{CANARY}-{n}", st.integers(0, 9))
_leaf = _text | st.sampled_from([1, 2, 3, True, None, -1, [], {}, 2**70, 1.5])
_value = st.recursive(
    _leaf,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS) | _text, inner, max_size=5)
    ),
    max_leaves=25,
)
DOCUMENTS = st.dictionaries(st.sampled_from(WORDS) | _text, _value, max_size=12)


def valid(folder: Path) -> dict[str, Any]:
    """A document that is metadata of a table, to spoil."""
    return {
        "format-version": 2,
        "table-uuid": "7f1b0c1e-0000-4000-8000-000000000000",
        "location": str(folder),
        "last-sequence-number": 0,
        "last-updated-ms": 0,
        "last-column-id": 2,
        "current-schema-id": 0,
        "schemas": [{**SCHEMA, "schema-id": 0}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {},
        "snapshots": [],
        "refs": {},
    }


def quiet(capfd: pytest.CaptureFixture[str], *answers: httpx.Response) -> None:
    for answer in answers:
        assert answer.status_code >= 400, answer.text
        assert answer.status_code < 500, answer.text
        assert CANARY not in answer.text, answer.text
    out, err = capfd.readouterr()
    assert CANARY not in out + err


def registered(api: Api, folder: Path, content: bytes) -> list[httpx.Response]:
    """Answers to whoever names a file of the catalog's own place as a table and as a view."""
    path = folder / f"{next(_numbers)}.metadata.json"
    path.write_bytes(content)
    found = []
    for route in ("register", "register-view"):
        body = {"name": f"x{next(_numbers)}", "metadata-location": str(path)}
        found.append(api("admin", "POST", f"{ICE}/namespaces/s/{route}", body))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "forged"
    found.mkdir(exist_ok=True)
    return found


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=DOCUMENTS)
@example(document={"format-version": CANARY})
@example(document={"format-version": 2, CANARY: CANARY, "table-uuid": CANARY})
@example(document={"format-version": 2, "refs": {CANARY: 5}, "properties": {CANARY: {CANARY: 1}}})
@example(document={"format-version": 1, "view-uuid": CANARY})
@example(document={"format-version": CANARY, "view-uuid": "7f1b0c1e-0000-4000-8000-000000000000"})
def test_registering_any_file_quotes_nothing_of_it(
    api: Api, folder: Path, capfd: pytest.CaptureFixture[str], document: dict[str, Any]
) -> None:
    quiet(capfd, *registered(api, folder, json.dumps(document).encode()))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(sorted(valid(Path("/x")))), value=_value)
@example(key="location", value=f"/{CANARY}")
@example(key="properties", value={f"write.location-provider.{CANARY}": CANARY})
@example(key="properties", value={"write.data.path": f"/{CANARY}"})
@example(key="snapshots", value=[{"snapshot-id": 1, "manifest-list": f"/{CANARY}", "timestamp-ms": 1}])
@example(key="schemas", value=[{"type": "struct", "fields": [{"id": 1, "name": "a", "type": CANARY}]}])
def test_a_document_with_one_fault_is_refused_without_its_value(
    api: Api, folder: Path, capfd: pytest.CaptureFixture[str], key: str, value: Any
) -> None:
    place = folder / f"t{next(_numbers)}"
    answers = registered(api, folder, json.dumps({**valid(place), key: value}).encode())
    quiet(capfd, *(answer for answer in answers if answer.status_code != 200))


def test_a_file_that_is_no_document_is_refused_without_its_content(
    api: Api, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for content in (
        CANARY.encode(),
        f'{{"a": "{CANARY}'.encode(),
        f'"{CANARY}"'.encode(),
        f'["{CANARY}"]'.encode(),
        gzip.compress(CANARY.encode()),
        gzip.compress(CANARY.encode())[:-9],
        b"\x1f\x8b" + CANARY.encode(),
        CANARY.encode() + b"\xff",
    ):
        quiet(capfd, *registered(api, folder, content))


def test_manifests_are_refused_without_what_they_hold(
    api: Api, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from pyiceberg.types import LongType

    place = folder / "m"
    place.mkdir()
    forge = Forge(place, [simple_schema(("id", LongType()))])
    file = ForgedFile(f"/{CANARY}/f.parquet", ({1: 1},), snapshot=1)
    document = forge.table(ForgedSnapshot((ForgedManifest((file,), snapshot=1, sequence=1),), 1))
    body = {"name": "m", "metadata-location": str(forge.metadata_path)}
    assert api("admin", "POST", f"{ICE}/namespaces/s/register", body).status_code == 200
    manifest, listed = next(place.glob("manifest-*")), Path(document["snapshots"][0]["manifest-list"])

    def asked() -> list[httpx.Response]:
        planned = api("admin", "POST", f"{ICE}/namespaces/s/tables/m/plan", {})
        return [planned, api("admin", "GET", f"{LAKE}/catalogs/cat/schemas/s/tables/m/partitions")]

    quiet(capfd, *asked())
    for target in (manifest, listed):
        before = target.read_bytes()
        for content in (
            CANARY.encode(),
            b"Obj\x01" + CANARY.encode(),
            before.replace(b"deflate", b"defrost"),
            before[:-20] + CANARY.encode(),
            before[: len(before) // 2],
            before.replace(b'"name"', b'"%s"' % CANARY[:4].encode()),
        ):
            target.write_bytes(content)
            quiet(capfd, *asked())
        target.write_bytes(before)


@pytest.fixture
def other() -> Iterator[tuple[int, dict[str, Any]]]:
    """Another catalog's server that answers as it is told to."""
    answer: dict[str, Any] = {"status": 200, "body": {}}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            self.rfile.read(length)
            config = self.path.startswith("/v1/config")
            body = json.dumps({"defaults": {}} if config else answer["body"]).encode()
            listed = self.command == "GET" and not self.path.endswith("/t")
            if listed and not config:
                body = b'{"namespaces": [["s"]], "identifiers": [{"namespace": ["s"], "name": "t"}]}'
            self.send_response(200 if config or listed else answer["status"])
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_DELETE = do_GET

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, answer
    server.shutdown()
    server.server_close()


def test_what_another_catalog_says_of_a_file_is_not_passed_on(
    api: Api, other: tuple[int, dict[str, Any]], capfd: pytest.CaptureFixture[str]
) -> None:
    port, answer = other
    properties = {"catalog-backend": "rest", "uri": f"http://127.0.0.1:{port}"}
    catalog = {"name": "fed", "type": "relational", "provider": "lakehouse-iceberg", "properties": properties}
    assert api("admin", "POST", f"{LAKE}/catalogs", catalog).status_code == 200
    tables = "/iceberg/v1/lake.fed/namespaces/s"
    assert api("admin", "GET", f"{tables}/tables").status_code == 200
    for status in (400, 401, 403, 409, 422, 500, 503):
        answer["status"] = status
        for message in (CANARY, f"cannot parse\n{CANARY}", f'not metadata: {{"a": "{CANARY}"}}'):
            answer["body"] = {"error": {"message": message, "type": "BadRequestException", "code": status}}
            body = {"name": "new", "metadata-location": "/etc/passwd"}
            answers = [api("admin", "POST", f"{tables}/register", body)]
            if status in (401, 403, 500, 503) or message != CANARY:
                answers.append(api("admin", "GET", f"{tables}/tables/t"))
            for each in answers:
                assert each.status_code >= 400
                assert CANARY not in each.text
    answer["status"] = 200
    for spoilt in ({CANARY: 1}, {"format-version": CANARY}, {**valid(Path("/x")), "schemas": CANARY}):
        answer["body"] = {"metadata-location": "/x/m.json", "metadata": spoilt}
        loaded = api("admin", "GET", f"{LAKE}/catalogs/fed/schemas/s/tables/t")
        assert loaded.status_code >= 400, loaded.text
        assert CANARY not in loaded.text
    assert CANARY not in "".join(capfd.readouterr())


def test_a_document_that_is_fine_is_registered(api: Api, folder: Path) -> None:
    """The tests above look at refusals: this is what they are refusals of."""
    assert create(api).status_code == 200
    place = folder / "fine"
    first = registered(api, folder, json.dumps(valid(place)).encode())[0]
    assert first.status_code == 200, first.text
