"""What the tests of Gravitino's clients take for granted, for those calls that its Python client does not have."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.model.errors import IllegalArgument
from headgate.model.objects import checked_person_name
from headgate.vending.vendor import session_name
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.lake import LAKE
from tests.people import People

SCHEMAS = f"{LAKE}/catalogs/cat/schemas"
TABLE = f"{LAKE}/objects/table/cat.s.t"


@pytest.fixture(autouse=True)
def lake(api: Api, people: People) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake", "comment": "c"})
    for name, type, provider in (
        ("cat", "relational", "lakehouse-iceberg"),
        ("files", "fileset", "fileset"),
        ("queue", "messaging", "topic"),
        ("models", "model", "model"),
    ):
        body = {"name": name, "type": type, "provider": provider, "comment": "c"}
        assert api("admin", "POST", f"{LAKE}/catalogs", body).status_code == 200
        made = api("admin", "POST", f"{LAKE}/catalogs/{name}/schemas", {"name": "s"})
        assert made.status_code == 200, made.text
    columns = [{"name": "id", "type": "long"}]
    made = api("admin", "POST", f"{SCHEMAS}/s/tables", {"name": "t", "columns": columns, "comment": "c"})
    assert made.status_code == 200, made.text
    people.join("ann")


def kind(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json().get("type", "")


# -- names ------------------------------------------------------------------------------------------------------

SIGNS = "#@&()[]~!^;|=+"


def test_people_and_roles_may_be_named_with_signs_and_policies_find_them(api: Api) -> None:
    for name in ("user1#123", f"a{SIGNS}z", "#1", "(ops) & [dev]", "é|ü"):
        for place, member in (("users", "user"), ("groups", "group"), ("roles", "role")):
            body = {"name": name, "securableObjects": []}
            made = api("admin", "POST", f"{LAKE}/{place}", body)
            assert made.json()[member]["name"] == name, made.text
            path = "".join(f"%{byte:02X}" for byte in name.encode())
            assert api("admin", "GET", f"{LAKE}/{place}/{path}").json()[member]["name"] == name
    applied(
        api, "policy: p\non: lake\nto: ['user:user1#123', 'group:#1', 'role:(ops) & [dev]']\nrows: 'false'\n"
    )


@pytest.mark.parametrize(
    "bad",
    [
        "",
        " ",
        " a",
        "a*",
        "a?",
        "$a",
        "a%b",
        "a'b",
        'a"b',
        "a`b",
        "a\\b",
        "a,b",
        "a\nb",
        "-a",
        ".",
        "..",
        "a//b",
        "<b>",
        "{a}",
        "x" * 129,
        "/a",
        ":a",
    ],
)
def test_no_name_of_people_widens_a_pattern_opens_an_option_or_leaves_its_path(api: Api, bad: str) -> None:
    for place in ("users", "groups", "roles"):
        refused = api("admin", "POST", f"{LAKE}/{place}", {"name": bad, "securableObjects": []})
        assert kind(refused) == (400, "IllegalArgumentException"), refused.text


@given(st.text(max_size=140))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_every_name_that_is_taken_is_harmless_where_names_are_put_together(name: str) -> None:
    try:
        checked_person_name(name, "user")
    except IllegalArgument:
        return
    assert set("*?$%'\"`\\,<>{}").isdisjoint(name)
    assert name.isprintable()
    assert not name.startswith(("-", ".", "/", ":", " "))
    assert 2 <= len(session_name(name)) <= 64


# -- comments ---------------------------------------------------------------------------------------------------


def test_a_comment_that_is_updated_to_null_is_gone_from_everything_that_has_one(api: Api) -> None:
    custom = {"supportedObjectTypes": ["table"]}
    definition = {
        "parameters": [],
        "returnType": "integer",
        "impls": [{"language": "SQL", "runtime": "SPARK", "sql": "SELECT 1"}],
    }
    function = {"name": "f", "functionType": "scalar", "deterministic": True, "comment": "c"}
    made = {
        f"{LAKE}/catalogs/files/schemas/s/filesets": {"name": "f", "comment": "c"},
        f"{LAKE}/catalogs/queue/schemas/s/topics": {"name": "q", "comment": "c"},
        f"{LAKE}/catalogs/models/schemas/s/models": {"name": "m", "comment": "c"},
        f"{SCHEMAS}/s/functions": {**function, "definitions": [definition]},
        f"{LAKE}/tags": {"name": "tag", "comment": "c"},
        f"{LAKE}/policies": {"name": "p", "comment": "c", "policyType": "custom", "content": custom},
        f"{LAKE}/jobs/templates": {
            "jobTemplate": {"name": "j", "comment": "c", "jobType": "shell", "executable": "/bin/true"}
        },
    }
    for path, body in made.items():
        answer = api("admin", "POST", path, body)
        assert answer.status_code == 200, answer.text
    version = {"uri": "s3://b/m", "comment": "c"}
    models = f"{LAKE}/catalogs/models/schemas/s/models/m"
    assert api("admin", "POST", f"{models}/versions", version).status_code == 200
    paths = [
        LAKE,
        f"{LAKE}/catalogs/cat",
        f"{SCHEMAS}/s/tables/t",
        f"{LAKE}/catalogs/files/schemas/s/filesets/f",
        f"{LAKE}/catalogs/queue/schemas/s/topics/q",
        models,
        f"{models}/versions/0",
        f"{SCHEMAS}/s/functions/f",
        f"{LAKE}/tags/tag",
        f"{LAKE}/policies/p",
        f"{LAKE}/jobs/templates/j",
    ]
    for path in paths:
        before = api("admin", "GET", path)
        assert '"comment":"c"' in before.text, path
        null = {"updates": [{"@type": "updateComment", "newComment": None}]}
        for answer in (api("admin", "PUT", path, null), api("admin", "GET", path)):
            assert answer.status_code == 200, answer.text
            assert '"comment"' not in answer.text, path


# -- labels that are not there ----------------------------------------------------------------------------------


def test_a_tag_or_policy_that_is_not_there_is_passed_over_by_who_may_know_it(
    api: Api, people: People
) -> None:
    content = {"supportedObjectTypes": ["table"]}
    api("admin", "POST", f"{LAKE}/tags", {"name": "a"})
    api("admin", "POST", f"{LAKE}/policies", {"name": "a", "policyType": "custom", "content": content})
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    for word, type in (("tags", "tag"), ("policies", "policy")):
        add, remove = f"{word}ToAdd", f"{word}ToRemove"
        path = f"{TABLE}/{word}"
        people.may("ann", f"APPLY_{type.upper()}", type, "a")
        # Who may apply one of them is not told which others there are.
        refused = [api("ann", "POST", path, {key: ["none"]}) for key in (add, remove)]
        assert {answer.status_code for answer in refused} == {403}
        assert api("admin", "POST", path, {add: ["none"]}).json() == {"code": 0, "names": []}
        assert api("admin", "POST", path, {add: ["a", "none"]}).json()["names"] == ["a"]
        assert api("admin", "POST", path, {remove: ["none"]}).json()["names"] == ["a"]
        assert api("admin", "POST", path, {add: ["none"], remove: ["a", "none"]}).json()["names"] == []
        elsewhere = api("admin", "POST", f"/api/metalakes/nolake/objects/table/cat.s.t/{word}", {add: ["a"]})
        assert elsewhere.status_code in (403, 404)


# -- statistics, contents ---------------------------------------------------------------------------------------


def test_a_statistic_of_a_name_that_is_not_for_clients_is_refused_as_such(api: Api) -> None:
    for path, body in (
        ("/statistics", {"updates": {"rows": 1}}),
        ("/statistics/partitions", {"updates": [{"partitionName": "p", "statistics": {"rows": 1}}]}),
    ):
        assert kind(api("admin", "PUT", TABLE + path, body)) == (400, "IllegalStatisticNameException")
    assert api("admin", "GET", f"{TABLE}/statistics").json()["statistics"] == []


def test_the_content_of_a_policy_reads_as_it_was_sent(api: Api) -> None:
    for name, sent in (
        ("p", {"customRules": {"r": 1}, "properties": None}),
        ("q", {"customRules": None, "properties": {}}),
        ("r", {"customRules": {}, "properties": {"k": "v"}}),
    ):
        content = {"supportedObjectTypes": ["table"], **sent}
        body = {"name": name, "policyType": "custom", "content": content}
        made = api("admin", "POST", f"{LAKE}/policies", body).json()["policy"]["content"]
        loaded = api("admin", "GET", f"{LAKE}/policies/{name}").json()["policy"]["content"]
        assert made == loaded == {key: value for key, value in content.items() if value is not None}
        again = {"@type": "updateContent", "policyType": "custom", "newContent": content}
        assert api("admin", "PUT", f"{LAKE}/policies/{name}", {"updates": [again]}).status_code == 200


# -- which of two errors ----------------------------------------------------------------------------------------


def test_a_privilege_that_cannot_be_bound_is_told_before_an_object_that_is_not_there(
    api: Api, people: People
) -> None:
    api("admin", "POST", f"{LAKE}/roles", {"name": "r", "securableObjects": []})
    wrong = {"privileges": [{"name": "create_catalog", "condition": "allow"}]}
    right = {"privileges": [{"name": "select_table", "condition": "allow"}]}
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")
    for verb in ("grant", "revoke"):
        for object in ("table/cat.s.none", "table/none.s.t", "schema/cat.none", "catalog/none"):
            path = f"{LAKE}/permissions/roles/r/{object}/{verb}"
            assert kind(api("admin", "PUT", path, wrong)) == (400, "IllegalPrivilegeException"), path
            assert kind(api("admin", "PUT", path, right)) == (404, "NoSuchMetadataObjectException"), path
            assert kind(api("admin", "PUT", path, {"privileges": 1}))[0] == 400
            # Who may not know what is there is told the same of all of it.
            assert {api("ann", "PUT", path, body).status_code for body in (wrong, right)} == {403}


def test_that_a_metalake_is_not_in_use_is_told_before_what_is_not_there(api: Api, people: People) -> None:
    people.may("ann", "USE_SCHEMA", "metalake", "lake")
    api("admin", "PATCH", LAKE, {"inUse": False})
    for path in (f"{SCHEMAS}/none", f"{SCHEMAS}/s", f"{SCHEMAS}/none/tables/t", f"{LAKE}/tags/none"):
        assert kind(api("admin", "GET", path)) == (409, "MetalakeNotInUseException"), path
    assert kind(api("ann", "GET", f"{SCHEMAS}/none"))[0] == 403
    api("admin", "PATCH", LAKE, {"inUse": True})
    api("admin", "PATCH", f"{LAKE}/catalogs/cat", {"inUse": False})
    for path in (f"{SCHEMAS}/none", f"{SCHEMAS}/s/tables/none"):
        assert kind(api("admin", "GET", path)) == (409, "CatalogNotInUseException"), path
    assert kind(api("ann", "GET", f"{SCHEMAS}/none"))[0] == 403


# -- nested schemas ---------------------------------------------------------------------------------------------


def test_a_nested_schema_comes_with_its_parents_and_who_makes_them_owns_them(
    api: Api, people: People
) -> None:
    people.may("ann", "USE_CATALOG CREATE_SCHEMA", "catalog", "cat")
    people.join("bob")
    made = api("ann", "POST", SCHEMAS, {"name": "A:B:C", "comment": "deep", "properties": {"k": "v"}})
    assert made.json()["schema"]["name"] == "A:B:C", made.text
    outer = api("ann", "GET", f"{SCHEMAS}/A%3AB").json()["schema"]
    assert ("comment" in outer, outer["properties"]) == (False, {})
    for name in ("A", "A:B", "A:B:C"):
        owner = api("ann", "GET", f"{LAKE}/owners/schema/cat.{name}").json()["owner"]
        assert owner["name"] == "ann"
    assert kind(api("ann", "POST", SCHEMAS, {"name": "A:B:C"})) == (409, "SchemaAlreadyExistsException")
    assert api("ann", "POST", SCHEMAS, {"name": "A:D:E:F"}).status_code == 200
    assert api("admin", "GET", f"{LAKE}/owners/schema/cat.A").json()["owner"]["name"] == "ann"
    assert kind(api("bob", "POST", SCHEMAS, {"name": "X:Y"})) == (403, "ForbiddenException")
    assert kind(api("admin", "GET", f"{SCHEMAS}/X")) == (404, "NoSuchSchemaException")
    nowhere = api("admin", "POST", f"{LAKE}/catalogs/none/schemas", {"name": "X:Y"})
    assert kind(nowhere) == (404, "NoSuchCatalogException")


def test_a_deny_on_a_parent_holds_for_all_that_would_be_made_below_it(api: Api, people: People) -> None:
    api("admin", "POST", SCHEMAS, {"name": "A"})
    people.may("ann", "USE_CATALOG CREATE_SCHEMA", "catalog", "cat")
    people.may("ann", "CREATE_SCHEMA", "schema", "cat.A", deny=True)
    for name in ("A:B", "A:B:C", "A:B:C:D"):
        assert kind(api("ann", "POST", SCHEMAS, {"name": name})) == (403, "ForbiddenException"), name
    assert api("ann", "POST", SCHEMAS, {"name": "X:Y:Z"}).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("bad", ["A::B", ":A", "A:", "A:B*:C", "A:..:C", ":".join("a" * 17), ":" * 5000])
def test_a_nested_schema_of_a_bad_name_makes_none_of_its_parents(api: Api, bad: str) -> None:
    assert kind(api("admin", "POST", SCHEMAS, {"name": bad})) == (400, "IllegalArgumentException")
    assert [one["name"] for one in api("admin", "GET", SCHEMAS).json()["identifiers"]] == ["s"]


# -- what a governance server does not do -----------------------------------------------------------------------


def test_passwords_lineage_and_job_runs_are_refused_with_a_word_why(api: Api) -> None:
    for method, path, word in (
        ("POST", "/api/idp/users", "passwords"),
        ("GET", "/api/idp/users/ann", "passwords"),
        ("PUT", "/api/idp/users/ann", "passwords"),
        ("DELETE", "/api/idp/users/ann", "passwords"),
        ("POST", "/api/idp/groups", "passwords"),
        ("GET", "/api/idp/groups/g", "passwords"),
        ("DELETE", "/api/idp/groups/g", "passwords"),
        ("PUT", "/api/idp/groups/g/users", "passwords"),
        ("POST", "/api/lineage", "lineage"),
    ):
        answer = api("ann", method, path, {} if method in ("POST", "PUT") else None)
        assert kind(answer) == (405, "UnsupportedOperationException"), path
        assert word in answer.json()["message"]
        assert api(None, method, path).status_code == 401, path
    template = {"name": "j", "jobType": "shell", "executable": "/bin/true"}
    api("admin", "POST", f"{LAKE}/jobs/templates", {"jobTemplate": template})
    run = api("admin", "POST", f"{LAKE}/jobs/runs", {"jobTemplateName": "j"})
    assert kind(run) == (405, "UnsupportedOperationException")
    assert "job executor" in run.json()["message"]
