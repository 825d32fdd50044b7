"""Promise: what was looked at is what is applied, what was applied can be had back, and neither goes round a right or the guard."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.cli.policies.comments import MARK, comment
from tests.cli.in_process import Run, commands, done
from tests.conftest import Api
from tests.doors.governed import HIDE, MASK, ROWS, applied, exported, govern
from tests.doors.settled import LAKE, give, securable
from tests.doors.settled import done as answered
from tests.real.server import headgate_here


@pytest.fixture
def run(api: Api) -> Iterator[Run]:
    govern(api)
    with commands(api) as run:
        yield run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "policies"
    folder.mkdir()
    for name, text in (("hide", HIDE), ("rows", ROWS), ("mask", MASK)):
        (folder / f"{name}.yaml").write_text(text)
    return folder


# -- plans that are kept --------------------------------------------------------------------------------------------


def test_a_plan_that_was_kept_is_applied_as_it_was_shown(run: Run, api: Api, folder: Path) -> None:
    kept = folder.parent / "plan.json"
    shown = json.loads(done(run("plan", "-f", str(folder), "--out", str(kept), "--output", "json")))
    (folder / "hide.yaml").write_text("# the folder has changed since\n")
    applied = done(run("apply", str(kept), HEADGATE_METALAKE=""))
    assert [change["policy"] for change in shown["changes"]] == ["by-region", "hide-ssn", "mask-email"]
    assert all(change["policy"] in applied for change in shown["changes"])
    assert "hide-ssn" in exported(api)


def test_a_plan_that_is_out_of_date_does_nothing(run: Run, api: Api, folder: Path) -> None:
    done(run("apply", "-f", str(folder)))
    kept = folder.parent / "plan.json"
    (folder / "mask.yaml").write_text(MASK.replace("show_last_4", "sha256"))
    done(run("plan", "-f", str(folder), "--out", str(kept)))
    applied(api, HIDE, ROWS, MASK.replace("show_last_4", "show_first_4"))
    before = exported(api)
    stale = run("apply", str(kept), "--yes")
    assert (stale.returncode, exported(api)) == (1, before), stale.stderr
    assert "have changed since revision" in stale.stderr
    assert "new plan" in stale.stderr


def test_a_plan_that_would_show_more_than_it_showed_is_refused(run: Run, api: Api, folder: Path) -> None:
    """The policies are as they were; the people whom they are about are not."""
    done(run("apply", "-f", str(folder)))
    (folder / "rows.yaml").write_text(ROWS.replace("principal.region", "'EU'"))
    kept = folder.parent / "plan.json"
    done(run("plan", "-f", str(folder), "--out", str(kept)))
    assert "bob" in kept.read_text()
    before = exported(api)
    asked = run("apply", str(kept))
    assert (asked.returncode, exported(api)) == (2, before), "it asks as ever"
    assert str(kept) in asked.stderr
    answered(api("admin", "PUT", f"{LAKE}/users/ann/attributes", {"region": "US"}))
    refused = run("apply", str(kept), "--yes")
    assert (refused.returncode, exported(api)) == (1, before)
    assert "did not show this" in refused.stderr
    assert "ann" in refused.stderr
    answered(api("admin", "PUT", f"{LAKE}/users/ann/attributes", {"region": "EU"}))
    done(run("apply", str(kept), "--yes"))
    assert exported(api) != before


def test_a_plan_gives_nobody_a_right(run: Run, folder: Path) -> None:
    kept = folder.parent / "plan.json"
    done(run("plan", "-f", str(folder), "--out", str(kept)))
    assert run("apply", str(kept), "--yes", user="ann").returncode == 3
    elsewhere = run("apply", str(kept), HEADGATE_METALAKE="other")
    assert (elsewhere.returncode, "'lake'" in elsewhere.stderr) == (2, True)
    for text in ("", "{}", '{"kind": "x"}', "policy: x\n"):
        kept.write_text(text)
        assert run("apply", str(kept)).returncode == 2
    assert run("apply").returncode == 2
    assert run("apply", str(kept), "-f", str(folder)).returncode == 2
    assert run("plan", "-f", str(folder), "--out", str(kept), "--purpose", "p").returncode == 2


def test_whether_anything_would_change_is_told_by_the_exit_code_if_asked(run: Run, folder: Path) -> None:
    plan = ("plan", "-f", str(folder))
    assert run(*plan).returncode == 0
    changing = run(*plan, "--detailed-exitcode", "--output", "json")
    assert (changing.returncode, len(json.loads(changing.stdout)["changes"])) == (4, 3)
    done(run("apply", "-f", str(folder)))
    assert run(*plan, "--detailed-exitcode").returncode == 0
    assert run(*plan, "--detailed-exitcode", user="ann").returncode == 3


# -- what a plan says -----------------------------------------------------------------------------------------------


def test_writers_who_would_lose_writing_are_named(run: Run, api: Api, folder: Path) -> None:
    give(api, "ann", "writer", securable("catalog", "cat", "modify_table"))
    shown = json.loads(done(run("plan", "-f", str(folder), "--output", "json")))
    assert shown["writers"] == [{"tables": ["cat.s.customers"], "people": ["admin", "ann"]}]
    assert "admin, ann could not write cat.s.customers any more" in done(run("plan", "-f", str(folder)))
    done(run("apply", "-f", str(folder)))
    (folder / "rows.yaml").write_text(ROWS.replace("principal.region", "'EU'"))
    again = json.loads(done(run("plan", "-f", str(folder), "--output", "json")))
    assert again["writers"] == [], "who had lost it before loses nothing"


def test_a_plan_is_a_comment_that_nothing_in_it_can_break_out_of(run: Run, folder: Path) -> None:
    text = done(run("plan", "-f", str(folder), "--output", "markdown"))
    assert text.startswith(f"{MARK}\n### Headgate: 3 policies (3 created)\n")
    assert "+ rows: region = principal.region" in text
    assert "| `ann` | `cat.s.customers` |" in text
    assert headgate_here("lint", "--output", "markdown").returncode == 2
    evil = "a|b`<script>@team\n# x"
    change = {"policy": evil, "change": "created", "after": "```\n# out\n````"}
    effect = {"before": evil, "after": evil, "people": [evil], "tables": [evil]}
    answer = {
        "changes": [change],
        "lenses": [effect],
        "asks": [f"{evil} would see more"],
        "writers": [{"people": [evil], "tables": [evil]}],
        "unread": [evil],
        "tables": 1,
        "revision": 1,
    }
    made = comment(answer)
    assert "`````diff" in made, "the fence is longer than any in what it holds"
    outside = made.replace("`` a\\|b`<script>@team # x ``", "")
    assert "<script>" not in outside
    assert "\n# x" not in made
    assert "\\@team" in outside


# -- back again -----------------------------------------------------------------------------------------------------


def revision(api: Api) -> int:
    return int(
        answered(api("admin", "POST", "/api/headgate/policies/plan?metalake=lake", {"files": []}))["revision"]
    )


def test_policies_are_had_back_as_they_were_at_a_revision(run: Run, api: Api, folder: Path) -> None:
    nothing = revision(api)
    done(run("apply", "-f", str(folder)))
    then, first = exported(api), revision(api)
    done(run("policy", "disable", "by-region", "--yes"))
    done(run("policy", "delete", "hide-ssn", "--yes"))
    applied(
        api,
        MASK.replace("show_last_4", "sha256"),
        "policy: new\non: lake.cat\nto: [user:bob]\nrows: id > 1\n",
    )
    asked = run("undo", "--to", str(first))
    assert asked.returncode == 2
    assert "new" in asked.stderr
    said = done(run("undo", "--to", str(first), "--yes"))
    assert exported(api) == then
    assert "headgate undo --to" in said
    assert "nothing changes" in done(run("undo", "--to", str(first)))
    done(run("undo", "--to", str(nothing), "--yes"))
    assert exported(api) == ""
    assert run("undo", "--to", "999999", "--yes").returncode == 2


def test_an_object_that_has_another_name_now_is_still_the_object(run: Run, api: Api, folder: Path) -> None:
    done(run("group", "members", "privacy", "--users", "admin"))
    (folder / "mask.yaml").unlink()
    done(run("apply", "-f", str(folder)))
    first = revision(api)
    (folder / "hide.yaml").write_text(HIDE.replace("home.zip", "home.street"))
    done(run("apply", "-f", str(folder), "--yes"))
    done(run("catalog", "update", "cat", "--rename", "dog"))
    done(run("undo", "--to", str(first), "--yes"))
    assert "on: lake.dog.s" in exported(api)
    assert "home.zip" in exported(api)


def test_nobody_undoes_what_they_could_not_change(run: Run, api: Api, folder: Path) -> None:
    nothing = revision(api)
    done(run("apply", "-f", str(folder)))
    before = exported(api)
    for user in ("ann", "eve"):
        assert run("undo", "--to", str(nothing), "--yes", user=user).returncode == 3
    give(api, "ann", "asker", securable("metalake", "lake", "manage_grants", "create_policy"))
    path = f"/api/headgate/policies/past?metalake=lake&revision={nothing}"
    assert api("ann", "GET", path).status_code == 403, "what policies said before is the owner's to know"
    assert exported(api) == before
    for wrong in ("", "x", "-1", "1.5", "9" * 30, "١"):
        answer = api("admin", "GET", f"/api/headgate/policies/past?metalake=lake&revision={wrong}")
        assert answer.status_code == 400, wrong


def test_applying_says_whose_views_are_being_made_ready(run: Run, api: Api, folder: Path) -> None:
    done(run("apply", "-f", str(folder)))
    assert api("ann", "GET", "/iceberg/v1/lake.cat/namespaces/s/tables/customers").status_code == 200
    (folder / "mask.yaml").write_text(MASK.replace("show_last_4", "sha256"))
    said = done(run("apply", "-f", str(folder), "--yes"))
    assert "views are being made ready: cat.s.customers" in said
    (folder / "mask.yaml").write_text(MASK)
    body = {"files": [{"file": "m", "text": MASK}], "dryRun": True}
    where = "/api/headgate/policies/apply?metalake=lake"
    give(api, "eve", "author", securable("metalake", "lake", "create_policy", "apply_policy"))
    answered(api("admin", "PUT", f"{LAKE}/owners/policy/mask-email", {"name": "eve", "type": "user"}))
    digest = answered(api("eve", "POST", where, body))["digest"]
    quiet = answered(api("eve", "POST", where, {**body, "dryRun": False, "plan": digest}))
    assert "warming" not in quiet, "who may not ask about others is not told who reads what"
