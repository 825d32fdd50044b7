"""Whatever is asked of a hidden column is answered as of one that was never there, at every route that takes one."""

import json
import re
from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.governed import COLUMNS, HIDE, TABLES, applied, govern
from tests.doors.settled import LAKE, done, give, securable


def normal(answer: Any, name: str) -> tuple[int, str]:
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "T", answer.text)
    text = re.sub(r'"revision":\d+', "R", text)
    return answer.status_code, re.sub(rf"(?<![a-z]){name}(?![a-z])", "COLUMN", text)


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "deep"}))
    done(api("admin", "POST", f"{LAKE}/objects/column/cat.s.customers.ssn/tags", {"tagsToAdd": ["deep"]}))
    applied(api, HIDE)
    powers = (
        "apply_tag",
        "create_policy",
        "apply_policy",
        "create_tag",
        "create_role",
        "manage_users",
        "manage_groups",
    )
    give(api, "ann", "powers", securable("metalake", "lake", *powers))
    give(api, "ann", "writer", securable("table", "cat.s.customers", "modify_table"))


GETS = [
    "objects/column/cat.s.customers.{}/tags",
    "objects/column/cat.s.customers.{}/tags?details=true",
    "objects/column/cat.s.customers.{}/tags/deep",
    "objects/column/cat.s.customers.{}/policies",
    "objects/column/cat.s.customers.{}/roles",
    "objects/column/cat.s.customers.{}/statistics",
    "objects/column/cat.s.customers.{}/credentials",
    "owners/column/cat.s.customers.{}",
    "catalogs/cat/schemas/s/tables/customers/partitions/{}",
]


@pytest.mark.parametrize("path", GETS)
def test_reading(api: Api, path: str) -> None:
    one, other = (normal(api("ann", "GET", f"{LAKE}/{path.format(n)}"), n) for n in ("ssn", "nop"))
    assert one == other


WRITES: list[tuple[str, str, Any]] = [
    ("POST", "objects/column/cat.s.customers.{}/tags", {"tagsToAdd": ["pii"]}),
    ("POST", "objects/column/cat.s.customers.{}/tags", {"tagsToRemove": ["deep"]}),
    ("POST", "objects/column/cat.s.customers.{}/policies", {"policiesToAdd": ["any"]}),
    ("PUT", "owners/column/cat.s.customers.{}", {"name": "ann", "type": "user"}),
    ("PUT", "objects/column/cat.s.customers.{}/statistics", {"updates": {"custom-x": 1}}),
    (
        "POST",
        "roles",
        {
            "name": "rr",
            "securableObjects": [
                {
                    "type": "column",
                    "fullName": "cat.s.customers.{}",
                    "privileges": [{"name": "select_table", "condition": "allow"}],
                }
            ],
        },
    ),
    (
        "PUT",
        "catalogs/cat/schemas/s/tables/customers",
        {"updates": [{"@type": "deleteColumn", "fieldName": ["{}"], "ifExists": False}]},
    ),
    (
        "PUT",
        "catalogs/cat/schemas/s/tables/customers",
        {"updates": [{"@type": "addColumn", "fieldName": ["{}"], "type": "string", "nullable": True}]},
    ),
]


def filled(body: Any, name: str) -> Any:
    return json.loads(json.dumps(body).replace("{}", name))


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_changing(api: Api, method: str, path: str, body: Any) -> None:
    one, other = (
        normal(api("ann", method, f"{LAKE}/{path.format(n)}", filled(body, n)), n) for n in ("ssn", "nop")
    )
    assert one == other


@pytest.mark.parametrize("operation", ["load_table", "read_statistics", "alter_table"])
@pytest.mark.parametrize("route", ["check", "explain"])
def test_asking(api: Api, route: str, operation: str) -> None:
    def ask(n: str) -> Any:
        q = {"metalake": "lake", "type": "column", "fullName": f"cat.s.customers.{n}", "operation": operation}
        return normal(api("ann", "POST", f"/api/headgate/{route}", q), n)

    assert ask("ssn") == ask("nop")


ICE = "/iceberg/v1/lake.cat/namespaces/s/tables/customers"
PLANS: list[Any] = [
    {"filter": {"type": "eq", "term": "{}", "value": "1"}},
    {"select": ["{}"]},
    {"stats-fields": ["{}"]},
    {"filter": {"type": "is-null", "term": {"type": "transform", "transform": "bucket[4]", "term": "{}"}}},
    {"filter": {"type": "eq", "term": "{}", "value": 1}, "case-sensitive": False},
    {"filter": {"type": "eq", "term": {"type": "reference", "term": "{}"}, "value": []}},
]


@pytest.mark.parametrize("body", PLANS)
def test_planning(api: Api, body: Any) -> None:
    one, other = (normal(api("ann", "POST", f"{ICE}/plan", filled(body, n)), n) for n in ("ssn", "nop"))
    assert one == other


@pytest.mark.parametrize("where", ["TAG"])
def test_where_a_tag_is(api: Api, where: str) -> None:
    answer = api("ann", "GET", f"{LAKE}/tags/deep/objects")
    assert "ssn" not in answer.text
    assert answer.json()["metadataObjects"] == []


SAYS = [
    "mask:\n  {}: show_last_4({})",
    "mask:\n  {}: noisy({}, 5)",
    "mask:\n  {}: {} + 1",
    "rows: {} = 'x'",
    "rows: {} > 5",
    "hide: [{}]",
]


@pytest.mark.parametrize("on", ["lake.cat.s.pay", "lake.cat.s"])
@pytest.mark.parametrize("says", SAYS)
def test_no_type_of_a_hidden_column_is_told_to_who_writes_policies(api: Api, says: str, on: str) -> None:
    """By no words, and by no refusal that depends on it."""
    columns = [{"name": "id", "type": "long"}, {"name": "region", "type": "string"}]
    hidden = {"zaa": "string", "zbb": "long", "zcc": "date", "zdd": COLUMNS[-1]["type"]}
    more = [{"name": name, "type": type} for name, type in hidden.items()]
    done(api("admin", "POST", TABLES, {"name": "pay", "columns": [*columns, *more]}))
    applied(
        api,
        "policy: hidden\non: lake.cat.s.pay\nto: [everyone]\nexcept: [user:admin]\nhide: [zaa, zbb, zcc, zdd]\n",
    )

    def write(name: str) -> tuple[int, str]:
        text = f"policy: q\non: {on}\nto: [user:bob]\n{says}\n".replace("{}", name)
        sent = {"files": [{"file": "f", "text": text}], "whole": False}
        answer = api("ann", "POST", "/api/headgate/policies/apply?metalake=lake", sent)
        api("admin", "DELETE", f"{LAKE}/policies/q")
        return answer.status_code, "" if answer.status_code == 200 else normal(answer, name)[1]

    found = {name: write(name) for name in hidden}
    assert len(set(found.values())) == 1
