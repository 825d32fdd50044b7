"""Job templates through the Gravitino door, and jobs that nobody runs here."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.people import People

TEMPLATES = f"{LAKE}/jobs/templates"
RUNS = f"{LAKE}/jobs/runs"
SHELL = {
    "jobType": "shell",
    "name": "t",
    "comment": "c",
    "executable": "/bin/echo",
    "arguments": ["{{who}}"],
    "environments": {"REGION": "eu", "DB_PASSWORD": "hunter2"},
    "customFields": {},
    "scripts": ["a.sh"],
}


@pytest.fixture(autouse=True)
def lake(api: Api, people: People) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    people.join("ann")


def register(api: Api, user: str = "admin", **more: Any) -> Any:
    return api(user, "POST", TEMPLATES, {"jobTemplate": {**SHELL, **more}})


def test_job_templates_are_registered_listed_altered_and_dropped(api: Api) -> None:
    assert register(api).json() == {"code": 0}
    spark = {
        "jobType": "SPARK",
        "name": "s",
        "executable": "a.jar",
        "className": "X",
        "jars": ["b.jar"],
        "configs": {"spark.x": "1"},
    }
    assert api("admin", "POST", TEMPLATES, {"jobTemplate": spark}).status_code == 200
    assert api("admin", "GET", TEMPLATES).json()["names"] == ["s", "t"]
    listed = api("admin", "GET", f"{TEMPLATES}?details=true").json()["jobTemplates"]
    assert [(t["name"], t["jobType"]) for t in listed] == [("s", "spark"), ("t", "shell")]
    assert (listed[0]["className"], listed[0]["configs"]) == ("X", {"spark.x": "1"})
    again = register(api)
    assert (again.status_code, again.json()["type"]) == (409, "JobTemplateAlreadyExistsException")
    new = {"@type": "shell", "newExecutable": "/bin/cat", "newArguments": None, "newScripts": ["b.sh"]}
    updates = [
        {"@type": "rename", "newName": "u"},
        {"@type": "updateComment", "newComment": "d"},
        {"@type": "updateTemplate", "newTemplate": new},
    ]
    altered = api("admin", "PUT", f"{TEMPLATES}/t", {"updates": updates}).json()["jobTemplate"]
    assert (altered["name"], altered["comment"], altered["executable"]) == ("u", "d", "/bin/cat")
    assert (altered["arguments"], altered["scripts"]) == (["{{who}}"], ["b.sh"])
    assert api("admin", "GET", f"{TEMPLATES}/u").json()["jobTemplate"] == altered
    assert api("admin", "DELETE", f"{TEMPLATES}/u").json()["dropped"] is True
    assert api("admin", "DELETE", f"{TEMPLATES}/u").json()["dropped"] is False
    assert api("admin", "GET", f"{TEMPLATES}/u").json()["type"] == "NoSuchJobTemplateException"


def test_no_answer_tells_the_secrets_of_a_template(api: Api) -> None:
    register(api)
    for path in ("", "?details=true", "/t"):
        assert "hunter2" not in api("admin", "GET", TEMPLATES + path).text
    shown = api("admin", "GET", f"{TEMPLATES}/t").json()["jobTemplate"]
    assert shown["environments"] == {"REGION": "eu"}


def test_job_templates_that_cannot_be_are_refused(api: Api) -> None:
    for more in (
        {"jobType": "cron"},
        {"jobType": None},
        {"executable": ""},
        {"executable": None},
        {"arguments": "x"},
        {"name": "a*"},
        {"name": 5},
        {"name": ""},
        {"comment": ["c"]},
    ):
        assert register(api, **more).json()["code"] == 1001, more
    assert api("admin", "POST", TEMPLATES, {}).json()["code"] == 1001
    register(api)
    spark = {"@type": "updateTemplate", "newTemplate": {"@type": "spark", "newClassName": "X"}}
    assert api("admin", "PUT", f"{TEMPLATES}/t", {"updates": [spark]}).json()["code"] == 1001


def test_a_run_is_refused_plainly_to_whoever_may_run_and_forbidden_to_others(
    api: Api, people: People
) -> None:
    register(api)
    run = {"jobTemplateName": "t", "jobConf": {"who": "me"}}
    refused = api("admin", "POST", RUNS, run)
    assert (refused.status_code, refused.json()["code"]) == (405, 1006)
    assert "no job executor" in refused.json()["message"]
    missing = api("admin", "POST", RUNS, {"jobTemplateName": "none"})
    assert (missing.status_code, missing.json()["type"]) == (404, "NoSuchJobTemplateException")
    assert api("admin", "POST", RUNS, {}).json()["code"] == 1001
    assert api("admin", "GET", RUNS).json() == {"code": 0, "jobs": []}
    assert api("admin", "GET", f"{RUNS}?jobTemplateName=t").json()["jobs"] == []
    for method in ("GET", "POST"):
        gone = api("admin", method, f"{RUNS}/job-1")
        assert (gone.status_code, gone.json()["type"]) == (404, "NoSuchJobException")
        assert api("ann", method, f"{RUNS}/job-1").status_code == 403
    assert api("ann", "POST", RUNS, run).status_code == 403
    people.may("ann", "RUN_JOB", "metalake", "lake")
    assert api("ann", "POST", RUNS, run).status_code == 403
    people.may("ann", "USE_JOB_TEMPLATE", "job_template", "t")
    assert api("ann", "POST", RUNS, run).status_code == 405


def test_only_those_with_the_privilege_reach_a_job_template(api: Api, people: People) -> None:
    register(api)
    assert register(api, "ann", name="x").status_code == 403
    for method, path, body in (
        ("GET", "/t", None),
        ("PUT", "/t", {"updates": []}),
        ("DELETE", "/t", None),
    ):
        assert api("ann", method, TEMPLATES + path, body).status_code == 403, method
    assert api("ann", "GET", TEMPLATES).json()["names"] == []
    people.may("ann", "USE_JOB_TEMPLATE", "job_template", "t")
    assert api("ann", "GET", TEMPLATES).json()["names"] == ["t"]
    assert api("ann", "GET", f"{TEMPLATES}/t").status_code == 200
    assert api("ann", "DELETE", f"{TEMPLATES}/t").status_code == 403
    people.may("ann", "REGISTER_JOB_TEMPLATE", "metalake", "lake")
    assert register(api, "ann", name="x").status_code == 200
    assert api("ann", "DELETE", f"{TEMPLATES}/x").json()["dropped"] is True
    api("admin", "PATCH", LAKE, {"inUse": False})
    assert register(api, name="y").json()["code"] == 1009
