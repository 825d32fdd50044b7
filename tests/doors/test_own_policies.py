"""Policies of Headgate's own: written, kept with history, planned, applied all or nothing, exported to the byte, explained."""

from typing import Any

import pytest

from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward import Steward
from headgate.store import objects
from tests.conftest import Api
from tests.doors.governed import (
    DENY,
    HIDE,
    MASK,
    ROWS,
    TABLES,
    applied,
    exported,
    govern,
    planned,
    sent,
)
from tests.doors.lake import id_of
from tests.doors.settled import LAKE, done, failed, give, refused, securable

APPLY = "/api/headgate/policies/apply?metalake=lake"
PLAN = "/api/headgate/policies/plan?metalake=lake"
CONTENT = {"on": "lake.cat.s.customers", "to": ["everyone"], "hide": ["ssn"]}


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)


def kinds(answer: Any) -> dict[str, str]:
    return {change["policy"]: change["change"] for change in answer["changes"]}


def lens(api: Api, user: str, **more: Any) -> Any:
    asked = {"metalake": "lake", "table": "cat.s.customers", "user": user, **more}
    return done(api("admin", "POST", "/api/headgate/lens", asked))


# -- plan, apply, export ------------------------------------------------------------------------------------------


def test_plan_apply_and_export_go_round_to_the_byte(api: Api) -> None:
    texts = (HIDE, ROWS, MASK)
    plan = planned(api, *texts)
    assert kinds(plan) == {"hide-ssn": "created", "by-region": "created", "mask-email": "created"}
    assert exported(api) == "", "planning changes nothing"
    assert kinds(applied(api, *texts)) == kinds(plan)
    text = exported(api)
    assert text == "---\n".join((ROWS, HIDE, MASK))
    again = planned(api, text)
    assert (again["changes"], again["lenses"]) == ([], [])
    assert applied(api, text)["changes"] == []
    assert exported(api) == text


def test_a_plan_says_whose_lens_changes_from_what_to_what(api: Api) -> None:
    applied(api, ROWS)
    plan = planned(api, ROWS.replace("principal.region", "principal.region OR region IS NULL"), MASK, DENY)
    assert kinds(plan) == {"by-region": "changed", "mask-email": "created", "nobody": "created"}
    told = {(people, table): effect for effect in plan["lenses"] for people in effect["people"] for table in effect["tables"]}  # fmt: skip
    assert set(told) == {(user, "cat.s.customers") for user in ("admin", "ann", "bob")}, "eve may not read it"
    ann = told["ann", "cat.s.customers"]
    assert (ann["before"], "IS NULL" in ann["after"], "show_last_4" in ann["after"]) == (
        "rows where region = 'EU'",
        True,
        True,
    )
    assert told["bob", "cat.s.customers"]["after"].startswith("denied: policy 'nobody'")
    assert told["admin", "cat.s.customers"]["before"] == "the whole table"
    assert (
        planned(api, ROWS.replace("region = principal.region", "principal.region = region"))["lenses"] == []
    )


def test_documents_that_are_the_whole_remove_the_others_and_parts_do_not(api: Api) -> None:
    applied(api, HIDE, ROWS)
    assert kinds(planned(api, HIDE)) == {"by-region": "removed"}
    assert planned(api, HIDE, whole=False)["changes"] == []
    applied(api, MASK, whole=False)
    assert exported(api).count("policy:") == 3
    applied(api, MASK)
    assert exported(api) == MASK


def test_a_renamed_object_keeps_its_policies_and_export_writes_the_new_name(api: Api) -> None:
    applied(api, HIDE.replace("[group:privacy]", "[group:privacy, user:admin]"), DENY)
    rename = {"@type": "rename", "newName": "clients"}
    done(api("admin", "PUT", f"{TABLES}/customers", {"updates": [rename]}))
    assert "on: lake.cat.s.clients\n" in exported(api)
    assert refused(api("bob", "GET", f"{TABLES}/clients"))
    assert planned(api, exported(api))["changes"] == []


def test_a_dropped_object_leaves_a_policy_on_nothing(api: Api) -> None:
    applied(api, DENY)
    done(api("admin", "DELETE", f"{TABLES}/customers"))
    assert exported(api) == ""
    assert "on" not in done(api("admin", "GET", f"{LAKE}/policies/nobody"))["policy"]["content"]
    done(api("admin", "POST", TABLES, {"name": "customers", "columns": [{"name": "id", "type": "long"}]}))
    assert api("bob", "GET", f"{TABLES}/customers").status_code == 200, "another table of the same name"
    assert kinds(planned(api, DENY)) == {"nobody": "changed"}
    applied(api, DENY)
    assert refused(api("bob", "GET", f"{TABLES}/customers"))


# -- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ROWS.replace("region = principal.region", "regoin = 'EU'").replace("lake.cat", "lake.cat.s.customers"), "did you mean region"),
        (ROWS.replace("principal.region", "principal.regoin"), "principal.regoin, which nobody has"),
        (MASK.replace("'pii'", "'pee'"), "tag 'pee', which does not exist"),
        (MASK.replace("show_last_4(e)", "truncate_to_year(e)"), "cannot be evaluated on table 'cat.s.customers'"),
        (ROWS.replace("principal.region", "(SELECT 1)"), "0.yaml:4"),
        (ROWS.replace("region = principal.region", "id = rand()"), "0.yaml:4"),
        (ROWS.replace("region = principal.region", "nonsense(id) = 1"), "nonsense"),
        (ROWS.replace("region = principal.region", "id / 0 = 1"), "division by zero"),
        (ROWS.replace("lake.cat", "lake.nowhere"), "does not exist"),
        (ROWS.replace("lake.cat", "pond.cat"), "not in 'lake'"),
        (ROWS + "---\n" + ROWS, "is taken"),
        (ROWS + "deny: true\n", "exactly one thing"),
        ("policy: [", "not YAML"),
    ],
)  # fmt: skip
def test_one_bad_policy_refuses_all_and_says_where(api: Api, text: str, said: str) -> None:
    applied(api, DENY)
    for path in (APPLY, PLAN):
        answer = api("admin", "POST", path, sent(text, HIDE))
        assert answer.status_code == 400, answer.text
        assert said in answer.json()["message"]
    assert exported(api) == DENY


def test_who_writes_policies_needs_the_right_here_and_there_and_gains_nothing(api: Api) -> None:
    assert refused(api("eve", "POST", APPLY, sent(DENY, whole=False)))
    give(api, "eve", "author", securable("metalake", "lake", "create_policy"))
    assert refused(api("eve", "POST", APPLY, sent(DENY, whole=False))), "eve cannot even see the table"
    give(api, "eve", "reader-eve", securable("catalog", "cat", "use_catalog", "use_schema", "select_table"))
    answer = api("eve", "POST", APPLY, sent(DENY, whole=False))
    assert refused(answer), "seeing a table is not enough to restrict it"
    assert "apply_policy" in answer.json()["message"]
    give(api, "eve", "applier", securable("metalake", "lake", "apply_policy"))
    applied(api, DENY, user="eve", whole=False)
    assert refused(api("bob", "GET", f"{TABLES}/customers"))
    applied(api, HIDE, whole=False)
    assert refused(api("eve", "POST", APPLY, sent(HIDE.replace("hide: [ssn, home.zip]", "hide: [ssn]"))))
    assert refused(api("eve", "DELETE", f"{LAKE}/policies/hide-ssn"))
    assert refused(api("eve", "PATCH", f"{LAKE}/policies/hide-ssn", {"enable": False}))
    shown = done(api("eve", "GET", f"{TABLES}/customers"))["table"]
    assert "ssn" not in str(shown)


def test_only_those_who_may_ask_are_told(api: Api) -> None:
    for method, path, body in (
        ("POST", PLAN, sent(HIDE)),
        ("GET", "/api/headgate/policies/export?metalake=lake", None),
        ("POST", "/api/headgate/policies/lint?metalake=lake", sent()),
        ("POST", "/api/headgate/lens", {"metalake": "lake", "table": "cat.s.customers", "user": "bob"}),
    ):
        assert refused(api("ann", method, path, body)), path


# -- through Gravitino's own routes -------------------------------------------------------------------------------


def test_gravitinos_routes_create_show_change_disable_and_drop_them(api: Api) -> None:
    body = {"name": "p", "policyType": "headgate", "content": CONTENT, "comment": "c"}
    made = done(api("admin", "POST", f"{LAKE}/policies", body))["policy"]
    assert (made["policyType"], made["content"]) == ("headgate", CONTENT)
    assert api("admin", "POST", f"{LAKE}/policies", body).status_code == 409
    assert "ssn" not in str(done(api("ann", "GET", f"{TABLES}/customers")))
    inherited = done(api("admin", "GET", f"{LAKE}/objects/table/cat.s.customers/policies?details=true"))
    assert [(p["name"], p["inherited"]) for p in inherited["policies"]] == [("p", False)]

    done(api("admin", "PATCH", f"{LAKE}/policies/p", {"enable": False}))
    assert "ssn" in str(done(api("ann", "GET", f"{TABLES}/customers")))
    done(api("admin", "PATCH", f"{LAKE}/policies/p", {"enable": True}))
    new = {"@type": "updateContent", "policyType": "headgate", "newContent": {**CONTENT, "hide": ["email"]}}
    done(api("admin", "PUT", f"{LAKE}/policies/p", {"updates": [new, {"@type": "rename", "newName": "q"}]}))
    shown = str(done(api("ann", "GET", f"{TABLES}/customers")))
    assert "ssn" in shown
    assert "email" not in shown
    history = done(api("admin", "GET", "/api/headgate/metalakes/lake/policies/q/history"))["history"]
    assert [(v["action"], v["name"], v["enabled"]) for v in history] == [
        ("create", "p", True),
        ("disable", "p", False),
        ("enable", "p", True),
        ("change", "p", True),
        ("rename", "q", True),
    ]
    assert history[0]["document"]["hide"] == ["ssn"]
    assert {v["actor"] for v in history} == {"admin"}
    assert done(api("admin", "DELETE", f"{LAKE}/policies/q"))["dropped"] is True
    assert "email" in str(done(api("ann", "GET", f"{TABLES}/customers")))


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"on": "lake", "to": ["everyone"]},
        {**CONTENT, "surprise": 1},
        {**CONTENT, "enabled": False},
        {**CONTENT, "hide": "no such column!"},
        {**CONTENT, "rows": "id = 1"},
        {**CONTENT, "to": ["ann"]},
        {**CONTENT, "to": None},
        {**CONTENT, "hide": [["deep", ["er"]]]},
    ],
)
def test_bad_content_is_refused(api: Api, content: Any) -> None:
    body = {"name": "p", "policyType": "headgate", "content": content}
    answer = api("admin", "POST", f"{LAKE}/policies", body)
    assert (answer.status_code, answer.json()["type"]) == (400, "IllegalArgumentException"), answer.text


def test_their_object_is_said_in_the_policy_and_not_by_attaching(api: Api) -> None:
    applied(api, HIDE)
    attach = {"policiesToAdd": ["hide-ssn"]}
    answer = api("admin", "POST", f"{LAKE}/objects/catalog/cat/policies", attach)
    assert answer.status_code == 400
    assert "on" in answer.json()["message"]


def test_a_tag_that_a_policy_asks_for_stays_and_without_it_the_policy_denies(
    api: Api, steward: Steward
) -> None:
    applied(api, MASK)
    assert failed(api("admin", "DELETE", f"{LAKE}/tags/pii")) == (409, "TagInUseException")
    rename = {"updates": [{"@type": "rename", "newName": "pee"}]}
    assert failed(api("admin", "PUT", f"{LAKE}/tags/pii", rename)) == (409, "TagInUseException")
    with steward.kernel.store.write("test", "drop") as tx:
        objects.drop(tx, id_of(steward, "tag", "pii"))
    answer = api("ann", "GET", f"{TABLES}/customers")
    assert refused(answer)
    assert "there is no tag 'pii'" in answer.json()["message"]
    applied(api, HIDE)
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "pii"}))
    assert done(api("admin", "DELETE", f"{LAKE}/tags/pii"))["dropped"] is True


# -- explain and simulate -----------------------------------------------------------------------------------------


def test_the_lens_of_someone_is_told_with_every_policy_on_the_way(api: Api) -> None:
    applied(api, HIDE, ROWS, MASK, DENY)
    told = lens(api, "ann")
    assert told["mayLoad"] is True
    view = told["explanation"]["lens"]
    assert (view["rows"], view["hidden"], view["masks"]) == (
        "region = 'EU'",
        ["ssn", "home.zip"],
        {"email": "show_last_4(email)"},
    )
    steps = {step["policy"]: step for step in told["explanation"]["policies"]}
    assert steps["nobody"] == {
        "policy": "nobody",
        "on": "table cat.s.customers",
        "effect": "deny",
        "applies": False,
        "why": "it is not for them",
    }
    assert steps["by-region"]["rows"] == "region = 'EU'"
    assert lens(api, "bob")["explanation"]["denials"] == ["policy 'nobody': it denies access"]
    assert lens(api, "eve")["mayLoad"] is False


def test_what_is_told_is_what_is_enforced(api: Api) -> None:
    applied(api, HIDE)
    visible = {
        column["name"] for column in done(api("ann", "GET", f"{TABLES}/customers"))["table"]["columns"]
    }
    hidden = set(lens(api, "ann")["explanation"]["lens"]["hidden"])
    assert visible == {"id", "region", "email", "ssn", "home"} - hidden


def test_a_simulation_tells_of_policies_that_are_not_applied(api: Api) -> None:
    told = lens(api, "ann", policies=sent(ROWS))
    assert told["explanation"]["lens"]["rows"] == "region = 'EU'"
    assert lens(api, "ann")["explanation"]["lens"]["whole"] is True


def test_the_same_view_has_the_same_id_for_everyone_and_every_spelling(api: Api) -> None:
    applied(api, "policy: a\non: lake.cat\nto: [user:ann]\nrows: region = 'EU' AND id > 1\n")
    one = lens(api, "ann")["explanation"]["lens"]["id"]
    applied(api, "policy: b\non: lake\nto: [user:bob]\nrows: id > 1\n---\npolicy: c\non: lake\nto: [user:bob]\nrows: region IN ('EU')\n")  # fmt: skip
    assert lens(api, "bob")["explanation"]["lens"]["id"] == one
    whole = lens(api, "ann")["explanation"]["lens"]
    assert whole["whole"] is True
    assert whole["id"] != one


def test_the_planner_gets_the_lens_as_a_veil(api: Api, steward: Steward) -> None:
    from headgate.catalogs.interface import IcebergCatalog
    from headgate.decide import Op
    from headgate.model.principals import Identity
    from headgate.steward.metadata.shapes import place
    from headgate.steward.reads.lenses import veil_of

    applied(api, HIDE, ROWS, MASK)
    ref = ObjectRef.parse("lake", ObjectType.TABLE, "cat.s.customers")
    permit = steward.kernel.permit(Identity("ann"), Op.LOAD_TABLE, ref)
    adapter = steward.catalogs.opened(permit.authority.objects[permit.node.chain[1][0]])
    assert isinstance(adapter, IcebergCatalog)
    document = adapter.document(place(permit.authority, permit.node))
    veil = veil_of(steward.lenses.over(permit, document))
    assert (veil.hidden_field_ids, veil.masked_field_ids) == (frozenset({4, 7}), frozenset({3}))
    assert veil.row_filter["type"] == "eq"


def test_no_commit_makes_a_policy_forget_what_a_column_was_called(api: Api) -> None:
    table = "/iceberg/v1/lake.cat/namespaces/s/tables/customers"
    forget = {"requirements": [], "updates": [{"action": "remove-schemas", "schema-ids": [7]}]}
    assert api("admin", "POST", table, forget).status_code == 200
    applied(api, ROWS)
    refused = api("admin", "POST", table, forget)
    assert refused.status_code == 403
    assert "by-region" in refused.text
