"""Check, explain and the audit trail: answers that agree with what the doors do and tell nobody too much."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.settled import LAKE, done, failed, give, refused, securable, settle

CHECK = "/api/headgate/check"
EXPLAIN = "/api/headgate/explain"
AUDIT = "/api/headgate/audit?metalake=lake"


@pytest.fixture(autouse=True)
def _lake(api: Api) -> None:
    settle(api, "ann", "bob")


def ask(operation: str, type: str = "catalog", name: str = "cat", **more: Any) -> dict[str, Any]:
    return {"metalake": "lake", "type": type, "fullName": name, "operation": operation, **more}


def privilege(privilege: str, type: str, name: str, **more: Any) -> dict[str, Any]:
    return {"metalake": "lake", "type": type, "fullName": name, "privilege": privilege, **more}


def allowed(api: Api, by: str, question: dict[str, Any]) -> bool:
    return bool(done(api(by, "POST", CHECK, question))["verdict"]["allowed"])


def test_anyone_asks_about_themselves_and_the_answer_is_what_the_door_does(api: Api) -> None:
    for may in (False, True):
        if may:
            give(api, "ann", "use", securable("catalog", "cat", "use_catalog"))
        for question in (ask("load_catalog"), ask("LOAD_CATALOG", user="ann")):
            assert allowed(api, "ann", question) is may
        assert (api("ann", "GET", f"{LAKE}/catalogs/cat").status_code == 200) is may
        assert allowed(api, "ann", privilege("use_catalog", "catalog", "cat")) is may
        assert allowed(api, "ann", ask("drop_catalog")) is False
    told = done(api("ann", "POST", CHECK, ask("load_catalog")))["verdict"]
    assert told["revision"] > 0
    assert (told["operation"], told["user"], told["fullName"]) == ("load_catalog", "ann", "cat")


def test_many_questions_are_answered_at_one_revision_in_their_order(api: Api) -> None:
    give(api, "ann", "use", securable("catalog", "cat", "use_catalog"))
    questions = [ask("load_catalog"), ask("alter_catalog"), privilege("use_catalog", "catalog", "cat")]
    told = done(api("ann", "POST", CHECK, questions))["verdicts"]
    assert [verdict["allowed"] for verdict in told] == [True, False, True]
    assert len({verdict["revision"] for verdict in told}) == 1
    assert done(api("ann", "POST", CHECK, []))["verdicts"] == []
    assert len(done(api("ann", "POST", EXPLAIN, questions))["explanations"]) == 3
    assert failed(api("ann", "POST", CHECK, [questions[0]] * 1001)) == (400, "IllegalArgumentException")


def test_asking_about_others_takes_the_right_to_grant(api: Api) -> None:
    give(api, "bob", "use", securable("catalog", "cat", "use_catalog"))
    question = ask("load_catalog", user="bob")
    for path in (CHECK, EXPLAIN):
        assert refused(api("ann", "POST", path, question))
        assert refused(api("ann", "POST", path, [ask("load_catalog"), question]))
        assert refused(api("stranger", "POST", path, question))
        assert refused(api("ann", "POST", path, {**question, "metalake": "sea"}))
        # Supposing groups is not about oneself: it would tell what those groups may do.
        assert refused(api("ann", "POST", path, ask("load_catalog", groups=["devs"])))
    assert allowed(api, "admin", question) is True
    assert allowed(api, "admin", ask("load_catalog", user="ann")) is False
    give(api, "ann", "granting", securable("metalake", "lake", "manage_grants"))
    assert allowed(api, "ann", question) is True


def test_groups_that_a_token_would_claim_can_be_supposed(api: Api) -> None:
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "devs"}))
    role = {"name": "use", "securableObjects": [securable("catalog", "cat", "use_catalog")]}
    done(api("admin", "POST", f"{LAKE}/roles", role))
    done(api("admin", "PUT", f"{LAKE}/permissions/groups/devs/grant", {"roleNames": ["use"]}))
    assert allowed(api, "admin", ask("load_catalog", user="bob")) is False
    assert allowed(api, "admin", ask("load_catalog", user="bob", groups=["devs"])) is True
    assert allowed(api, "admin", ask("load_catalog", user="bob", groups=["none"])) is False


def test_a_missing_object_is_not_told_from_a_forbidden_one(api: Api) -> None:
    for path in (CHECK, EXPLAIN):
        for there, missing in (
            (ask("load_catalog"), ask("load_catalog", name="none")),
            (ask("load_schema", "schema", "cat.s"), ask("load_schema", "schema", "cat.none")),
            (ask("grant_privilege", "schema", "cat.s"), ask("grant_privilege", "schema", "cat.none")),
            (privilege("use_schema", "schema", "cat.s"), privilege("use_schema", "schema", "no.s")),
        ):
            first = api("ann", "POST", path, there).text
            second = api("ann", "POST", path, missing).text
            assert second == first.replace(f'"{there["fullName"]}"', f'"{missing["fullName"]}"')
    stranger = api("stranger", "POST", EXPLAIN, ask("load_metalake", "metalake", "lake")).text
    nowhere = api(
        "stranger",
        "POST",
        EXPLAIN,
        {**ask("load_metalake", "metalake", "none"), "metalake": "none"},
    ).text
    assert nowhere == stranger.replace('"lake"', '"none"')


def test_a_missing_object_is_never_allowed_and_told_to_who_may_know(api: Api) -> None:
    question = ask("load_catalog", name="none")
    assert allowed(api, "admin", question) is False
    told = done(api("admin", "POST", EXPLAIN, question))["explanation"]
    assert (told["allowed"], told["summary"]) == (False, "catalog 'none' does not exist")


def test_an_explanation_names_the_role_the_grant_the_level_and_the_owner(api: Api) -> None:
    def why(by: str, question: dict[str, Any]) -> Any:
        return done(api(by, "POST", EXPLAIN, question))["explanation"]

    assert why("ann", ask("load_catalog"))["summary"].startswith("missing: ")
    assert "privilege use_catalog" in why("ann", ask("load_catalog"))["summary"]
    give(api, "ann", "wide", securable("metalake", "lake", "use_catalog"))
    told = why("ann", ask("load_catalog"))
    assert told["summary"] == "role 'wide' allows use_catalog on metalake 'lake'"
    assert (told["allowed"], told["roles"], told["object"]) == (True, ["wide"], "cat")
    give(api, "ann", "stop", securable("catalog", "cat", "!use_catalog"))
    for question in (ask("load_catalog"), privilege("use_catalog", "catalog", "cat")):
        told = why("ann", question)
        assert (told["allowed"], told["summary"]) == (
            False,
            "role 'stop' denies use_catalog on catalog 'cat'",
        )
    assert "user 'admin' owns catalog 'cat'" in why("admin", ask("load_catalog"))["summary"]
    assert why("admin", ask("load_catalog", user="ann"))["summary"] == told["summary"]
    assert "not an enabled user" in why("stranger", ask("load_catalog"))["summary"]
    assert told["reason"]["parts"], "the whole reasoning is there, step by step"


def test_active_roles_count_in_questions_about_oneself(api: Api) -> None:
    give(api, "ann", "use", securable("catalog", "cat", "use_catalog"))
    none = {"X-Gravitino-Active-Roles": "NONE"}
    told = done(api("ann", "POST", CHECK, ask("load_catalog"), headers=none))
    assert told["verdict"]["allowed"] is False
    assert refused(api("ann", "POST", CHECK, ask("load_catalog"), headers={"X-Gravitino-Active-Roles": "x"}))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        "load",
        ask("fly"),
        ask("load_table"),
        ask("load_catalog", type="planet"),
        ask("load_schema", "schema", "cat"),
        {**ask("load_catalog"), "privilege": "use_catalog"},
        {"metalake": "lake", "type": "catalog", "fullName": "cat"},
        privilege("create_catalog", "catalog", "cat"),
        privilege("fly", "catalog", "cat"),
        ask("load_catalog", groups="devs"),
        [ask("load_catalog"), 1],
    ],
)
def test_questions_without_sense_are_refused(api: Api, wrong: Any) -> None:
    for path in (CHECK, EXPLAIN):
        answer = api("admin", "POST", path, wrong)
        assert (answer.status_code, answer.json()["code"]) == (400, 1001)


def test_the_audit_trail_tells_its_owner_what_was_done_and_refused(api: Api) -> None:
    api("ann", "GET", f"{LAKE}/catalogs/cat")
    give(api, "ann", "use", securable("catalog", "cat", "use_catalog"))
    refusals = done(api("admin", "GET", f"{AUDIT}&user=ann&allowed=false"))["events"]
    assert [(e["action"], e["object"], e["allowed"]) for e in refusals] == [("load_catalog", "cat", False)]
    assert "use_catalog" in refusals[0]["details"]["reason"]
    changes = done(api("admin", "GET", f"{AUDIT}&allowed=True&user=admin"))["events"]
    assert [e["action"] for e in changes][-2:] == ["create_role", "grant_role"]
    latest = done(api("admin", "GET", f"{AUDIT}&limit=1"))["events"]
    assert [e["action"] for e in latest] == ["grant_role"]
    follow = done(api("admin", "GET", f"{AUDIT}&after={changes[0]['id']}&limit=2"))["events"]
    assert [e["id"] for e in follow] == [changes[0]["id"] + 1, changes[0]["id"] + 2]
    last = latest[0]["at"]
    assert done(api("admin", "GET", f"{AUDIT}&since={last}"))["events"][-1] == latest[0]
    assert done(api("admin", "GET", f"{AUDIT}&since=2999-01-01"))["events"] == []
    assert len(done(api("admin", "GET", f"{AUDIT}&since=2000-01-01T00:00:00%2B02:00"))["events"]) > 5
    assert refused(api("ann", "GET", AUDIT))
    assert refused(api("ann", "GET", "/api/headgate/audit?metalake=none"))
    for bad in ("&limit=0", "&limit=1001", "&limit=x", "&after=-1", "&allowed=maybe", "&since=now"):
        assert failed(api("admin", "GET", AUDIT + bad)) == (400, "IllegalArgumentException")
    assert failed(api("admin", "GET", "/api/headgate/audit")) == (400, "IllegalArgumentException")
    assert failed(api("admin", "GET", "/api/headgate/none")) == (404, "NotFoundException")
    assert api("admin", "GET", CHECK).status_code == 405
