"""A walk over the OpenAPI document: every route says what it requires, none answers who did not say who they are."""

import re
from typing import Any

import pytest

from headgate.decide import Op
from headgate.doors.authentication import Authentication, SimpleScheme
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.openapi import PATH
from headgate.doors.routing import DoorCall, Open, Route, Router, Routes
from headgate.doors.server import Server
from headgate.steward import Steward
from tests.conftest import Api

TOKENS = "/iceberg/v1/oauth/tokens"
OPEN = {"/api/health", "/api/health/live", "/api/health/ready"}
"""What may be asked without saying who one is."""


def document(api: Api) -> Any:
    answer = api("admin", "GET", PATH)
    assert answer.status_code == 200
    return answer.json()


def operations(told: Any) -> list[tuple[str, str, Any]]:
    return [(path, method.upper(), op) for path, ops in told["paths"].items() for method, op in ops.items()]


def test_every_route_names_its_requirement_and_only_health_is_open(api: Api) -> None:
    told = operations(document(api))
    assert len(told) > 30
    known = {op.name.lower() for op in Op} | {"authenticated", "anyone"}
    for path, method, op in told:
        required = op["x-headgate-requires"]
        names = set(required.values()) if isinstance(required, dict) else {required}
        assert names, f"{method} {path}"
        assert names <= known, f"{method} {path}"
        assert op["summary"].endswith("."), f"{method} {path} says what it does"
    assert {path for path, _, op in told if op["x-headgate-requires"] == "anyone"} == {*OPEN, TOKENS}


def test_no_route_answers_an_anonymous_caller(api: Api) -> None:
    """Neither for an object that is there nor with a body that could not even be read."""
    api("admin", "POST", "/api/metalakes", {"name": "x"})
    for path, method, _ in operations(document(api)):
        concrete = re.sub(r"\{[^}]+\}", "x", path)
        for content in (b"", b"{"):
            answer = api(None, method, concrete, content=content)
            assert (answer.status_code == 200) == (path in OPEN), f"{method} {path}"
            if path == TOKENS:
                assert answer.status_code == 400, "without credentials there is no token"
            elif path not in OPEN:
                assert answer.status_code == 401, f"{method} {path}"
                told = {"code": 1011} if method == "HEAD" else answer.json()
                assert (told["error"]["code"] == 401) if "error" in told else (told["code"] == 1011)


def test_a_stranger_gets_nothing_out_of_any_route_of_a_metalake(api: Api) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "x"})
    for path, method, _ in operations(document(api)):
        if "{prefix}" in path:
            concrete = re.sub(r"\{[^}]+\}", "x", path.replace("{prefix}", "x.x"))
            body = {"namespace": ["x"], "source": {}, "destination": {}}
            assert api("stranger", method, concrete, body).status_code in (403, 404), f"{method} {path}"
        if "{metalake}" in path:
            named = path.replace("{type}", "table").replace("{fullName}", "x.x.x")
            concrete = re.sub(r"\{[^}]+\}", "x", named)
            assert api("stranger", method, concrete, {}).status_code == 403, f"{method} {path}"


def test_bodies_and_parameters_are_described(api: Api) -> None:
    told = document(api)
    assert told["openapi"] == "3.1.0"
    for path, method, op in operations(told):
        named = {p["name"] for p in op["parameters"] if p["in"] == "path"}
        assert named == set(re.findall(r"\{([^}]+)\}", path)), f"{method} {path}"
    schema = told["paths"]["/api/metalakes/{metalake}/users"]["post"]["requestBody"]["content"]
    ref = schema["application/json"]["schema"]["$ref"]
    user = told["components"]["schemas"][ref.rpartition("/")[2]]
    assert user["required"] == ["name"]
    assert set(user["properties"]) == {"name", "externalId", "enabled"}
    for ref in set(re.findall(r'"\$ref": ?"#/components/schemas/([^"]+)"', api("admin", "GET", PATH).text)):
        assert ref in told["components"]["schemas"]
    names = [op["operationId"] for _, _, op in operations(told)]
    assert len(names) == len(set(names))


def test_a_server_with_a_route_without_requirement_does_not_start(steward: Steward) -> None:
    def forgotten(call: DoorCall) -> None:
        """Answer anyone."""

    class Careless(GravitinoDoor):
        def __init__(self, requires: Any) -> None:
            super().__init__()
            self.routes = [*self.routes, Route("GET", "/api/oops", requires, None, forgotten)]

    for nothing in (None, "", {}, True):
        with pytest.raises(TypeError, match=r"/api/oops has no requirement: refusing to start"):
            Server(steward, Authentication([SimpleScheme()]), [Careless(nothing)])
    with pytest.raises(TypeError, match="does not say of which object"):
        Routes().on("GET", "/api/oops", Op.LOAD_TABLE)
    routes = Routes()
    routes.on("GET", "/api/twice", Open.AUTHENTICATED)(forgotten)
    with pytest.raises(TypeError, match="registered twice"):
        Router([*routes.routes, *routes.routes])
