"""Promise: a restricted caller's filter may decide which copies are made first, never what is answered."""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.planning import PlanRequest
from headgate.steward import Steward
from headgate.steward.reads.table_read import GovernedRead
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.test_scans_are_planned import enforce, wait_for
from tests.doors.scans import polled, scanned
from tests.doors.settled import give, securable
from tests.lenses.paper import EDGE, ID, NAME, POLICIES, REGION, SALARY, SCORE, SECRET, TABLE, Paper, Row
from tests.people import People

HIDDEN_SALARY = 7_777
ANN = Identity("ann")


def person(id: int, region: str, rng: random.Random, *, hidden: bool = False) -> Row:
    salary = HIDDEN_SALARY if hidden else rng.randrange(0, EDGE)
    name = rng.choice(["anna", "annabel", "bo", "zoë", None])
    score = rng.choice([None, -1.5, 0.0, 2.5, float("nan")])
    return {ID: id, REGION: region, SALARY: salary, NAME: name, SECRET: f"s{id}", SCORE: score}


@pytest.fixture
def paper(api: Api, people: People, steward: Steward, tmp_path: Path) -> Paper:
    """Three appends of four files; every second file holds a hidden row, and one of each append nothing else."""
    rng = random.Random(7)
    snapshots = []
    for number in range(3):
        files = []
        for n, region in enumerate(("EU", "EU", "US", "ZA")):
            rows = [person(100 * number + 10 * n + i, region, rng) for i in range(0 if n == 3 else 3)]
            if n % 2:
                rows.append(person(5_000 + n, region, rng, hidden=True))
            files.append(tuple(rows))
        snapshots.append(files)
    paper = Paper(tmp_path / "forged" / "p", snapshots)
    paper.register(api)
    give(api, "ann", "reader", securable("catalog", "cat", "use_catalog", "use_schema", "select_table"))
    steward.waiting.patience = 0
    return paper


def read_of(steward: Steward) -> GovernedRead:
    authority = steward.kernel.authority()
    node = authority.find(ObjectRef.parse("lake", ObjectType.TABLE, "cat.s.p"))
    assert node is not None
    found = steward.reads.as_seen_by(authority, node, ANN)
    assert found is not None
    return found


COLUMNS: dict[str, list[Any]] = {
    "id": [0, 12, 101, 205, 5_001],
    "region": ["EU", "US", "ZA", "Z", ""],
    "salary": [0, 100, 500, 999, EDGE, HIDDEN_SALARY, 10**9],
    "name": ["a", "ann", "anna", "annab", "annabel", "b", "zo", "zz"],
    "score": [-2.0, -1.5, 0.0, 2.5, 9.0],
}


def predicates() -> st.SearchStrategy[Any]:
    def of(column: str) -> st.SearchStrategy[Any]:
        value = st.sampled_from(COLUMNS[column])
        kinds = ["lt", "lt-eq", "gt", "gt-eq", "eq", "not-eq"]
        if column in ("region", "name"):
            kinds += ["starts-with", "not-starts-with"]
        nulls = ["is-null", "not-null", *(["is-nan", "not-nan"] if column == "score" else [])]
        return st.one_of(
            st.builds(lambda t, v: {"type": t, "term": column, "value": v}, st.sampled_from(kinds), value),
            st.builds(lambda t: {"type": t, "term": column}, st.sampled_from(nulls)),
            st.builds(
                lambda t, v: {"type": t, "term": column, "values": v},
                st.sampled_from(["in", "not-in"]),
                st.lists(value, min_size=1, max_size=3, unique=True),
            ),
        )

    return st.sampled_from(sorted(COLUMNS)).flatmap(of)


FILTERS = st.recursive(
    predicates(),
    lambda inner: st.one_of(
        st.builds(
            lambda t, a, b: {"type": t, "left": a, "right": b}, st.sampled_from(["and", "or"]), inner, inner
        ),
        st.builds(lambda a: {"type": "not", "child": a}, inner),
    ),
    max_leaves=4,
)


@pytest.mark.parametrize("lazy", ["partitions", "statistics"])
def test_a_plan_over_some_copies_is_the_plan_over_all(
    api: Api, steward: Steward, paper: Paper, lazy: str
) -> None:
    enforce(api, lazy, "headgate.lazy")
    applied(api, *POLICIES)
    for snapshot in (1, 2, 3):
        planned = api("ann", "POST", f"{TABLE}/plan", {"snapshot-id": snapshot}).json()
        while polled_status(api, planned) == "submitted":
            paper.copy_all(steward)
    view = read_of(steward)
    assert all(steward.governed.is_ready(view, snapshot) for snapshot in (1, 2, 3))
    shown = steward.governed.withheld(view, ANN).metadata
    left_out = 0

    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        FILTERS,
        st.sampled_from([1, 2, 3]),
        st.sampled_from([None, ("salary", "name"), ("score",)]),
        st.sampled_from([None, None, 1, 5]),
    )
    def check(filter: Any, snapshot: int, statistics: Any, rows: int | None) -> None:
        nonlocal left_out
        request = PlanRequest(
            snapshot_id=snapshot, filter=filter, stats_fields=statistics, min_rows_requested=rows
        )
        some = steward.governed.plan_some(view, shown, request, ANN)
        whole = steward.governed.plan_governed(view, shown, request)
        assert some.body() == whole.body()
        chooser = steward.governed.chooser(view, shown, request)
        chosen = steward.governed._candidates(view, request, chooser).file_count
        left_out += chosen < steward.governed._candidates(view, request).file_count

    check()
    assert left_out, "the filters choose"


def polled_status(api: Api, planned: Any) -> str:
    if planned["status"] != "submitted":
        return str(planned["status"])
    return str(api("ann", "GET", f"{TABLE}/plan/{planned['plan-id']}").json()["status"])


@pytest.mark.parametrize(
    "scope",
    [
        pytest.param({"snapshot-id": 1}, id="an older snapshot"),
        pytest.param({"start-snapshot-id": 1, "end-snapshot-id": 3}, id="between snapshots"),
        pytest.param({}, id="a snapshot that is not governed yet"),
    ],
)
def test_bisecting_a_visible_column_tells_nothing_of_hidden_rows(
    api: Api, steward: Steward, paper: Paper, scope: dict[str, Any]
) -> None:
    applied(api, *POLICIES)
    probes = [
        {**scope, "filter": {"type": "gt-eq", "term": "salary", "value": value}, "stats-fields": ["salary"]}
        for value in (10**9, EDGE, HIDDEN_SALARY, HIDDEN_SALARY + 1)
    ]
    first = api("ann", "POST", f"{TABLE}/plan", probes[0]).json()
    assert first["status"] == "submitted"
    copied: set[str] = set()
    wait_for(lambda: bool(copied.update(paper.copy_all(steward)) or copied))
    scanned_of = {"snapshot-id": "1", "start-snapshot-id": "23"}.get(next(iter(scope), ""), "123")
    assert copied == {
        path
        for path, rows in paper.rows.items()
        if path.rpartition("/")[2][0] in scanned_of and any(row[SALARY] < EDGE for row in rows)
    }, "all that the row filter leaves, though no salary is as high as was asked for"
    first = polled(api, "ann", TABLE, first)
    others = [api("ann", "POST", f"{TABLE}/plan", probe).json() for probe in probes[1:]]
    assert len({other["status"] for other in others}) == 1
    answers = [first, *(polled(api, "ann", TABLE, planned) for planned in others)]
    assert {repr({**answer, "plan-id": None}) for answer in answers} == {
        repr({**answers[0], "plan-id": None})
    }
    assert answers[0]["file-scan-tasks"] == []
    assert scanned(api, "ann", TABLE, {**scope, "filter": {"type": "lt", "term": "salary", "value": EDGE}})[
        "file-scan-tasks"
    ], "what may be seen is planned"


@pytest.mark.parametrize("case_sensitive", [True, False])
def test_a_hidden_column_is_told_apart_from_no_column_by_nothing(
    api: Api, paper: Paper, case_sensitive: bool
) -> None:
    applied(api, *POLICIES)
    for hidden, unknown in ((SECRET, 99), ("secret", "nosuch"), ("Secret", "Nosuch")):
        heard = []
        for term in (hidden, unknown):
            reference = {"type": "reference", "id": term} if isinstance(term, int) else term
            for asked in (
                {"filter": {"type": "eq", "term": reference, "value": "x"}},
                {"filter": {"type": "eq", "term": reference, "value": {}}},
                *([] if isinstance(term, int) else [{"select": [term]}, {"stats-fields": [term]}]),
            ):
                answer = api("ann", "POST", f"{TABLE}/plan", {**asked, "case-sensitive": case_sensitive})
                assert answer.status_code == 400
                heard.append(answer.text.replace(str(term), "?"))
        assert heard[: len(heard) // 2] == heard[len(heard) // 2 :]
        assert not any("secret" in text for text in heard)


@pytest.mark.parametrize("client", ["PyIceberg 0.12.0", "Apache Iceberg 1.12.0"])
def test_a_client_that_cannot_come_back_waits_for_all_copies(
    api: Api, steward: Steward, paper: Paper, client: str
) -> None:
    applied(api, *POLICIES)
    asked = {"filter": {"type": "eq", "term": "region", "value": "US"}}
    answer = api("ann", "POST", f"{TABLE}/plan", asked, headers={"X-Client-Version": client})
    if not client.startswith("PyIceberg"):
        assert answer.json()["status"] == "submitted"
        return
    assert answer.status_code == 503
    assert len(paper.copy_all(steward)) >= 9
    answer = api("ann", "POST", f"{TABLE}/plan", asked, headers={"X-Client-Version": client})
    assert answer.json()["status"] == "completed"
    assert len(answer.json()["file-scan-tasks"]) == 3


def test_a_partition_that_is_shown_chooses_what_is_copied(api: Api, steward: Steward, paper: Paper) -> None:
    applied(api, *POLICIES)
    asked = {"filter": {"type": "eq", "term": "region", "value": "US"}}
    planned = api("ann", "POST", f"{TABLE}/plan", asked).json()
    copied: set[str] = set()
    wait_for(lambda: bool(copied.update(paper.copy_all(steward)) or copied))
    assert {path.rpartition("-")[2] for path in copied} == {"2.parquet"}
    assert len(polled(api, "ann", TABLE, planned)["file-scan-tasks"]) == 3
    assert api("ann", "POST", f"{TABLE}/plan", asked).json()["status"] == "submitted", (
        "the snapshot is not ready"
    )
