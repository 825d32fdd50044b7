"""Topics through the Gravitino door."""

import pytest

from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.people import People

TOPICS = f"{LAKE}/catalogs/q/schemas/default/topics"


@pytest.fixture(autouse=True)
def lake(api: Api, people: People) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    catalog = {"name": "q", "type": "messaging", "provider": "topic"}
    assert api("admin", "POST", f"{LAKE}/catalogs", catalog).status_code == 200
    assert api("admin", "POST", f"{LAKE}/catalogs/q/schemas", {"name": "default"}).status_code == 200
    people.join("ann")


def test_topics_are_created_listed_altered_and_dropped(api: Api) -> None:
    made = api("admin", "POST", TOPICS, {"name": "t", "comment": "c", "properties": {"partitions": "3"}})
    assert made.json()["topic"]["properties"] == {"partitions": "3"}
    assert api("admin", "GET", f"{TOPICS}/t").json()["topic"] == made.json()["topic"]
    assert api("admin", "GET", TOPICS).json()["identifiers"] == [
        {"namespace": ["lake", "q", "default"], "name": "t"}
    ]
    again = api("admin", "POST", TOPICS, {"name": "t"})
    assert (again.status_code, again.json()["type"]) == (409, "TopicAlreadyExistsException")
    updates = [
        {"@type": "updateComment", "newComment": "d"},
        {"@type": "setProperty", "property": "k", "value": "v"},
        {"@type": "removeProperty", "property": "partitions"},
    ]
    topic = api("admin", "PUT", f"{TOPICS}/t", {"updates": updates}).json()["topic"]
    assert (topic["comment"], topic["properties"]) == ("d", {"k": "v"})
    rename = {"updates": [{"@type": "rename", "newName": "u"}]}
    assert api("admin", "PUT", f"{TOPICS}/t", rename).json()["code"] == 1001
    assert api("admin", "DELETE", f"{TOPICS}/t").json()["dropped"] is True
    assert api("admin", "DELETE", f"{TOPICS}/t").json()["dropped"] is False
    assert api("admin", "GET", f"{TOPICS}/t").json()["type"] == "NoSuchTopicException"


def test_only_those_with_the_privilege_reach_a_topic(api: Api, people: People) -> None:
    api("admin", "POST", TOPICS, {"name": "t"})
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")
    for method, path, body in (
        ("POST", "", {"name": "u"}),
        ("GET", "/t", None),
        ("PUT", "/t", {"updates": []}),
        ("DELETE", "/t", None),
    ):
        assert api("ann", method, TOPICS + path, body).status_code == 403, path
    assert api("ann", "GET", TOPICS).json()["identifiers"] == []
    people.may("ann", "CONSUME_TOPIC", "topic", "q.default.t")
    assert api("ann", "GET", f"{TOPICS}/t").status_code == 200
    assert api("ann", "PUT", f"{TOPICS}/t", {"updates": []}).status_code == 403
    people.may("ann", "PRODUCE_TOPIC CREATE_TOPIC", "schema", "q.default")
    assert api("ann", "PUT", f"{TOPICS}/t", {"updates": []}).status_code == 200
    assert api("ann", "POST", TOPICS, {"name": "u"}).status_code == 200
    assert len(api("ann", "GET", TOPICS).json()["identifiers"]) == 2
    assert api("ann", "DELETE", f"{TOPICS}/t").status_code == 403
    assert api("ann", "DELETE", f"{TOPICS}/u").json()["dropped"] is True


def test_topics_live_in_messaging_catalogs_that_are_in_use(api: Api) -> None:
    api("admin", "POST", f"{LAKE}/catalogs", {"name": "m", "type": "model"})
    api("admin", "POST", f"{LAKE}/catalogs/m/schemas", {"name": "s"})
    wrong = api("admin", "POST", f"{LAKE}/catalogs/m/schemas/s/topics", {"name": "t"})
    assert (wrong.status_code, wrong.json()["code"]) == (405, 1006)
    assert api("admin", "POST", TOPICS, {"name": ""}).json()["code"] == 1001
    api("admin", "PATCH", f"{LAKE}/catalogs/q", {"inUse": False})
    refused = api("admin", "POST", TOPICS, {"name": "t"})
    assert (refused.status_code, refused.json()["type"]) == (409, "CatalogNotInUseException")
