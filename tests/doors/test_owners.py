"""Owners through the Gravitino door."""

import pytest

from tests.conftest import Api
from tests.doors.settled import LAKE, done, failed, give, refused, securable, settle

OWNERS = f"{LAKE}/owners"


@pytest.fixture(autouse=True)
def _lake(api: Api) -> None:
    settle(api, "ann", "bob")
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "devs"}))


def test_an_owner_is_seen_by_who_can_load_the_object_and_set_by_owners(api: Api) -> None:
    assert done(api("admin", "GET", f"{OWNERS}/catalog/cat"))["owner"] == {"name": "admin", "type": "user"}
    assert refused(api("ann", "GET", f"{OWNERS}/catalog/cat"))
    assert refused(api("ann", "PUT", f"{OWNERS}/catalog/cat", {"name": "ann", "type": "user"}))
    give(api, "ann", "use", securable("catalog", "cat", "use_catalog"))
    done(api("ann", "GET", f"{OWNERS}/CATALOG/cat"))
    assert refused(api("ann", "PUT", f"{OWNERS}/catalog/cat", {"name": "ann", "type": "user"}))
    told = done(api("admin", "PUT", f"{OWNERS}/catalog/cat", {"name": "bob", "type": "USER"}))
    assert told == {"code": 0, "set": True}
    assert done(api("ann", "GET", f"{OWNERS}/catalog/cat"))["owner"] == {"name": "bob", "type": "user"}
    done(api("bob", "PUT", f"{OWNERS}/schema/cat.s", {"name": "devs", "type": "group"}))
    assert done(api("bob", "GET", f"{OWNERS}/schema/cat.s"))["owner"] == {"name": "devs", "type": "group"}
    done(api("bob", "PUT", f"{OWNERS}/catalog/cat", {"name": "devs", "type": "group"}))
    assert refused(api("bob", "PUT", f"{OWNERS}/catalog/cat", {"name": "bob", "type": "user"}))


def test_every_member_sees_who_owns_the_metalake_and_nobody_else_does(api: Api) -> None:
    assert done(api("bob", "GET", f"{OWNERS}/metalake/lake"))["owner"]["name"] == "admin"
    assert refused(api("stranger", "GET", f"{OWNERS}/metalake/lake"))
    assert refused(api("bob", "PUT", f"{OWNERS}/metalake/lake", {"name": "bob", "type": "user"}))


def test_an_object_without_owner_has_no_owner_member(api: Api) -> None:
    done(api("admin", "PUT", f"{OWNERS}/catalog/cat", {"name": "bob", "type": "user"}))
    done(api("admin", "DELETE", f"{LAKE}/users/bob"))
    assert done(api("admin", "GET", f"{OWNERS}/catalog/cat")) == {"code": 0}


def test_an_owner_passes_on_what_they_own_without_use_of_the_way_there(api: Api) -> None:
    done(api("admin", "PUT", f"{OWNERS}/schema/cat.s", {"name": "bob", "type": "user"}))
    give(api, "bob", "shut", securable("catalog", "cat", "!use_catalog", "!use_schema"))
    assert refused(api("bob", "GET", f"{LAKE}/catalogs/cat/schemas/s")), "owning opens no way"
    assert refused(api("bob", "PUT", f"{OWNERS}/catalog/cat", {"name": "bob", "type": "user"}))
    done(api("bob", "PUT", f"{OWNERS}/schema/cat.s", {"name": "ann", "type": "user"}))
    assert refused(api("bob", "PUT", f"{OWNERS}/schema/cat.s", {"name": "bob", "type": "user"}))


def test_a_group_owns_for_its_members(api: Api) -> None:
    done(api("admin", "PUT", f"{OWNERS}/catalog/cat", {"name": "devs", "type": "group"}))
    assert refused(api("bob", "GET", f"{LAKE}/catalogs/cat"))
    done(api("admin", "PUT", f"{LAKE}/groups/devs/members", {"users": ["bob"], "groups": []}))
    done(api("bob", "GET", f"{LAKE}/catalogs/cat"))


def test_what_is_missing_is_told_in_gravitinos_words(api: Api) -> None:
    for path in ("catalog/none", "schema/cat.none", "table/none.s.t", "role/none", "tag/none"):
        for method, body in (("GET", None), ("PUT", {"name": "bob", "type": "user"})):
            missing = api("admin", method, f"{OWNERS}/{path}", body)
            assert failed(missing) == (404, "NoSuchMetadataObjectException")
            assert refused(api("ann", method, f"{OWNERS}/{path}", body))
    for name, type in (("nobody", "user"), ("nobody", "group"), ("bob", "group")):
        nobody = api("admin", "PUT", f"{OWNERS}/catalog/cat", {"name": name, "type": type})
        assert failed(nobody) == (404, "NotFoundException")
    assert done(api("admin", "GET", f"{OWNERS}/catalog/cat"))["owner"]["name"] == "admin"


def test_columns_users_and_groups_have_no_owner(api: Api) -> None:
    for path in ("column/cat.s.t.c", "user/bob", "group/devs", "planet/x", "schema/cat", "metalake/sea"):
        for method, body in (("GET", None), ("PUT", {"name": "bob", "type": "user"})):
            answer = api("admin", method, f"{OWNERS}/{path}", body)
            assert failed(answer) == (400, "IllegalArgumentException")
    for body in ({}, {"name": "bob"}, {"name": "bob", "type": "robot"}, {"name": 1, "type": "user"}):
        assert api("admin", "PUT", f"{OWNERS}/catalog/cat", body).status_code == 400
