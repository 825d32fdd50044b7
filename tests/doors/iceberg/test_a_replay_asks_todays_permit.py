"""A request sent again with its idempotency key gives what its caller would get today: no stored metadata, no access."""

import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from headgate.doors.iceberg.once import once
from headgate.doors.routing import DoorCall
from headgate.model.records import KeptAnswer
from headgate.steward import Steward
from headgate.store import answers
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, SCHEMA, failed
from tests.doors.lake import LAKE
from tests.people import People

TABLES = f"{ICE}/namespaces/s/tables"
TABLE = f"{TABLES}/t"
NAMED = {"namespace": ["s"], "name": "t"}
WRITE = "USE_CATALOG USE_SCHEMA CREATE_TABLE MODIFY_TABLE SELECT_TABLE"
SET = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "1"}}]}
HIDE = """\
policy: hide-name
on: lake.cat.s
to: [user:ann]
hide: [name]
"""
Send = Callable[[], httpx.Response]


@pytest.fixture(autouse=True)
def ann(people: People, lake: None) -> None:
    people.may("ann", WRITE, "metalake", "lake")


def keyed(api: Api, method: str, path: str, body: Any = None) -> Send:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    return lambda: api("ann", method, path, body, headers=headers)


def make(api: Api, name: str = "t", **more: Any) -> Send:
    return keyed(api, "POST", TABLES, {"name": name, "schema": SCHEMA, **more})


def forget(people: People) -> None:
    """All that ann was ever allowed is denied."""
    people.may("ann", WRITE, "metalake", "lake", deny=True)


def give_away(api: Api) -> None:
    """The table is no longer ann's, and she may not know it; the schema she may still write to."""
    owner = {"name": "admin", "type": "USER"}
    assert api("admin", "PUT", f"{LAKE}/owners/table/cat.s.t", owner).status_code == 200


def test_a_commit_is_not_answered_to_who_may_no_longer_change_the_table(api: Api, people: People) -> None:
    make(api)()
    send = keyed(api, "POST", TABLE, SET)
    assert send().status_code == send().status_code == 200
    give_away(api)
    people.may("ann", "MODIFY_TABLE SELECT_TABLE", "metalake", "lake", deny=True)
    again = send()
    assert again.status_code == 404, "as loading it is"
    assert "metadata" not in again.json()


def test_a_commit_and_a_create_are_answered_as_the_caller_sees_the_table_today(api: Api) -> None:
    created, committed = make(api), keyed(api, "POST", TABLE, SET)
    assert created().status_code == committed().status_code == 200
    applied(api, HIDE)
    assert failed(committed())[0] == 403, "who sees a part does not change it"
    again = created()
    # Copies are not made in this test: without them there is nothing that could be shown.
    assert again.status_code in (200, 503), again.text
    assert '"name":"name"' not in again.text.replace(" ", "")


def test_every_part_of_a_transaction_is_asked_again(api: Api, people: People) -> None:
    make(api)()
    body = {"table-changes": [{**SET, "identifier": NAMED}]}
    send = keyed(api, "POST", f"{ICE}/transactions/commit", body)
    assert send().status_code == send().status_code == 204
    give_away(api)
    people.may("ann", "MODIFY_TABLE SELECT_TABLE", "metalake", "lake", deny=True)
    assert send().status_code == 404


def test_both_ends_of_a_rename_are_asked_again(api: Api, people: People) -> None:
    make(api)()
    body = {"source": NAMED, "destination": {"namespace": ["s"], "name": "u"}}
    send = keyed(api, "POST", f"{ICE}/tables/rename", body)
    assert send().status_code == send().status_code == 204
    people.may("ann", "USE_SCHEMA", "metalake", "lake", deny=True)
    assert send().status_code in (403, 404)


def test_a_failure_is_not_told_again_to_who_may_no_longer_ask(api: Api, people: People) -> None:
    make(api)()
    stale = {**SET, "requirements": [{"type": "assert-current-schema-id", "current-schema-id": 7}]}
    send = keyed(api, "POST", TABLE, stale)
    assert send().status_code == send().status_code == 409
    give_away(api)
    people.may("ann", "MODIFY_TABLE SELECT_TABLE", "metalake", "lake", deny=True)
    assert send().status_code == 404


def test_a_drop_is_answered_again_only_to_who_might_drop_it_still(api: Api, people: People) -> None:
    api("admin", "POST", TABLES, {"name": "t", "schema": SCHEMA})
    owner = {"name": "ann", "type": "USER"}
    assert api("admin", "PUT", f"{LAKE}/owners/schema/cat.s", owner).status_code == 200
    send = keyed(api, "DELETE", TABLE)
    assert send().status_code == send().status_code == 204
    forget(people)
    assert send().status_code in (403, 404)


def test_a_staged_table_is_staged_anew_in_a_folder_that_never_was_anybodys(api: Api, people: People) -> None:
    send = make(api, **{"stage-create": True})
    first, again = send().json()["metadata"], send().json()["metadata"]
    assert first["schemas"] == again["schemas"]
    assert first["location"] != again["location"]
    forget(people)
    assert failed(send())[0] in (403, 404)


def test_a_view_and_a_namespace_are_loaded_again_under_todays_permit(api: Api, people: People) -> None:
    people.may("ann", "CREATE_VIEW CREATE_SCHEMA", "metalake", "lake")
    version = {
        "version-id": 1,
        "schema-id": 0,
        "timestamp-ms": 1,
        "summary": {},
        "default-namespace": ["s"],
        "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
    }
    view = keyed(
        api, "POST", f"{ICE}/namespaces/s/views", {"name": "v", "schema": SCHEMA, "view-version": version}
    )
    schema = keyed(api, "POST", f"{ICE}/namespaces", {"namespace": ["n"], "properties": {"p": "q"}})
    for send in (view, schema):
        first, again = send(), send()
        assert first.status_code == 200, first.text
        assert again.json() == first.json()
        assert again.headers["idempotency-replayed"] == "true"
    for kind, name in (("view", "cat.s.v"), ("schema", "cat.n")):
        owner = {"name": "admin", "type": "USER"}
        assert api("admin", "PUT", f"{LAKE}/owners/{kind}/{name}", owner).status_code == 200
    assert failed(view())[0] in (403, 404), "she may make views, but not load this one"
    people.may("ann", "USE_SCHEMA", "schema", "cat.n", deny=True)
    assert failed(schema())[0] == 403


def test_nothing_but_the_outcome_is_kept(api: Api, steward: Steward, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[KeptAnswer] = []
    keep = answers.keep

    def watched(store: Any, key: str, answer: KeptAnswer, expires_at: str) -> None:
        kept.append(answer)
        keep(store, key, answer, expires_at)

    monkeypatch.setattr(answers, "keep", watched)
    assert make(api)().status_code == 200
    assert keyed(api, "POST", TABLE, SET)().status_code == 200
    assert keyed(api, "GET", TABLE)().status_code == 200
    assert make(api)().status_code == 409
    assert [(answer.status, bool(answer.body)) for answer in kept] == [
        (200, False),
        (200, False),
        (409, True),
    ]


def test_a_refusal_does_not_use_the_key_up(api: Api, people: People) -> None:
    people.may("ann", "CREATE_TABLE", "metalake", "lake", deny=True)
    send = make(api, "later")
    assert failed(send())[0] == 403
    assert (
        api("admin", "PUT", f"{LAKE}/owners/schema/cat.s", {"name": "ann", "type": "USER"}).status_code == 200
    )
    assert send().status_code == 200


def test_a_handler_that_does_not_say_how_it_is_replayed_does_not_start() -> None:
    def handler(call: DoorCall) -> Any:
        """Do something."""

    with pytest.raises(TypeError, match="has no replay"):
        once(handler)  # type: ignore[arg-type]
