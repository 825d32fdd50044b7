"""A dropped table that comes back is kept from people by what kept it from them before, inherited policies included."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, create
from tests.doors.lake import LAKE
from tests.people import People

HIDE = """\
policy: hide-name
on: lake.cat.s
to: [user:ann]
hide: [name]
"""


@pytest.fixture
def former(api: Api, people: People) -> Any:
    """`s.t` under a policy on its schema, dropped by admin; ann owns the catalog and not the policy."""
    made = create(api).json()
    applied(api, HIDE)
    owner = {"name": "ann", "type": "user"}
    assert api("admin", "PUT", f"{LAKE}/owners/catalog/cat", owner).status_code == 200
    assert api("ann", "POST", f"{ICE}/namespaces", {"namespace": ["free"]}).status_code == 200
    return made


def register(api: Api, user: str, schema: str, name: str, file: str) -> Any:
    body = {"name": name, "metadata-location": file}
    return api(user, "POST", f"{ICE}/namespaces/{schema}/register", body)


def columns(api: Api, user: str, schema: str, name: str) -> list[str]:
    answer = api(user, "GET", f"{LAKE}/catalogs/cat/schemas/{schema}/tables/{name}")
    assert answer.status_code == 200, answer.text
    return [column["name"] for column in answer.json()["table"]["columns"]]


def test_it_does_not_come_back_in_a_schema_whose_policies_hide_less(api: Api, former: Any) -> None:
    assert columns(api, "ann", "s", "t") == ["id"]
    assert api("admin", "DELETE", f"{ICE}/namespaces/s/tables/t").status_code == 204
    file = former["metadata-location"]
    refused = register(api, "ann", "free", "t", file)
    assert refused.status_code in (400, 403), columns(api, "ann", "free", "t")
    assert register(api, "ann", "s", "back", file).status_code == 200
    assert columns(api, "ann", "s", "back") == ["id"]
    assert api("admin", "DELETE", f"{ICE}/namespaces/s/tables/back").status_code == 204
    assert register(api, "admin", "free", "t", file).status_code == 200, "whose lake it is may decide"


def test_it_does_not_come_back_as_what_it_was_before_a_column_got_its_name(api: Api, former: Any) -> None:
    """A policy names a column as it is called today; a former document calls it otherwise."""
    applied(api, HIDE.replace("[name]", "[secret]"))
    rename = {"@type": "renameColumn", "oldFieldName": ["name"], "newFieldName": "secret"}
    table = f"{LAKE}/catalogs/cat/schemas/s/tables/t"
    assert api("admin", "PUT", table, {"updates": [rename]}).status_code == 200
    assert columns(api, "ann", "s", "t") == ["id"]
    assert api("admin", "DELETE", f"{ICE}/namespaces/s/tables/t").status_code == 204
    answer = register(api, "ann", "s", "t", former["metadata-location"])
    assert answer.status_code in (400, 403) or columns(api, "ann", "s", "t") == ["id"], answer.text


def test_the_tags_above_it_are_not_taken_off_meanwhile(api: Api, former: Any, people: People) -> None:
    assert api("admin", "POST", f"{LAKE}/tags", {"name": "secret"}).status_code == 200
    tagging = f"{LAKE}/objects/schema/cat.s/tags"
    assert api("admin", "POST", tagging, {"tagsToAdd": ["secret"]}).status_code == 200
    applied(api, HIDE.replace("lake.cat.s", "lake") + "when: has_tag('secret')\n")
    people.may("ann", "APPLY_TAG", "metalake", "lake")
    owner = {"name": "ann", "type": "user"}
    assert api("admin", "PUT", f"{LAKE}/owners/schema/cat.s", owner).status_code == 200
    assert columns(api, "ann", "s", "t") == ["id"]
    assert api("admin", "DELETE", f"{ICE}/namespaces/s/tables/t").status_code == 204
    assert api("ann", "POST", tagging, {"tagsToRemove": ["secret"]}).status_code == 403
    assert register(api, "ann", "s", "t", former["metadata-location"]).status_code == 200
    assert columns(api, "ann", "s", "t") == ["id"]
