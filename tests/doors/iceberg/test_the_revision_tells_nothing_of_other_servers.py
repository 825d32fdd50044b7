"""What another server holds, and the caller may not see, moves no number that the caller is told."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.catalogs.openings import Openings
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.iceberg.test_federated_tables_keep_their_place import FED, GRAVITINO, declare
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://theirs")


@pytest.fixture
def remote(api: Api) -> Iterator[AnyRest]:
    with any_rest() as remote:
        declare(api, remote)
        yield remote


def revision(api: Api, who: str = "ann") -> str:
    """The revision as anybody is told it, without changing anything."""
    question = {"metalake": "lake", "type": "metalake", "fullName": "lake", "operation": "load_metalake"}
    answer = api(who, "POST", "/api/headgate/check", question)
    assert answer.status_code == 200, answer.text
    return str(answer.headers["Headgate-Revision"]) + answer.text


def test_listing_and_asking_for_what_one_may_not_see_moves_nothing(
    api: Api, remote: AnyRest, people: People
) -> None:
    remote.put("t", "s3://theirs/t")
    assert api("admin", "GET", f"{FED}/t").status_code == 200
    people.may("ann", "USE_CATALOG", "metalake", "lake")
    people.may("ann", "USE_SCHEMA", "schema", "fed.r")
    before = revision(api)
    remote.put("secret", "s3://theirs/secret")
    for path in (FED, GRAVITINO, f"{FED}/secret", f"{GRAVITINO}/secret", f"{FED.removesuffix('/r/tables')}"):
        for method in ("GET", "HEAD"):
            api("ann", method, path)
    api("ann", "GET", f"{LAKE}/objects/table/fed.r.secret/tags")
    api("ann", "POST", f"{FED}/secret/plan", {})
    assert revision(api) == before
    people.may("ann", "SELECT_TABLE", "schema", "fed.r")
    assert "secret" in api("ann", "GET", FED).text, "who may see it is shown it"


def test_a_table_that_was_made_again_is_told_alike_with_and_without_tags(
    api: Api, remote: AnyRest, people: People
) -> None:
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    api("admin", "POST", f"{LAKE}/tags", {"name": "quiet"})
    answers = []
    for name in ("tagged", "plain"):
        remote.put(name, f"s3://theirs/{name}")
        assert api("ann", "GET", f"{GRAVITINO}/{name}").status_code == 200
        if name == "tagged":
            on = f"{LAKE}/objects/column/fed.r.{name}.a/tags"
            assert api("admin", "POST", on, {"tagsToAdd": ["quiet"]}).status_code == 200
        before = revision(api)
        remote.put(name, f"s3://theirs/{name}", id=str(uuid.uuid4()))
        first = api("ann", "GET", f"{GRAVITINO}/{name}")
        answers.append((first.status_code, first.text, revision(api) == before))
        assert api("ann", "GET", f"{GRAVITINO}/{name}").status_code == 200
    assert answers[0] == answers[1]
