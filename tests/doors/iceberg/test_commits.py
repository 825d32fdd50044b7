"""Commits: all or nothing, never against stale metadata, never outside of the table's folder, done once per key."""

import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.iceberg.conftest import ICE, SCHEMA, create, failed
from tests.people import People

TABLE = f"{ICE}/namespaces/s/tables/t"


def change(**properties: str) -> dict[str, Any]:
    return {"requirements": [], "updates": [{"action": "set-properties", "updates": properties}]}


def properties(api: Api, table: str = TABLE) -> Any:
    return api("admin", "GET", table).json()["metadata"]["properties"]


def test_a_commit_against_stale_metadata_fails_and_changes_nothing(api: Api) -> None:
    made = create(api).json()["metadata"]
    other = str(uuid.uuid4())
    for requirement in (
        {"type": "assert-table-uuid", "uuid": other},
        {"type": "assert-current-schema-id", "current-schema-id": 7},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 12},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 99},
    ):
        body = {**change(a="1"), "requirements": [requirement]}
        assert failed(api("admin", "POST", TABLE, body)) == (409, "CommitFailedException")
    assert properties(api) == {}
    right = {"type": "assert-table-uuid", "uuid": made["table-uuid"]}
    assert api("admin", "POST", TABLE, {**change(a="1"), "requirements": [right]}).status_code == 200
    assert properties(api) == {"a": "1"}


def test_a_transaction_commits_to_all_tables_or_to_none(api: Api) -> None:
    create(api, "t")
    create(api, "u")
    names = [{"namespace": ["s"], "name": name} for name in ("t", "u")]
    stale = {"type": "assert-current-schema-id", "current-schema-id": 7}
    changes = [
        {**change(a="1"), "identifier": names[0]},
        {**change(a="1"), "identifier": names[1], "requirements": [stale]},
    ]
    body = {"table-changes": changes}
    assert failed(api("admin", "POST", f"{ICE}/transactions/commit", body)) == (409, "CommitFailedException")
    assert properties(api) == {}
    changes[1]["requirements"] = []
    assert api("admin", "POST", f"{ICE}/transactions/commit", body).status_code == 204
    assert properties(api) == properties(api, f"{ICE}/namespaces/s/tables/u") == {"a": "1"}
    twice = {"table-changes": [changes[0], changes[0]]}
    assert failed(api("admin", "POST", f"{ICE}/transactions/commit", twice))[0] == 400


def test_writers_at_the_same_time_lose_nothing(api: Api) -> None:
    create(api)
    answers: list[int] = []

    def write(number: int) -> None:
        answers.append(api("admin", "POST", TABLE, change(**{f"p{number}": "x"})).status_code)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) <= {200, 409}
    assert len(properties(api)) == answers.count(200) > 0


@pytest.mark.parametrize(
    "update",
    [
        {"action": "set-location", "location": "file:///etc"},
        {"action": "set-location", "location": "/tmp/../etc"},
        {"action": "set-properties", "updates": {"write.data.path": "file:///elsewhere"}},
        {"action": "set-properties", "updates": {"write.metadata.path": "s3://bucket/x"}},
        {"action": "set-properties", "updates": {"io-impl": "evil.Class"}},
        {"action": "set-properties", "updates": {"a": 1}},
        {"action": "bogus"},
        {},
        {"action": "add-snapshot", "snapshot": {}},
        {"action": "set-current-schema", "schema-id": 55},
        {"action": "remove-schemas", "schema-ids": [0]},
        {"action": "upgrade-format-version", "format-version": 99},
    ],
)
def test_updates_that_lead_astray_are_refused_whole(api: Api, update: dict[str, Any]) -> None:
    create(api)
    before = api("admin", "GET", TABLE).json()
    body = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"b": "2"}}, update]}
    assert failed(api("admin", "POST", TABLE, body)) == (400, "IllegalArgumentException")
    assert api("admin", "GET", TABLE).json() == before


def test_locations_of_new_tables_are_checked_segment_by_segment(api: Api, tmp_path: Path) -> None:
    forged = tmp_path / "forged"
    assert create(api, location=str(forged / "a")).status_code == 200
    for n, bad in enumerate((f"{forged}2/x", f"{forged}/../x", "/", str(forged / "a" / "b"), f"{forged}//x")):
        answer = create(api, f"bad{n}", location=bad)
        assert failed(answer) == (400, "IllegalArgumentException"), bad
    for body in ({"write.metadata.path": "/etc"}, {"write.data.path": f"{forged}/other"}):
        assert create(api, "worse", properties=body).status_code == 400


def test_a_staged_table_is_nothing_until_it_is_committed(api: Api) -> None:
    staged = create(api, **{"stage-create": True}).json()
    assert "metadata-location" not in staged
    assert failed(api("admin", "GET", TABLE)) == (404, "NoSuchTableException")
    metadata = staged["metadata"]
    updates = [
        {"action": "assign-uuid", "uuid": metadata["table-uuid"]},
        {"action": "upgrade-format-version", "format-version": 2},
        {"action": "add-schema", "schema": metadata["schemas"][0]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": metadata["partition-specs"][0]},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": metadata["sort-orders"][0]},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": metadata["location"]},
    ]
    body = {"requirements": [{"type": "assert-create"}], "updates": updates}
    assert failed(api("admin", "POST", TABLE, {**body, "updates": updates[:3]}))[0] == 400
    assert api("admin", "POST", TABLE, body).status_code == 200
    assert failed(api("admin", "POST", TABLE, body)) == (409, "CommitFailedException")


def test_malformed_metadata_files_are_not_registered(api: Api, tmp_path: Path) -> None:
    folder = tmp_path / "forged"
    folder.mkdir(exist_ok=True)
    for n, text in enumerate(("", "{", "[]", "{}", '{"format-version": 2}', '"x"', "\x00")):
        (folder / f"{n}.json").write_text(text)
        body = {"name": "t", "metadata-location": f"{folder}/{n}.json"}
        answer = api("admin", "POST", f"{ICE}/namespaces/s/register", body)
        assert failed(answer) == (400, "IllegalArgumentException"), text
    for place in ("/etc/passwd", f"{folder}/missing.json", f"{folder}/../store.db", ""):
        body = {"name": "t", "metadata-location": place}
        assert api("admin", "POST", f"{ICE}/namespaces/s/register", body).status_code == 400
    assert api("admin", "GET", f"{ICE}/namespaces/s/tables").json()["identifiers"] == []


class TestIdempotencyKeys:
    def key(self) -> dict[str, str]:
        return {"Idempotency-Key": str(uuid.uuid4())}

    def test_what_is_sent_again_is_answered_again_and_not_done_again(self, api: Api) -> None:
        headers = self.key()
        body = {"name": "t", "schema": SCHEMA}
        path = f"{ICE}/namespaces/s/tables"
        first = api("admin", "POST", path, body, headers=headers)
        again = api("admin", "POST", path, body, headers=headers)
        assert (first.status_code, again.status_code) == (200, 200)
        assert again.json() == first.json()
        assert failed(api("admin", "POST", path, body, headers=self.key()))[0] == 409
        drop = self.key()
        assert api("admin", "DELETE", TABLE, headers=drop).status_code == 204
        assert api("admin", "DELETE", TABLE, headers=drop).status_code == 204
        assert api("admin", "DELETE", TABLE, headers=self.key()).status_code == 404

    def test_a_failure_is_answered_again_too(self, api: Api) -> None:
        create(api)
        headers = self.key()
        stale = {
            **change(a="1"),
            "requirements": [{"type": "assert-current-schema-id", "current-schema-id": 7}],
        }
        first = api("admin", "POST", TABLE, stale, headers=headers)
        again = api("admin", "POST", TABLE, stale, headers=headers)
        assert (first.status_code, first.content) == (again.status_code, again.content)
        assert first.status_code == 409

    def test_a_key_belongs_to_one_caller_one_route_and_one_body(self, api: Api, people: People) -> None:
        people.may("ann", "USE_CATALOG USE_SCHEMA CREATE_TABLE", "metalake", "lake")
        headers = self.key()
        path = f"{ICE}/namespaces/s/tables"
        assert api("admin", "POST", path, {"name": "t", "schema": SCHEMA}, headers=headers).status_code == 200
        other = api("admin", "POST", path, {"name": "u", "schema": SCHEMA}, headers=headers)
        assert failed(other) == (422, "UnprocessableEntityException")
        stolen = api("ann", "POST", path, {"name": "t", "schema": SCHEMA}, headers=headers)
        assert failed(stolen)[0] == 409, "ann gets an answer of her own"
        assert api("admin", "POST", TABLE, change(a="1"), headers=headers).status_code == 200

    def test_who_lost_the_right_gets_no_answer_again(self, api: Api, people: People) -> None:
        people.may("ann", "USE_CATALOG USE_SCHEMA CREATE_TABLE", "metalake", "lake")
        headers = self.key()
        body = {"name": "t", "schema": SCHEMA}
        path = f"{ICE}/namespaces/s/tables"
        assert api("ann", "POST", path, body, headers=headers).status_code == 200
        people.may("ann", "CREATE_TABLE", "metalake", "lake", deny=True)
        assert api("ann", "POST", path, body, headers=headers).status_code == 403
