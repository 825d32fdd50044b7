"""A federated catalog's server may answer anything: what is the server's own stays its own, and no answer is a failure."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.openings import Openings
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.iceberg.conftest import SCHEMA, create
from tests.doors.iceberg.test_federated_tables_keep_their_place import FED, GRAVITINO, declare
from tests.openings import opened


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://theirs")


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
