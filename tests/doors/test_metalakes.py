"""Metalakes through the Gravitino door."""

from tests.conftest import Api
from tests.people import People


def test_only_service_admins_make_metalakes_and_only_owners_change_them(api: Api) -> None:
    assert api("ann", "POST", "/api/metalakes", {"name": "lake"}).status_code == 403
    made = api("admin", "POST", "/api/metalakes", {"name": "lake", "comment": "c", "properties": {"k": "v"}})
    assert made.status_code == 200, made.text
    assert made.json()["metalake"]["properties"] == {"k": "v"}
    assert made.headers["Headgate-Revision"] == "1"
    assert api("admin", "GET", "/api/metalakes/lake").json()["metalake"]["properties"]["in-use"] == "true"
    denied = api("ann", "GET", "/api/metalakes/lake")
    assert (denied.status_code, denied.json()["code"]) == (403, 1008)
    assert (
        api("admin", "POST", "/api/metalakes", {"name": "lake"}).json()["type"]
        == "MetalakeAlreadyExistsException"
    )
    assert api("admin", "DELETE", "/api/metalakes/lake").json()["type"] == "MetalakeInUseException"
    renamed = api("admin", "PUT", "/api/metalakes/lake", {"updates": [{"@type": "rename", "newName": "sea"}]})
    assert renamed.json()["metalake"]["name"] == "sea"
    assert api("admin", "PATCH", "/api/metalakes/sea", {"inUse": False}).json() == {"code": 0}
    assert api("admin", "PUT", "/api/metalakes/sea", {"updates": []}).json()["code"] == 1009
    assert api("admin", "DELETE", "/api/metalakes/sea").json() == {"code": 0, "dropped": True}
    assert api("admin", "GET", "/api/metalakes").json() == {"code": 0, "metalakes": []}


def test_a_service_admin_is_told_that_a_metalake_is_not_there_and_nobody_else_is(api: Api) -> None:
    """What `metalakeExists` and `dropMetalake` of Gravitino's Java client rest on."""
    admin = api("admin", "GET", "/api/metalakes/none")
    assert (admin.status_code, admin.json()["code"], admin.json()["type"]) == (
        404,
        1003,
        "NoSuchMetalakeException",
    )
    assert api("admin", "DELETE", "/api/metalakes/none?force=true").json() == {"code": 0, "dropped": False}
    updates = {"updates": [{"@type": "updateComment", "newComment": "x"}]}
    below = "/api/metalakes/none/catalogs/c/schemas/s/tables/t"
    for method, path, body in (
        ("PUT", "/api/metalakes/none", updates),
        ("PATCH", "/api/metalakes/none", {"inUse": False}),
        ("GET", "/api/metalakes/none/catalogs", None),
        ("GET", below, None),
        ("GET", "/api/metalakes/none/users/ann", None),
    ):
        told = api("admin", method, path, body)
        assert (told.status_code, told.json()["type"]) == (404, "NoSuchMetalakeException"), path
    api("admin", "POST", "/api/metalakes", {"name": "there"})
    for user in ("ann", "eve"):
        for method in ("GET", "DELETE"):
            answers = [api(user, method, f"/api/metalakes/{name}") for name in ("none", "there")]
            assert [answer.status_code for answer in answers] == [403, 403]
            assert answers[0].text.replace("none", "there") == answers[1].text


def test_a_service_admin_who_is_in_no_metalake_of_that_name_enters_none(api: Api, people: People) -> None:
    """Being told that nothing is there is no way into what is."""
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    people.join("ann")
    done = api("admin", "PUT", "/api/metalakes/lake/owners/metalake/lake", {"name": "ann", "type": "user"})
    assert done.status_code == 200
    assert api("ann", "DELETE", "/api/metalakes/lake/users/admin").json()["removed"] is True
    for method in ("GET", "DELETE"):
        assert api("admin", method, "/api/metalakes/lake").status_code == 403


def test_bad_requests_are_refused_in_gravitinos_words(api: Api) -> None:
    for name in ("", "a*", "..", "a/b", "x" * 1_000_000, "a\x00b", "a%2Fb"):
        answer = api("admin", "POST", "/api/metalakes", {"name": name})
        assert (answer.status_code, answer.json()["code"]) == (400, 1001), name
        assert len(answer.text) < 1000
    assert api("admin", "POST", "/api/metalakes", content=b"{").status_code == 400
    assert api("admin", "POST", "/api/metalakes", content=b"[" * 100_000).status_code == 400
    v9 = {"Accept": "application/vnd.gravitino.v9+json"}
    assert api("admin", "GET", "/api/metalakes", headers=v9).status_code == 406
    assert api(None, "GET", "/api/metalakes").status_code == 401
    assert api("admin", "GET", "/api/nothing").status_code == 404
    assert api("admin", "BREW", "/api/metalakes").status_code == 405
    assert api("admin", "GET", "/api/metalakes").json()["metalakes"] == []
