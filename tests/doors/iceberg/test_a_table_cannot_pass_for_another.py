"""What one table says of itself never decides what is seen of another, whatever ids and places it claims."""

from typing import Any

import pytest

from headgate.catalogs.interface import Document
from headgate.catalogs.native import Native
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, SCHEMA, create
from tests.people import People

TABLES = f"{ICE}/namespaces/s/tables"
HIDE = """\
policy: hide-name
on: lake.cat.s
to: [user:ann]
hide: [name]
"""


@pytest.fixture
def secret(api: Api, people: People) -> Any:
    """The table `s.t`, of which ann does not see the column `name`; bob makes tables beside it."""
    applied(api, HIDE)
    made = create(api).json()
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    people.may("bob", "USE_CATALOG USE_SCHEMA CREATE_TABLE", "metalake", "lake")
    return made


def columns(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [field["name"] for field in answer.json()["metadata"]["schemas"][0]["fields"]]


def swapped() -> dict[str, Any]:
    """The columns of the other table with their ids exchanged, so that what hides one would show the other."""
    first, second = SCHEMA["fields"]
    return {**SCHEMA, "fields": [{**first, "name": second["name"]}, {**second, "name": first["name"]}]}


def test_no_table_is_made_with_the_uuid_of_another(api: Api, secret: Any) -> None:
    bait: dict[str, Any] = {
        "requirements": [{"type": "assert-create"}],
        "updates": [
            {"action": "assign-uuid", "uuid": secret["metadata"]["table-uuid"]},
            {"action": "add-schema", "schema": {**swapped(), "schema-id": 0}},
            {"action": "set-current-schema", "schema-id": -1},
            {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
            {"action": "set-default-spec", "spec-id": -1},
            {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
            {"action": "set-default-sort-order", "sort-order-id": -1},
        ],
    }
    staged = api("bob", "POST", TABLES, {"name": "bait", "schema": swapped(), "stage-create": True}).json()
    bait["updates"].insert(1, {"action": "set-location", "location": staged["metadata"]["location"]})
    for uuid in (secret["metadata"]["table-uuid"], secret["metadata"]["table-uuid"].upper()):
        bait["updates"][0]["uuid"] = uuid
        refused = api("bob", "POST", f"{TABLES}/bait", bait)
        assert refused.status_code == 400, refused.text
        assert "s.t" not in refused.text, "whose it is is not told"
    bait["updates"][0]["uuid"] = staged["metadata"]["table-uuid"]
    assert api("bob", "POST", f"{TABLES}/bait", bait).status_code == 200
    assert columns(api("bob", "GET", f"{TABLES}/bait")) == ["name", "id"]
    assert columns(api("ann", "GET", f"{TABLES}/t")) == ["id"]
    assign = [{"action": "assign-uuid", "uuid": secret["metadata"]["table-uuid"]}]
    later = api("bob", "POST", f"{TABLES}/bait", {"requirements": [], "updates": assign})
    assert later.status_code == 400, later.text


def test_a_document_that_claims_the_place_of_another_does_not_either(
    api: Api, secret: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server that somebody federated could answer: its table is said to lie where the other one does."""
    assert create(api, "bait", "bob").status_code == 200
    first, second = SCHEMA["fields"]
    renamed = {**SCHEMA, "schema-id": 1, "fields": [first, {**second, "name": "other"}]}
    commit = {
        "requirements": [],
        "updates": [
            {"action": "add-schema", "schema": renamed},
            {"action": "set-current-schema", "schema-id": -1},
        ],
    }
    assert api("bob", "POST", f"{TABLES}/bait", commit).status_code == 200
    honest = Native.document

    def lying(self: Native, at: Any) -> Document:
        found = honest(self, at)
        return Document(secret["metadata-location"], found.metadata) if at.name == "bait" else found

    monkeypatch.setattr(Native, "document", lying)
    gravitino = "/api/metalakes/lake/catalogs/cat/schemas/s/tables"
    assert api("bob", "GET", f"{gravitino}/bait").status_code == 200
    seen = api("ann", "GET", f"{gravitino}/t").json()["table"]["columns"]
    assert [column["name"] for column in seen] == ["id"]
