"""Metalakes through the Gravitino door."""

from tests.conftest import Api


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
