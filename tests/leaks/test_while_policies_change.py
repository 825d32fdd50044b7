"""Promise: a change of policies or rights counts for the next load, plan and poll; nothing of the former view is given again."""

from collections.abc import Iterator

import httpx
import pytest

from tests.leaks.clients import canonical, pyiceberg, spark_catalog
from tests.leaks.hostile import HostileReader, local
from tests.leaks.hunt import LAKE, Case, Hunt
from tests.leaks.marks import HUNT
from tests.leaks.truth import Person

pytestmark = HUNT


@pytest.fixture
def changing(hunt: Hunt, cases: dict[int, Case]) -> Iterator[Case]:
    """The first table of the hunt, whose policies are put back afterwards."""
    if 0 not in cases:
        cases[0] = hunt.make(0)
    before = list(cases[0].policies)
    yield cases[0]
    hunt.govern(cases[0], before)


class Watch:
    """One person before one table."""

    def __init__(self, hunt: Hunt, case: Case, person: Person) -> None:
        self.hunt, self.case, self.person = hunt, case, person
        schema, _, table = case.table.name.partition(".")
        self.path = f"/iceberg/v1/lake.cat/namespaces/{schema}/tables/{table}"

    def ask(self, method: str, more: str = "", body: object = None) -> httpx.Response:
        return self.hunt.ask_as(self.person)(method, self.path + more, body)

    def location(self) -> str:
        return str(self.hunt.ready(self.case, self.person).json()["metadata"]["location"])

    def read(self) -> list[str]:
        catalog = pyiceberg(self.hunt.uri, self.hunt.tokens[self.person.name], server=False)
        view = self.case.seen_by(self.person)
        assert view is not None
        rows = catalog.load_table(self.case.table.name).scan().to_arrow().to_pylist()
        return canonical(view.columns, rows, hollow=True)

    def truth(self) -> list[str]:
        view = self.case.seen_by(self.person)
        assert view is not None
        return canonical(view.columns, self.case.rows_for(self.person), hollow=True)

    def leaks(self) -> list[str]:
        forbidden = self.case.forbidden_for(self.person)
        return HostileReader(self.hunt.ask_as(self.person), self.case.table.name, [], forbidden).hunt().leaks


def test_the_next_read_is_under_the_new_policies(hunt: Hunt, changing: Case) -> None:
    case, person = changing, hunt.people[0]
    watch, author = Watch(hunt, case, person), case.author
    line, binds = f"to: [user:{person.name}]", lambda p: p.name == person.name
    rows = author.rows(line, binds, author.by_group())
    masked = author.mask(line, binds, ("text",))
    hidden = author.hide(line, binds, ("amount",))
    places: dict[tuple[int, ...], str] = {}
    plans: dict[str, tuple[int, ...]] = {}
    for policies in ([rows], [rows, masked], [hidden], [rows], []):
        hunt.govern(case, policies)
        planned = watch.ask("POST", "/plan", {}).json()
        view = tuple(hash(policy.text) for policy in policies)
        for id, made_under in plans.items():
            assert made_under == view or watch.ask("GET", f"/plan/{id}").status_code == 404
        if planned["status"] == "submitted":
            plans[planned["plan-id"]] = view
        place = places.setdefault(view, watch.location())
        assert place == watch.location(), "the same view has the same place"
        others = {other for other in places.values() if other != place}
        told = watch.ask("GET").text + watch.ask("POST", "/plan", {}).text
        assert not [other for other in others if f"{local(other)}/" in told]
        assert watch.read() == watch.truth()
        if policies:
            assert watch.leaks() == []
    assert len(set(places.values())) == len(places)


def test_a_table_that_was_loaded_before_is_planned_under_the_policies_of_now(
    hunt: Hunt, changing: Case
) -> None:
    case, person = changing, hunt.people[1]
    watch, author = Watch(hunt, case, person), case.author
    line, binds = f"to: [user:{person.name}]", lambda p: p.name == person.name
    hunt.govern(case, [])
    name = f"late_{hunt.server.process.pid}"
    catalog = spark_catalog(hunt.spark, name, hunt.uri, hunt.tokens[person.name], "server")
    loaded = hunt.spark.table(f"{catalog}.{case.table.name}")
    assert len(loaded.columns) == len(case.table.columns)
    hunt.govern(case, [author.mask(line, binds, ("text",)), author.hide(line, binds, ("amount",))])
    watch.location()
    forbidden = case.forbidden_for(person)
    try:
        heard = repr(loaded.collect())
    except Exception as error:
        heard = str(error)
    amount = case.table.column("amount").name
    assert [leak for leak in forbidden.in_bytes(heard.encode()) if leak != amount] == [], (
        "it knew the name before"
    )


def test_who_lost_the_right_is_given_nothing_more(hunt: Hunt, changing: Case) -> None:
    case, person = changing, hunt.people[2]
    watch = Watch(hunt, case, person)
    place = watch.location()
    planned = watch.ask("POST", "/plan", {}).json()
    roles = {"roleNames": ["readers"]}
    hunt.admin("PUT", f"{LAKE}/permissions/users/{person.name}/revoke", roles)
    try:
        for answer in (
            watch.ask("GET"),
            watch.ask("POST", "/plan", {}),
            watch.ask("GET", f"/plan/{planned.get('plan-id', 'x')}"),
            watch.ask("POST", "/tasks", {"plan-task": planned.get("plan-tasks", ["x"])[0]}),
            watch.ask("GET", "/credentials"),
        ):
            assert answer.status_code in (403, 404)
            assert str(local(place)) not in answer.text
    finally:
        hunt.admin("PUT", f"{LAKE}/permissions/users/{person.name}/grant", roles)
    assert watch.location() == place
