"""Promise: no policy is removed and nobody shown more before somebody agreed to it, by the command line or over HTTP."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.cli.in_process import Run, commands, done
from tests.conftest import Api
from tests.doors.governed import HIDE, MASK, ROWS, exported, govern, sent
from tests.doors.settled import LAKE, give, securable
from tests.doors.settled import done as answered

APPLY = "/api/headgate/policies/apply?metalake=lake"


@pytest.fixture
def run(api: Api) -> Iterator[Run]:
    govern(api)
    with commands(api) as run:
        yield run


@pytest.fixture
def folder(tmp_path: Path, run: Run) -> Path:
    """A folder whose policies are applied."""
    folder = tmp_path / "policies"
    folder.mkdir()
    for name, text in (("hide", HIDE), ("rows", ROWS), ("mask", MASK)):
        (folder / f"{name}.yaml").write_text(text)
    done(run("apply", "-f", str(folder)))
    return folder


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_folder_that_holds_only_comments_removes_nothing(run: Run, api: Api, folder: Path) -> None:
    before = exported(api)
    empty = folder.parent / "empty"
    empty.mkdir()
    (empty / "a.yaml").write_text("# nothing yet\n")
    for words in ((), ("--yes",)):
        refused = run("apply", "-f", str(empty), *words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "next:" in refused.stderr
        assert exported(api) == before
    assert "--allow-empty" in run("apply", "-f", str(empty), "--yes").stderr
    unasked = run("apply", "-f", str(empty), "--allow-empty")
    assert (unasked.returncode, exported(api)) == (2, before), (
        "that there may be none is no yes to removing all"
    )
    assert "by-region" in unasked.stderr
    done(run("apply", "-f", str(empty), "--allow-empty", "--yes"))
    assert exported(api) == ""


def test_removing_a_policy_is_asked(run: Run, api: Api, folder: Path) -> None:
    before = exported(api)
    (folder / "rows.yaml").unlink()
    refused = run("apply", "-f", str(folder))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "policy by-region would be removed" in refused.stderr
    assert "add --yes" in refused.stderr
    assert exported(api) == before
    for answer, code in (("n\n", 1), ("y\n", 0)):
        with mock.patch.object(sys, "stdin", Terminal(answer)):
            assert run("apply", "-f", str(folder)).returncode == code
    assert "by-region" not in exported(api)


def test_showing_somebody_more_is_asked_also_if_only_for_another_purpose(
    run: Run, api: Api, folder: Path
) -> None:
    before = exported(api)
    for wider in (
        ROWS.replace("principal.region", "principal.region OR region = 'US'"),
        ROWS + "purpose: [audit]\n",
        ROWS + "enabled: false\n",
    ):
        (folder / "rows.yaml").write_text(wider)
        refused = run("apply", "-f", str(folder))
        assert (refused.returncode, exported(api)) == (2, before)
        assert "ann" in refused.stderr
        assert "would see more of cat.s.customers" in refused.stderr
        assert "would see more" in done(run("plan", "-f", str(folder)))
    done(run("apply", "-f", str(folder), "--yes"))
    assert "enabled: false" in exported(api)


def test_narrowing_is_not_asked(run: Run, api: Api, folder: Path) -> None:
    (folder / "rows.yaml").write_text(ROWS.replace("principal.region", "principal.region AND id > 5"))
    (folder / "hide.yaml").write_text(HIDE.replace("[ssn, home.zip]", "[ssn, home.zip, email]"))
    done(run("apply", "-f", str(folder)))
    assert "id > 5" in exported(api)


def test_over_http_it_takes_the_digest_of_the_plan(run: Run, api: Api, folder: Path) -> None:
    before = exported(api)
    refused = api("admin", "POST", APPLY, sent(HIDE, MASK))
    assert refused.status_code == 400
    assert "by-region" in refused.text
    assert api("admin", "POST", APPLY, sent()).status_code == 400, "nothing at all is hardly meant"
    plan = answered(api("admin", "POST", "/api/headgate/policies/plan?metalake=lake", sent(HIDE, MASK)))
    assert [view["people"] for view in plan["wider"]] == [["ann", "bob"]]
    other = api("admin", "POST", APPLY, sent(HIDE, plan=plan["digest"]))
    assert (other.status_code, exported(api)) == (409, before), "another change was not agreed to"
    empty = answered(api("admin", "POST", APPLY, sent(dryRun=True)))
    assert api("admin", "POST", APPLY, sent(plan=empty["digest"])).status_code == 400
    answered(api("admin", "POST", APPLY, sent(HIDE, MASK, plan=plan["digest"])))
    assert "by-region" not in exported(api)


def test_who_may_not_ask_about_others_agrees_to_what_could_widen_and_hears_of_nobody(
    run: Run, api: Api, folder: Path, tmp_path: Path
) -> None:
    give(api, "eve", "author", securable("metalake", "lake", "create_policy", "apply_policy", "use_catalog", "use_schema", "select_table"))  # fmt: skip
    mine = tmp_path / "mine.yaml"
    mine.write_text("policy: mine\non: lake.cat\nto: [user:ann]\nrows: id > 5\n")
    done(run("apply", "-f", str(mine), user="eve"))
    mine.write_text("policy: mine\non: lake.cat\nto: [user:ann]\nrows: id > 4\n")
    refused = run("apply", "-f", str(mine), user="eve")
    assert refused.returncode == 2
    assert "policy mine" in refused.stderr
    assert "ann" not in refused.stderr
    done(run("apply", "-f", str(mine), "--yes", user="eve"))
    assert answered(api("admin", "GET", f"{LAKE}/policies/mine"))["policy"]["content"]["rows"] == "id > 4"


@pytest.mark.parametrize("priority", [-3, 0, 3])
def test_so_do_they_to_a_new_mask_that_may_go_before_another(run: Run, api: Api, priority: int) -> None:
    """Masks go before others of a lower priority, and that may be below zero."""
    give(api, "eve", "author", securable("metalake", "lake", "create_policy", "apply_policy", "use_catalog", "use_schema", "select_table"))  # fmt: skip
    low = "policy: low\non: lake.cat.s.customers\nto: [user:bob]\nmask: {email: \"'hidden'\"}\npriority: -5\n"
    answered(api("admin", "POST", APPLY, sent(low, whole=False)))
    answered(api("admin", "PUT", f"{LAKE}/owners/policy/low", {"name": "eve", "type": "user"}))
    high = low.replace("policy: low", "policy: high").replace("'hidden'", "email || ''")
    high = high.replace("-5", str(priority))
    before = exported(api)
    refused = api("eve", "POST", APPLY, sent(high, whole=False))
    assert (refused.status_code, exported(api)) == (400, before), refused.text
    plan = answered(api("eve", "POST", APPLY, sent(high, whole=False, dryRun=True)))
    answered(api("eve", "POST", APPLY, sent(high, whole=False, plan=plan["digest"])))


@pytest.mark.parametrize("verb", ["disable", "delete"])
def test_a_policy_is_disabled_and_dropped_by_who_says_yes(run: Run, folder: Path, verb: str) -> None:
    refused = run("policy", verb, "--name", "by-region")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "headgate policy details --name by-region" in refused.stderr
    listed = json.loads(done(run("policy", "list", "--output", "json")))
    assert {"by-region": True}.items() <= {each["name"]: each["enabled"] for each in listed}.items()
    done(run("policy", verb, "--name", "by-region", "--yes"))
