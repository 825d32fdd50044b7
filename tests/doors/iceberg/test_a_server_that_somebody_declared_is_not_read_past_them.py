"""What lies behind a catalog is not read past its policies by declaring the same server once more."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from headgate.catalogs.openings import Openings
from headgate.steward import Steward
from headgate.store import tables
from headgate.store.metadata.sources import server_of
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.test_federated_tables_keep_their_place import VENDS
from tests.doors.settled import LAKE, done
from tests.openings import opened
from tests.people import People

TAKEN = "the server that the catalog names is taken by another catalog"


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://hr")


def declaration(name: str, uri: str, **properties: str) -> dict[str, Any]:
    properties = {"catalog-backend": "rest", "uri": uri, **VENDS, **properties}
    return {"name": name, "type": "relational", "provider": "lakehouse-iceberg", "properties": properties}


def declare(api: Api, user: str, name: str, uri: str, **properties: str) -> Any:
    return api(user, "POST", f"{LAKE}/catalogs", declaration(name, uri, **properties))


@pytest.fixture
def remote(api: Api, people: People) -> Iterator[AnyRest]:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    for user in ("mallory", "bob"):
        people.join(user)
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")
    with any_rest() as hr:
        hr.put("old", "s3://hr/old")
        done(declare(api, "admin", "hr", hr.url))
        people.may("mallory", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "catalog", "hr")
        # Everything in the catalog is under this policy, also what comes later.
        applied(api, "policy: p\non: lake.hr\nto: [user:mallory]\ndeny: true\n")
        assert api("admin", "GET", f"{LAKE}/catalogs/hr/schemas/r/tables/old").status_code == 200
        yield hr


@pytest.mark.parametrize("name", ["old", "new"])
def test_by_declaring_it_again(api: Api, remote: AnyRest, name: str) -> None:
    remote.put("new", "s3://hr/new")
    if name == "old":
        assert api("mallory", "GET", f"{LAKE}/catalogs/hr/schemas/r/tables/old").status_code == 403
    assert taken(declare(api, "mallory", "mine", remote.url))
    assert api("mallory", "GET", f"{LAKE}/catalogs/mine/schemas/r/tables").status_code == 403
    assert api("mallory", "GET", f"/iceberg/v1/lake.mine/namespaces/r/tables/{name}").status_code in (
        403,
        404,
    )
    assert api("admin", "GET", f"{LAKE}/catalogs/hr/schemas/r/tables/{name}").status_code == 200


def taken(answer: Any) -> bool:
    return answer.status_code == 403 and str(answer.json()["message"]).startswith(TAKEN)


@pytest.mark.parametrize("warehouse", [{}, {"warehouse": "other"}])
@pytest.mark.parametrize(
    "spelled", [lambda u: f"{u}/", lambda u: f"{u}/x", lambda u: u.replace("http:", "https:"), str.upper]
)
def test_nor_under_another_spelling_or_for_another_warehouse(
    api: Api, remote: AnyRest, spelled: Callable[[str], str], warehouse: dict[str, str]
) -> None:
    """Which warehouses of a server are the same under two names, it alone knows."""
    assert taken(declare(api, "mallory", "mine", spelled(remote.url), **warehouse))


def test_nor_by_the_owner_of_the_first(api: Api, people: People, remote: AnyRest) -> None:
    """They may be under policies of others there; only who may change every policy declares it again."""
    done(api("admin", "PUT", f"{LAKE}/owners/catalog/hr", {"name": "mallory", "type": "user"}))
    assert taken(declare(api, "mallory", "mine", remote.url))
    done(declare(api, "admin", "again", remote.url))
    done(api("admin", "PUT", f"{LAKE}/owners/catalog/again", {"name": "mallory", "type": "user"}))
    comment = {"updates": [{"@type": "updateComment", "newComment": "mine"}]}
    done(api("mallory", "PUT", f"{LAKE}/catalogs/again", comment))


def test_whether_the_first_may_be_seen_or_not_the_words_are_equal(
    api: Api, people: People, remote: AnyRest
) -> None:
    people.join("una")
    people.may("una", "CREATE_CATALOG", "metalake", "lake")
    assert api("una", "GET", f"{LAKE}/catalogs/hr").status_code == 403
    answers = [declare(api, user, "mine", remote.url).text for user in ("una", "mallory")]
    assert answers[0] == answers[1]
    tested = api("una", "POST", f"{LAKE}/catalogs/testConnection", declaration("mine", remote.url))
    assert TAKEN in tested.text, "nor does a test of the connection tell more"


def test_it_is_free_once_the_first_is_dropped(api: Api, remote: AnyRest) -> None:
    done(api("admin", "DELETE", f"{LAKE}/catalogs/hr?force=true"))
    done(declare(api, "mallory", "mine", remote.url))


def test_another_server_is_nobodys(api: Api, remote: AnyRest) -> None:
    with any_rest() as other:
        done(declare(api, "mallory", "mine", other.url))
        assert taken(declare(api, "mallory", "twice", other.url))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://h.example", "https://H.example.:443/iceberg/"),
        ("http://h.example:80/a", "http://h.example/b?c"),
        ("https://h.example:8181/x", "http://h.example:8181"),
        ("http://[::1]:9", "http://[0:0:0:0:0:0:0:1]:9/"),
    ],
)
def test_spellings_of_one_server_are_one(one: str, other: str) -> None:
    assert server_of(one) == server_of(other)


def test_other_hosts_and_ports_are_others() -> None:
    urls = ["http://a", "http://b", "http://a:8181", "http://a:8182", "http://[::1]", "http://127.0.0.1"]
    assert len({server_of(url) for url in urls}) == len(urls)


HIDE = "policy: hide-a\non: {on}\nto: [user:mallory]\nhide: [a]\n"


def columns(api: Api, user: str, catalog: str) -> list[str] | None:
    """What somebody sees of the table once it has come back; None if it has not."""
    for _ in range(2):
        answer = api(user, "GET", f"{LAKE}/catalogs/{catalog}/schemas/r/tables/old")
    if answer.status_code != 200:
        assert answer.status_code == 403, answer.text
        door = f"/iceberg/v1/lake.{catalog}/namespaces/r/tables/old"
        assert api(user, "GET", door).status_code in (403, 404)
        return None
    return [column["name"] for column in answer.json()["table"]["columns"]]


@pytest.mark.parametrize("on", ["lake.hr", "lake.hr.r"])
def test_a_table_does_not_come_back_where_what_restricted_it_does_not_reach(
    api: Api, remote: AnyRest, on: str
) -> None:
    """The server is free once its catalog is dropped, and its tables are not."""
    applied(api, HIDE.format(on=on))
    assert columns(api, "mallory", "hr") == []
    done(api("admin", "DELETE", f"{LAKE}/catalogs/hr?force=true"))
    done(declare(api, "mallory", "mine", remote.url))
    assert columns(api, "mallory", "mine") is None
    assert columns(api, "admin", "mine") is None
    # In a catalog of whoever may change every policy it does: they decide under which.
    done(declare(api, "admin", "again", remote.url))
    assert columns(api, "admin", "again") == ["a"]


@pytest.mark.parametrize("tagged", ["catalog/hr", "schema/hr.r"])
def test_nor_where_the_tags_that_a_policy_asks_for_do_not_reach_it(
    api: Api, remote: AnyRest, tagged: str
) -> None:
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "secret"}))
    done(api("admin", "POST", f"{LAKE}/objects/{tagged}/tags", {"tagsToAdd": ["secret"]}))
    applied(api, HIDE.format(on="lake") + "when: has_tag('secret')\n")
    assert columns(api, "mallory", "hr") == []
    done(api("admin", "DELETE", f"{LAKE}/catalogs/hr?force=true"))
    done(declare(api, "mallory", "mine", remote.url))
    assert columns(api, "mallory", "mine") is None
    done(declare(api, "admin", "again", remote.url))
    assert columns(api, "admin", "again") == ["a"]


def test_nor_where_a_role_does_not_deny_what_it_denied(api: Api, people: People, remote: AnyRest) -> None:
    applied(api, "policy: p\non: lake.hr\nto: [user:bob]\nhide: [a]\nenabled: false\n")
    done(api("admin", "DELETE", f"{LAKE}/policies/p"))
    people.may("mallory", "SELECT_TABLE", "schema", "hr.r", deny=True)
    assert columns(api, "mallory", "hr") is None
    done(api("admin", "DELETE", f"{LAKE}/catalogs/hr?force=true"))
    done(declare(api, "mallory", "mine", remote.url))
    assert columns(api, "mallory", "mine") is None


@pytest.mark.parametrize("on", ["lake", "lake.hr.r.old"])
def test_it_comes_back_wherever_that_does(api: Api, remote: AnyRest, on: str) -> None:
    applied(api, HIDE.format(on=on))
    assert columns(api, "mallory", "hr") == []
    done(api("admin", "DELETE", f"{LAKE}/catalogs/hr?force=true"))
    done(declare(api, "mallory", "mine", remote.url))
    assert columns(api, "mallory", "mine") == []


def test_what_nothing_restricted_comes_back_anywhere(api: Api, remote: AnyRest) -> None:
    done(api("admin", "DELETE", f"{LAKE}/policies/p"))
    done(api("admin", "DELETE", f"{LAKE}/catalogs/hr?force=true"))
    done(declare(api, "mallory", "mine", remote.url))
    assert columns(api, "mallory", "mine") == ["a"]


def test_nor_does_one_that_was_dropped_before_it_was_known_what_restricted_it(
    api: Api, remote: AnyRest, steward: Steward
) -> None:
    applied(api, HIDE.format(on="lake"))
    assert columns(api, "mallory", "hr") == []
    done(api("admin", "DELETE", f"{LAKE}/catalogs/hr?force=true"))
    with steward.kernel.store.write("admin", "test") as tx:
        tx.execute(update(tables.dropped_objects).values(kept_by=None))
    done(declare(api, "mallory", "mine", remote.url))
    assert columns(api, "mallory", "mine") is None
    done(declare(api, "admin", "again", remote.url))
    assert columns(api, "mallory", "again") is None, "they may not use it"
    assert columns(api, "admin", "again") == ["a"]
