"""A federated catalog's server may answer anything: what is the server's own stays its own, and no answer is a failure."""

import gzip
import itertools
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.openings import Openings
from headgate.model.errors import IllegalArgument
from headgate.steward import Steward
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import SCHEMA, create
from tests.doors.iceberg.test_federated_tables_keep_their_place import FED, GRAVITINO, declare
from tests.openings import opened
from tests.people import People


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://theirs", largest_document=2 * 1024 * 1024)


@pytest.fixture
def remote(api: Api) -> Iterator[AnyRest]:
    with any_rest() as remote:
        declare(api, remote)
        yield remote


@pytest.mark.parametrize("how", [{}, {"stage-create": True}])
def test_the_servers_own_folders_are_given_to_no_table_of_others(
    api: Api, remote: AnyRest, tmp_path: Path, how: dict[str, Any]
) -> None:
    own = f"file://{tmp_path}/warehouse"
    folder = create(api, "t").json()["metadata"]["location"].rpartition("/")[0]
    for number, place in enumerate(
        (f"{own}/_headgate/lake/cat/7", "s3://theirs/_headgate/x", f"{folder}/next", f"{folder}2")
    ):
        remote.choose = place
        answer = api("admin", "POST", FED, {"name": f"u{number}", "schema": SCHEMA, **how})
        assert answer.status_code in (400, 403), (place, answer.text)
        remote.tables.clear()
        if not how:
            remote.put(f"v{number}", place)
            assert api("admin", "GET", f"{FED}/v{number}").status_code == 403, place
            remote.tables.clear()


WRONG: tuple[Any, ...] = (None, [], {}, "x", 7, [None], {"a": 1}, [["r"], 7])


@pytest.mark.slow
def test_no_answer_of_another_server_is_a_failure_of_this_one(
    api: Api, remote: AnyRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = remote.put("t", "s3://theirs/t")
    honest = remote.answer
    answers: list[tuple[str, Any]] = [("namespaces", {"namespaces": wrong}) for wrong in WRONG]
    answers += [("tables", {"identifiers": wrong}) for wrong in WRONG]
    answers += [(at, wrong) for at in ("namespaces", "tables", "t", "config") for wrong in WRONG]
    answers += [
        ("t", {"metadata": {**good, key: wrong}})
        for key in ("location", "properties", "table-uuid", "schemas", "format-version")
        for wrong in WRONG
    ]
    answers += [("t", {"metadata": good, "metadata-location": wrong}) for wrong in WRONG]
    answers += [("config", {key: wrong}) for key in ("defaults", "overrides", "endpoints") for wrong in WRONG]
    answers += [
        ("config", {"overrides": {"prefix": wrong}}) for wrong in (*WRONG, "\n", "a b", "../..", "#", "?")
    ]
    failures = []
    for number, (at, wrong) in enumerate(answers):

        def lies(method: str, path: str, body: Any, at: str = at, wrong: Any = wrong) -> tuple[int, Any]:
            return (200, wrong) if path.rstrip("/").endswith(f"/{at}") else honest(method, path, body)

        monkeypatch.setattr(remote, "answer", lies)
        if at == "config":
            body = {"name": f"f{number}", "type": "relational", "provider": "lakehouse-iceberg"}
            properties = {"catalog-backend": "rest", "uri": remote.url}
            asked = [
                api(
                    "admin",
                    "POST",
                    "/api/metalakes/lake/catalogs/testConnection",
                    {**body, "properties": properties},
                )
            ]
        else:
            asked = [
                api("admin", "GET", path)
                for path in (FED, GRAVITINO, f"{FED}/t", f"{GRAVITINO}/t", f"{FED}/new")
            ]
        failures += [
            (at, wrong, a.request.url.path, a.text[:60])
            for a in asked
            if "failed to answer: the server's" in a.text
        ]
    assert not failures, (
        len(failures),
        len(answers),
        [f[:3] for f in itertools.islice(failures, 0, None, 7)],
    )


HALF = "x\ud800"
"""Half of a character: JSON can say it, and no answer and no store can hold it."""


@pytest.mark.slow
def test_what_cannot_be_said_again_is_a_failure_neither(
    api: Api, people: People, remote: AnyRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = remote.put("t", "s3://theirs/t")
    honest = remote.answer
    columns = [{"id": 1, "name": "a", "type": "int", "required": False}]
    answers: list[tuple[str, int, Any]] = [
        ("t", status, {"error": {"message": HALF, "type": HALF, "code": status}})
        for status in (400, 404, 409)
    ]
    answers += [
        ("t", 200, {"metadata": {**good, **wrong}})
        for wrong in (
            {"properties": {"comment": HALF}},
            {"properties": {HALF: "x"}},
            {"location": f"s3://theirs/{HALF}"},
            {"table-uuid": HALF},
            {"schemas": [{**good["schemas"][0], "fields": [{**columns[0], "name": HALF}]}]},
            {"schemas": [{**good["schemas"][0], "fields": [{**columns[0], "id": "one"}]}]},
            {"schemas": [{**good["schemas"][0], "fields": [{**columns[0], "id": float("inf")}]}]},
            {"schemas": [{**good["schemas"][0], "schema-id": "none"}]},
            *({key: [[]]} for key in ("partition-specs", "sort-orders", "snapshots", "refs", "schemas")),
            {"sort-orders": [{**good["sort-orders"][0], "fields": [[]]}]},
        )
    ]
    answers += [
        ("namespaces", 200, {"namespaces": [["r"], [HALF]]}),
        ("tables", 200, {"identifiers": [{"namespace": ["r"], "name": HALF}]}),
        ("tables", 200, {"identifiers": [], "next-page-token": HALF}),
    ]
    # Policies ask for the columns of whoever is restricted.
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    applied(api, "policy: p\non: lake.fed\nto: [user:ann]\nhide: [a]\n")
    for at, status, wrong in answers:

        def lies(
            method: str, path: str, body: Any, at: str = at, status: int = status, wrong: Any = wrong
        ) -> tuple[int, Any]:
            return (status, wrong) if path.rstrip("/").endswith(f"/{at}") else honest(method, path, body)

        monkeypatch.setattr(remote, "answer", lies)
        for path in (FED, GRAVITINO, f"{FED}/t", f"{GRAVITINO}/t", f"{GRAVITINO}/t/partitions"):
            for user in ("admin", "ann"):
                answer = api(user, "GET", path)
                assert "failed to answer: the server's" not in answer.text, (at, wrong, path, user)


def test_pages_without_end_are_given_up(api: Api, remote: AnyRest, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, asked = remote.answer, []

    def endless(method: str, path: str, body: Any) -> tuple[int, Any]:
        if path.endswith("/namespaces"):
            asked.append(path)
            if len(asked) > 2000:
                return 404, {"error": {"message": "enough", "type": "x", "code": 404}}
            return 200, {"namespaces": [], "next-page-token": f"n{len(asked)}"}
        return honest(method, path, body)

    monkeypatch.setattr(remote, "answer", endless)
    api("admin", "GET", FED)
    assert len(asked) < 2000


@pytest.mark.parametrize("names", [[], ["a"]])
def test_the_same_page_again_and_again_is_given_up(
    api: Api, remote: AnyRest, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    honest, asked = remote.answer, []

    def endless(method: str, path: str, body: Any) -> tuple[int, Any]:
        if path.endswith("/namespaces"):
            asked.append(path)
            return 200, {"namespaces": [names] if names else [], "next-page-token": "again"}
        return honest(method, path, body)

    monkeypatch.setattr(remote, "answer", endless)
    assert api("admin", "GET", FED.removesuffix("/r/tables")).status_code in (400, 422, 502, 503)
    assert len(asked) < 20


def test_more_names_than_can_be_kept_are_refused_and_none_of_them_is_kept(
    api: Api, remote: AnyRest, steward: Steward, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.catalogs.outside.pages.MOST_NAMES", 50)
    honest, asked = remote.answer, itertools.count()

    def endless(method: str, path: str, body: Any) -> tuple[int, Any]:
        if path.endswith("/tables"):
            number = next(asked)
            entries = [{"namespace": ["r"], "name": f"t{number}_{n}"} for n in range(10)]
            return 200, {"identifiers": entries, "next-page-token": f"n{number}"}
        return honest(method, path, body)

    monkeypatch.setattr(remote, "answer", endless)
    answer = api("admin", "GET", GRAVITINO)
    assert answer.status_code >= 400
    assert "50 names" in answer.text, "it says what to do"
    assert next(asked) < 10
    assert not any(node.name.startswith("t0_") for node in steward.kernel.authority().objects.values())


def test_a_schema_loses_no_table_that_cannot_be_shown(
    api: Api, remote: AnyRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = GRAVITINO.removesuffix("/tables")
    remote.put("t", "s3://theirs/t")
    remote.put("odd*", "s3://theirs/odd")
    answer = api("admin", "DELETE", f"{schema}?cascade=true")
    assert (answer.status_code, "does not show" in answer.text) == (409, True), answer.text
    assert sorted(remote.tables) == ["odd*", "t"]
    del remote.tables["odd*"]
    honest = remote.answer

    def deep(method: str, path: str, body: Any) -> tuple[int, Any]:
        if path.endswith("/namespaces"):
            return 200, {"namespaces": [["r"] * 500]}
        return (200, {"identifiers": []}) if "%1F" in path else honest(method, path, body)

    monkeypatch.setattr(remote, "answer", deep)
    assert api("admin", "DELETE", f"{schema}?cascade=true").status_code == 409
    assert sorted(remote.tables) == ["t"]


def test_an_answer_too_large_to_be_kept_is_not_read_to_its_end(api: Api, remote: AnyRest) -> None:
    remote.put("t", "s3://theirs/t", comment="x" * 3_000_000)
    answer = api("admin", "GET", f"{FED}/t")
    assert answer.status_code >= 400
    assert "largest-document" in answer.text


def test_packed_metadata_is_unpacked_no_further_than_it_may_be_kept(tmp_path: Path) -> None:
    bomb = tmp_path / "v1.gz.metadata.json"
    bomb.write_bytes(gzip.compress(b" " * 300_000_000))
    storage = Storage({}, opened(tmp_path, largest_document=2 * 1024 * 1024))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(IllegalArgument, match="largest-document"):
        storage.read(f"file://{bomb}")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "in KiB"
    small = tmp_path / "v2.gz.metadata.json"
    small.write_bytes(gzip.compress(b'{"a": 1}') + gzip.compress(b" "))
    assert storage.read(f"file://{small}") == {"a": 1}
