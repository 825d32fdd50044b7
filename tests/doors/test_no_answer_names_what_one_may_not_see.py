"""Whether something is there that the caller may not see changes no answer, and no answer names it."""

import json
from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.governed import HIDE, READ, TABLES, applied, govern, sent
from tests.doors.settled import LAKE, done, give, securable

ICE = "/iceberg/v1/lake.cat/namespaces/s/tables"


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    """ann may read all tables but `secret`, which a role of her own denies; `nobody` is not there."""
    govern(api)
    done(api("admin", "POST", TABLES, {"name": "secret", "columns": [{"name": "id", "type": "long"}]}))
    barred = securable("table", "cat.s.secret", "!select_table", "!modify_table")
    give(api, "ann", "mixed", securable("catalog", "cat", *READ, "modify_table", "create_table"), barred)
    done(api("admin", "POST", f"{LAKE}/objects/table/cat.s.secret/tags", {"tagsToAdd": ["pii"]}))
    give(api, "ann", "tagger", securable("metalake", "lake", "apply_tag", "create_policy"))


REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", f"{LAKE}/objects/table/cat.s.NAME/roles", None),
    ("PUT", f"{LAKE}/owners/table/cat.s.NAME", {"name": "ann", "type": "USER"}),
    (
        "PUT",
        f"{LAKE}/permissions/roles/mixed/table/cat.s.NAME/grant",
        {"privileges": [{"name": "select_table", "condition": "allow"}]},
    ),
    ("GET", f"{ICE}/NAME", None),
    ("HEAD", f"{ICE}/NAME", None),
    ("POST", f"{ICE}/NAME", {"requirements": [], "updates": []}),
    ("DELETE", f"{ICE}/NAME", None),
    ("POST", f"{ICE}/NAME/plan", {}),
    ("GET", f"{ICE}/NAME/credentials", None),
    ("POST", "/api/headgate/lens", {"metalake": "lake", "table": "cat.s.NAME", "user": "ann"}),
    (
        "POST",
        "/api/headgate/policies/apply?metalake=lake",
        sent(HIDE.replace("lake.cat.s", "lake.cat.s.NAME"), whole=False),
    ),
]


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_a_hidden_object_is_answered_like_a_missing_one(api: Api, method: str, path: str, body: Any) -> None:
    answers = []
    for name in ("secret", "nobody"):
        asked = None if body is None else json.loads(json.dumps(body).replace("NAME", name))
        answer = api("ann", method, path.replace("NAME", name), asked)
        answers.append((answer.status_code, answer.text.replace("nobody", "secret")))
    assert answers[0] == answers[1]


def test_putting_a_tag_tells_no_tag_that_one_may_not_see(api: Api) -> None:
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "quiet"}))
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "mine"}))
    give(api, "bob", "one-tag", securable("tag", "mine", "apply_tag"))
    on = f"{LAKE}/objects/table/cat.s.customers/tags"
    done(api("admin", "POST", on, {"tagsToAdd": ["quiet"]}))
    assert done(api("bob", "POST", on, {"tagsToAdd": ["mine"]}))["names"] == ["mine"]
    assert done(api("admin", "GET", on))["names"] == ["mine", "quiet"]


def test_a_tag_that_policies_ask_for_does_not_tell_which(api: Api) -> None:
    done(api("admin", "PUT", f"{LAKE}/owners/tag/pii", {"name": "bob", "type": "USER"}))
    applied(api, "policy: quiet\non: lake\nto: [user:eve]\ncolumns: {c: has_tag('pii')}\nhide: [c]\n")
    for answer in (
        api("bob", "DELETE", f"{LAKE}/tags/pii"),
        api("bob", "PUT", f"{LAKE}/tags/pii", {"updates": [{"@type": "rename", "newName": "x"}]}),
    ):
        assert answer.status_code == 409, answer.text
        assert "quiet" not in answer.text
    assert "quiet" in api("admin", "DELETE", f"{LAKE}/tags/pii").text


def test_a_role_that_cannot_be_deleted_names_nothing_hidden(api: Api) -> None:
    done(api("admin", "PUT", f"{LAKE}/owners/role/mixed", {"name": "ann", "type": "USER"}))
    answer = api("ann", "DELETE", f"{LAKE}/roles/mixed")
    assert answer.status_code == 403, answer.text
    assert "secret" not in answer.text


def test_one_may_ask_what_one_sees_oneself_and_hears_no_more_than_that(api: Api) -> None:
    """No hidden column, no condition on rows, no policy; and of others only with the right to ask."""
    policies = """\
policy: quiet-rows
on: lake.cat.s.customers
to: [user:bob]
rows: ssn = 'x'
---
policy: quiet-columns
on: lake.cat.s.customers
to: [user:bob]
hide: [ssn]
---
policy: quiet-cells
on: lake.cat.s.customers
to: [user:bob]
mask: {email: show_last_4(email)}
"""
    applied(api, policies)
    question = {"metalake": "lake", "table": "cat.s.customers", "user": "bob"}
    own = api("bob", "POST", "/api/headgate/lens", question)
    assert own.status_code == 200, own.text
    told = own.json()
    assert told["mayLoad"] is True
    assert told["explanation"]["lens"]["masks"] == {"email": "masked"}
    assert told["explanation"]["lens"]["whole"] is False
    for word in ("ssn", "show_last_4", "quiet", "'x'"):
        assert word not in own.text
    for more in ({"user": "ann"}, {"groups": ["privacy"]}, {"engine": "e"}, {"address": "10.0.0.1"}):
        assert api("bob", "POST", "/api/headgate/lens", {**question, **more}).status_code == 403, more
    whole = api("admin", "POST", "/api/headgate/lens", question).json()["explanation"]
    assert whole["lens"]["hidden"] == ["ssn"], "who may ask about others hears all"
