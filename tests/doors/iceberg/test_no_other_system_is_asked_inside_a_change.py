"""While a change holds the store no other system is asked: everybody else's changes would wait for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.openings import Openings
from headgate.steward import Steward
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.governed import applied, sent
from tests.doors.iceberg.conftest import SCHEMA
from tests.doors.iceberg.test_federated_tables_keep_their_place import FED, GRAVITINO, declare
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People

HIDE = "policy: few\non: lake\nto: [user:ann]\nhide: [a]\n"


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://theirs")


@pytest.fixture
def remote(api: Api, steward: Steward, monkeypatch: pytest.MonkeyPatch) -> Iterator[AnyRest]:
    """A server that is never asked inside a change: each question is asked by the thread that makes the change."""
    from headgate.catalogs.rest_client import RestClient

    asked = RestClient._answer

    def watched(self: RestClient, *more: Any) -> Any:
        assert not steward.kernel.store.changing, more[:2]
        return asked(self, *more)

    monkeypatch.setattr(RestClient, "_answer", watched)
    with any_rest() as remote:
        declare(api, remote)
        yield remote


def test_what_a_change_is_judged_by_is_looked_at_before_it(
    api: Api, remote: AnyRest, people: People, steward: Steward
) -> None:
    for name in ("t", "u"):
        remote.put(name, f"s3://theirs/{name}")
    assert api("admin", "GET", FED).status_code == 200, "the tables have rows, and nobody has looked at them"
    applied(api, HIDE)
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    people.may("ann", "CREATE_POLICY APPLY_POLICY", "metalake", "lake")
    steward.shapes._seen.clear()
    mask = "policy: mine\non: lake\nto: [user:ann]\nmask: {a: replace_with_null(a)}\n"
    answer = api("ann", "POST", "/api/headgate/policies/apply?metalake=lake", sent(mask, whole=False))
    assert answer.status_code in (200, 403), answer.text
    assert "ask again" not in answer.text


def test_a_system_that_is_away_keeps_nobody_from_writing_policies(api: Api, remote: AnyRest) -> None:
    remote.put("t", "s3://theirs/t")
    assert api("admin", "GET", FED).status_code == 200
    remote.answer = lambda method, path, body: (500, None)  # type: ignore[method-assign]
    applied(api, HIDE)


def test_what_a_change_refuses_is_taken_back_after_it(api: Api, remote: AnyRest, tmp_path: Path) -> None:
    remote.choose = f"file://{tmp_path}/warehouse/x"
    assert api("admin", "POST", FED, {"name": "u", "schema": SCHEMA}).status_code in (400, 403)
    assert "u" not in remote.tables


def test_every_change_of_a_federated_table(api: Api, remote: AnyRest) -> None:
    applied(api, HIDE)
    remote.choose = "s3://theirs/u"
    assert api("admin", "POST", FED, {"name": "u", "schema": SCHEMA}).status_code == 200
    add = {"@type": "addColumn", "fieldName": ["z"], "type": "string"}
    for update in (add, {"@type": "rename", "newName": "v"}):
        answer = api("admin", "PUT", f"{GRAVITINO}/u", {"updates": [update]})
        assert answer.status_code == 200, answer.text
        answer = api("admin", "POST", f"{LAKE}/tags", {"name": update["@type"]})
        assert answer.status_code == 200, answer.text
    names = "fed.r.v" if "v" in remote.tables else "fed.r.u"
    tagging = f"{LAKE}/objects/table/{names}/tags"
    assert api("admin", "POST", tagging, {"tagsToAdd": ["rename"]}).status_code == 200
    assert api("admin", "DELETE", f"{FED}/v").status_code == 204
