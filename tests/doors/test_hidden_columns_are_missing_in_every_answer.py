"""A column that a policy hides is answered for as one that is not there, whatever is asked of it."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.governed import HIDE, applied, govern
from tests.doors.settled import LAKE, done, give, securable


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    """ann may make roles, tag and read; ssn is hidden from her, and carries a tag."""
    govern(api)
    on = f"{LAKE}/objects/column/cat.s.customers.ssn/tags"
    done(api("admin", "POST", on, {"tagsToAdd": ["pii"]}))
    give(api, "ann", "more", securable("metalake", "lake", "create_role", "apply_tag"))
    applied(api, HIDE)


ASKED: list[tuple[str, str, Any]] = [
    ("GET", f"{LAKE}/objects/column/cat.s.customers.COL/tags", None),
    ("GET", f"{LAKE}/objects/column/cat.s.customers.COL/tags?details=true", None),
    ("GET", f"{LAKE}/objects/column/cat.s.customers.COL/tags/pii", None),
    ("GET", f"{LAKE}/objects/column/cat.s.customers.COL/policies", None),
    ("GET", f"{LAKE}/objects/column/cat.s.customers.COL/roles", None),
    ("GET", f"{LAKE}/objects/column/cat.s.customers.COL/statistics", None),
    ("GET", f"{LAKE}/objects/column/cat.s.customers.COL/credentials", None),
    ("GET", f"{LAKE}/owners/column/cat.s.customers.COL", None),
    ("PUT", f"{LAKE}/owners/column/cat.s.customers.COL", {"name": "ann", "type": "user"}),
    ("POST", f"{LAKE}/objects/column/cat.s.customers.COL/tags", {"tagsToAdd": ["pii"]}),
    ("POST", f"{LAKE}/objects/column/cat.s.customers.COL/tags", {"tagsToRemove": ["pii"]}),
    (
        "POST",
        f"{LAKE}/roles",
        {"name": "r", "securableObjects": [securable("column", "cat.s.customers.COL", "select_table")]},
    ),
    (
        "POST",
        "/api/headgate/check",
        {"metalake": "lake", "type": "column", "fullName": "cat.s.customers.COL", "operation": "load_table"},
    ),
    (
        "POST",
        "/api/headgate/explain",
        {"metalake": "lake", "type": "column", "fullName": "cat.s.customers.COL", "operation": "load_table"},
    ),
    (
        "POST",
        "/api/headgate/check",
        {
            "metalake": "lake",
            "type": "column",
            "fullName": "cat.s.customers.COL",
            "privilege": "select_table",
        },
    ),
    ("POST", "/iceberg/v1/lake.cat/namespaces/s/tables/customers/plan", {"select": ["COL"]}),
    (
        "POST",
        "/iceberg/v1/lake.cat/namespaces/s/tables/customers/plan",
        {"select": ["id"], "case-sensitive": False, "filter": {"type": "is-null", "term": "COL"}},
    ),
    ("POST", "/iceberg/v1/lake.cat/namespaces/s/tables/customers/plan", {"stats-fields": ["COL"]}),
]


def replaced(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return value.replace("COL", name)
    if isinstance(value, dict):
        return {key: replaced(each, name) for key, each in value.items()}
    return [replaced(each, name) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("hidden", ["ssn", "SSN"])
def test_no_answer_tells_a_hidden_column_from_a_missing_one(api: Api, hidden: str) -> None:
    different = []
    for method, path, body in ASKED:
        told = []
        for name in (hidden, "zzz"):
            answer = api("ann", method, replaced(path, name), replaced(body, name))
            told.append((answer.status_code, answer.text.replace(name, "COL")))
        if told[0] != told[1]:
            different.append((method, path, told))
    assert not different, different
