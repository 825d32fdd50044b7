"""A client learns from `/v1/config` which endpoints there are: those of the specification, and no drafts."""

from tests.conftest import Api
from tests.doors.iceberg.conftest import Register

DRAFTS = (
    ("POST", "events"),
    ("GET", "functions"),
    ("GET", "namespaces/s/functions"),
    ("GET", "namespaces/s/functions/f"),
    ("GET", "encryption-keys"),
    ("GET", "namespaces/s/tables/t/encryption-keys"),
)
NO_PATH = "there is no such path"


def test_every_endpoint_that_is_named_is_there_and_drafts_are_neither(api: Api, register: Register) -> None:
    register()
    named = api("admin", "GET", "/iceberg/v1/config?warehouse=lake.cat").json()["endpoints"]
    assert {
        "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
        "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan",
        "POST /v1/{prefix}/transactions/commit",
        "GET /v1/{prefix}/namespaces/{namespace}/views/{view}",
    } <= set(named)
    assert len(set(named)) == len(named)
    assert not [one for one in named for word in ("event", "function", "key") if word in one]
    names = {"prefix": "lake.cat", "namespace": "none", "table": "none", "view": "none", "plan-id": "none"}
    for method, path in (one.split(" ") for one in named):
        for name, value in names.items():
            path = path.replace(f"{{{name}}}", value)
        assert NO_PATH not in api("admin", method, f"/iceberg{path}", {}).text, (method, path)
    for method, path in DRAFTS:
        answer = api("admin", method, f"/iceberg/v1/lake.cat/{path}", {} if method == "POST" else None)
        assert answer.status_code == 404, (method, path)
        assert NO_PATH in answer.text, (method, path)
