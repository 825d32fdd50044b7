"""Promise: what is shown of a table, a tag, a view or a decision is whole for those who may know it, and no more for others."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.cli.output import console
from headgate.cli.policies import reasons
from tests.cli.in_process import Run, commands, done
from tests.conftest import Api
from tests.doors.governed import HIDE, MASK, ROWS, applied, govern


@pytest.fixture
def run(api: Api) -> Iterator[Run]:
    govern(api)
    applied(api, HIDE, ROWS, MASK)
    with commands(api) as run:
        done(run("group", "members", "privacy", "--users", "admin"))
        done(run("tag", "create", "scope", "--allowed-values", "a,b"))
        done(run("tag", "apply", "--tag", "scope=a", "--on", "schema:cat.s"))
        done(run("tag", "apply", "--tag", "scope=b", "--on", "column:cat.s.customers.ssn"))
        done(run("role", "create", "tagger"))
        done(
            run("grant", "privilege", "--role", "tagger", "--privilege", "apply_tag", "--on", "metalake:lake")
        )
        yield run


def test_a_table_is_shown_with_its_tags_its_masks_and_the_policies_that_restrict_it(run: Run) -> None:
    whole = json.loads(done(run("table", "details", "cat.s.customers", "--output", "json")))
    governed = whole["governance"]
    assert governed["tags"] == [{"name": "scope", "value": "a", "inherited": True}]
    assert governed["columnTags"] == {
        "email": [{"name": "pii", "value": None}],
        "ssn": [{"name": "scope", "value": "b"}],
    }
    assert {step["policy"]: step["applies"] for step in governed["view"]["policies"]} == {
        "by-region": False,
        "hide-ssn": False,
        "mask-email": True,
    }
    text = " ".join(done(run("table", "details", "cat.s.customers")).replace("│", " ").split())
    for part in (
        "scope=a (inherited)",
        "show_last_4",
        "mask-email on metalake lake: applies to you",
        "hide-ssn on schema cat.s: does nothing for you",
    ):
        assert part in text, part


def test_a_restricted_reader_is_told_their_own_view_and_nothing_that_it_hides(run: Run) -> None:
    done(run("grant", "role", "--role", "tagger", "--user", "ann"))
    whole = json.loads(done(run("table", "details", "cat.s.customers", "--output", "json", user="ann")))
    assert whole["governance"]["columnTags"] == {"email": [{"name": "pii", "value": None}]}
    assert whole["governance"]["view"]["lens"]["masks"] == {"email": "masked"}
    text = done(run("table", "details", "cat.s.customers", user="ann"))
    assert "masked" in text
    assert "a part of it" in text
    for secret in ("ssn", "hide-ssn", "mask-email", "by-region", "show_last_4", "zip"):
        assert secret not in text + json.dumps(whole), secret
    done(run("revoke", "role", "--role", "tagger", "--user", "ann"))
    without = json.loads(done(run("table", "details", "cat.s.customers", "--output", "json", user="ann")))
    assert (without["governance"]["tags"], without["governance"]["columnTags"]) == ([], {}), (
        "tags that one may not apply are not shown"
    )


def test_the_tags_of_a_table_are_told_to_whoever_may_load_it(run: Run, api: Api) -> None:
    path = "/api/headgate/tags?metalake=lake&table=cat.s.customers"
    assert api("admin", "GET", path).status_code == 200
    assert api("eve", "GET", path).status_code == 403
    assert api("eve", "GET", path.replace("customers", "nothing")).json() == {
        **api("eve", "GET", path).json(),
        "message": api("eve", "GET", path).json()["message"].replace("customers", "nothing"),
    }


def test_the_objects_of_a_tag_are_listed_with_their_values(run: Run) -> None:
    listed = json.loads(done(run("tag", "objects", "scope", "--output", "json")))
    assert {(item["fullName"], item["value"]) for item in listed} == {
        ("cat.s", "a"),
        ("cat.s.customers.ssn", "b"),
    }
    only = json.loads(done(run("tag", "objects", "scope", "--value", "a", "--output", "json")))
    assert [item["fullName"] for item in only] == ["cat.s"]


def test_a_view_is_created_shown_and_dropped(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "v.sql"
    file.write_text("SELECT id FROM customers\n")
    done(run("view", "create", "cat.s.v", "--sql", f"@file:{file}", "--comment", "ids"))
    assert "v" in done(run("view", "list", "cat.s"))
    assert "SELECT id FROM customers" in done(run("view", "details", "cat.s.v"))
    shown = json.loads(done(run("view", "details", "cat.s.v", "--output", "json")))
    assert (shown["defaultSchema"], shown["comment"]) == ("s", "ids")
    done(run("view", "delete", "cat.s.v"))
    missing = run("view", "details", "cat.s.v")
    assert (missing.returncode, "'headgate view list'" in missing.stderr) == (1, True)


def test_an_explanation_is_read_from_what_decides_down(run: Run) -> None:
    allowed = done(
        run("explain", "--user", "ann", "--operation", "load_table", "--on", "table:cat.s.customers")
    )
    lines = allowed.splitlines()
    assert lines[0].startswith("ann may load table on table cat.s.customers, revision ")
    assert "role 'reader-ann' allows" in lines[1]
    assert "owner of the metalake" not in allowed, "what was not needed explains nothing"
    denied = done(
        run("explain", "--user", "eve", "--operation", "load_table", "--on", "table:cat.s.customers")
    )
    assert "eve may not load table" in denied
    assert "missing: privilege" in denied
    assert "owner of the metalake" in denied, "who is refused sees every way there is"


def test_every_part_of_a_reason_is_in_the_tree() -> None:
    part = {"asks": "privilege select_table", "holds": False, "because": ["no held role allows it [here]"]}
    other = {"asks": "owner of the object", "holds": False}
    why = {
        "user": "a",
        "allowed": False,
        "operation": "load_table",
        "type": "table",
        "object": "c.s.t",
        "revision": 1,
        "summary": "missing",
        "reason": {"asks": "all of", "holds": False, "parts": [part, other]},
        "groups_known": False,
    }
    screen = console()
    with screen.capture() as shown:
        screen.print(reasons.tree(why))
    for text in ("no held role allows it [here]", "owner of the object", "does not tell the groups"):
        assert text in shown.get()
