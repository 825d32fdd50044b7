"""What is particular to BigQuery: etags, policies that are replaced whole, conditions, row access policies, roles as permissions."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.model.errors import ConnectionFailed
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.connectors.bigquery import rows as bigquery_rows
from headgate.sync.connectors.bigquery.rows import NO_POLICY
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome, SyncResult
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.facts import Fact, Facts, GrantFact, Kind, Known, Principal, RowFilter, Securable
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.losses import Cause
from tests.sync.cloud_stands import BigQueryStand
from tests.sync.stands import Stand
from tests.sync.worlds import CATALOG, INVENTORY, PEOPLE, SCHEMAS, TABLES, USERS, VIEWS, snapshot

ANN, BOB, CY = USERS
EDITOR, VIEWER = "roles/bigquery.dataEditor", "roles/bigquery.dataViewer"


@pytest.fixture
def bigquery(stand_of: Callable[[str], Stand]) -> BigQueryStand:
    stand = stand_of("bigquery")
    assert isinstance(stand, BigQueryStand)
    return stand


def open_to(*people: Principal) -> tuple[Fact, ...]:
    return tuple(GrantFact(who, CATALOG, word) for who in people for word in ("USE_CATALOG", "USE_SCHEMA"))


def policy(*facts: Fact) -> Facts:
    return Facts([*INVENTORY, *PEOPLE, *open_to(*USERS), *facts])


READS = policy(
    GrantFact(ANN, TABLES[0], "SELECT_TABLE"),
    GrantFact(BOB, SCHEMAS[0], "SELECT_TABLE"),
    GrantFact(BOB, SCHEMAS[0], "SELECT_VIEW"),
)


def test_a_role_is_what_its_permissions_are(bigquery: BigQueryStand, journal: Journal) -> None:
    facts = policy(GrantFact(ANN, TABLES[0], "MODIFY_TABLE"), GrantFact(BOB, TABLES[1], "SELECT_TABLE"))
    assert bigquery.connector.push(snapshot(facts), Mode.MERGE, bigquery.names, journal).ok
    now = bigquery.connector.read().facts
    ann, bob = bigquery.own(ANN), bigquery.own(BOB)
    assert GrantFact(ann, TABLES[0], bigquery.WRITER) in now
    assert GrantFact(bob, TABLES[1], bigquery.READER) in now
    assert not any(g.privilege == EDITOR for g in now.grants), "it would let them drop the table"
    fetched = bigquery.connector.fetch().facts
    assert GrantFact(ann, TABLES[0], "MODIFY_TABLE") in fetched


@pytest.mark.parametrize("times", [1, 3])
def test_what_somebody_else_wrote_meanwhile_is_read_again_and_kept(
    bigquery: BigQueryStand, journal: Journal, times: int
) -> None:
    bigquery.server.meddles = times
    assert bigquery.connector.push(snapshot(READS), Mode.MERGE, bigquery.names, journal).ok
    assert len(bigquery.clock.waits) == times
    assert bigquery.may(ANN, TABLES[0], "table.read")
    assert bigquery.may(BOB, VIEWS[0], "view.read")


def test_every_write_carries_the_etag_of_what_was_read(bigquery: BigQueryStand, journal: Journal) -> None:
    seen: list[str | None] = []
    matches = bigquery.server._matches

    def spy(what: object, etag: str | None, status: int) -> None:
        seen.append(etag)
        matches(what, etag, status)

    bigquery.server._matches = spy  # type: ignore[method-assign]
    try:
        bigquery.connector.push(snapshot(READS), Mode.MERGE, bigquery.names, journal)
    finally:
        del bigquery.server._matches
    assert seen
    assert None not in seen


def test_what_a_policy_holds_beside_is_written_back_as_it_was(
    bigquery: BigQueryStand, journal: Journal
) -> None:
    view = {"view": {"projectId": "other", "datasetId": "d", "tableId": "v"}}
    night = {"expression": "request.time.getHours('UTC') < 6", "title": "at night"}
    access = [view, {"role": VIEWER, "userByEmail": "cy@example.org", "condition": night}]
    binding = {"role": EDITOR, "members": ["user:cy@example.org"], "condition": night}
    bigquery.server.access["sales"] = [*access]
    bigquery.server.bound["sales", "orders"] = [binding]
    assert bigquery.connector.push(snapshot(READS), Mode.MERGE, bigquery.names, journal).ok
    assert bigquery.server.access["sales"][:2] == access
    assert binding in bigquery.server.bound["sales", "orders"]
    assert undo(bigquery.connector, journal).ok
    assert bigquery.server.access["sales"] == access
    assert bigquery.server.bound["sales", "orders"] == [binding]


def test_what_holds_only_under_a_condition_is_opaque_and_comes_back_by_undo(
    bigquery: BigQueryStand, journal: Journal
) -> None:
    night = {"expression": "request.time.getHours('UTC') < 6", "title": "at night"}
    bigquery.server.access["sales"] = [{"role": VIEWER, "userByEmail": "cy@example.org", "condition": night}]
    bigquery.server.bound["sales", "orders"] = [
        {"role": EDITOR, "members": ["user:cy@example.org"], "condition": night}
    ]
    before = bigquery.connector.read().facts
    held = bigquery.connector.fetch().facts.grants_of[bigquery.own(CY)]
    assert len(held) == 2
    assert all(grant.privilege.startswith("bigquery:roles/") and " IF {" in grant.privilege for grant in held)
    bigquery.connector.push(snapshot(policy()), Mode.OVERWRITE, bigquery.names, journal)
    assert not bigquery.connector.read().facts.grants
    assert undo(bigquery.connector, journal).ok
    assert bigquery.connector.read().facts == before


def test_old_names_of_roles_are_the_new_ones(bigquery: BigQueryStand) -> None:
    change = Change(None, GrantFact(bigquery.own(ANN), SCHEMAS[0], VIEWER))
    assert bigquery.connector.apply([change])[0].outcome is Outcome.APPLIED
    assert bigquery.connector.apply([change])[0].outcome is Outcome.APPLIED
    assert change.after in bigquery.connector.read().facts
    assert len(bigquery.server.access["sales"]) == 1
    assert bigquery.connector.apply([change.undone])[0].outcome is Outcome.APPLIED
    assert not bigquery.server.access["sales"]


def test_one_bad_member_does_not_spoil_the_others(bigquery: BigQueryStand) -> None:
    nobody = Principal(Kind.USER, "nobody@example.org")
    people = [bigquery.own(ANN), nobody, bigquery.own(BOB)]
    for object in (TABLES[0], SCHEMAS[1]):
        answers = bigquery.connector.apply([Change(None, GrantFact(who, object, VIEWER)) for who in people])
        outcomes = [answer.outcome for answer in answers]
        assert outcomes == [Outcome.APPLIED, Outcome.FAILED, Outcome.APPLIED]
        assert "does not exist" in answers[1].detail


def test_a_policy_is_written_once_for_all_that_concerns_it(bigquery: BigQueryStand, journal: Journal) -> None:
    facts = policy(*(GrantFact(user, TABLES[0], "SELECT_TABLE") for user in USERS))
    bigquery.connector.push(snapshot(facts), Mode.MERGE, bigquery.names, journal)
    writes = [path for _, path in bigquery.server.asked if path.endswith(":setIamPolicy")]
    assert len(writes) == 1


def test_the_project_itself_is_shown_and_never_touched(bigquery: BigQueryStand, journal: Journal) -> None:
    bound = [{"role": EDITOR, "members": ["user:cy@example.org", "domain:example.org"]}]
    bigquery.server.on_project = list(bound)
    reading = bigquery.connector.read()
    assert GrantFact(bigquery.own(CY), CATALOG, EDITOR) in reading.facts
    assert any("reaches everything" in note for note in reading.notes)
    result = bigquery.connector.push(snapshot(READS), Mode.OVERWRITE, bigquery.names, journal)
    assert result.count(Outcome.UNSUPPORTED) == 2
    assert bigquery.server.on_project == bound


def test_a_table_that_is_open_to_the_world_is_told_and_is_nobodys_elsewhere(bigquery: BigQueryStand) -> None:
    bigquery.server.bound["sales", "orders"] = [{"role": VIEWER, "members": ["allUsers"]}]
    fetched = bigquery.connector.fetch()
    assert not fetched.facts.everyone
    assert any("open to allUsers" in note for note in fetched.properties.values())


def test_a_group_is_written_as_the_group_that_the_map_names(
    bigquery: BigQueryStand, journal: Journal
) -> None:
    team = Principal(Kind.GROUP, "team")
    facts = policy(*open_to(team), GrantFact(team, TABLES[0], "SELECT_TABLE"))
    bigquery.connector.push(snapshot(facts), Mode.MERGE, bigquery.names, journal)
    bigquery.members = {CY: frozenset({"team"})}
    assert bigquery.may(CY, TABLES[0], "table.read")
    assert not bigquery.may(BOB, TABLES[0], "table.read")


def test_waits_and_pages(bigquery: BigQueryStand, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    bigquery.connector.push(snapshot(READS), Mode.MERGE, bigquery.names, journal)
    whole = bigquery.connector.read().facts
    monkeypatch.setattr(bigquery.server, "page", 1)
    bigquery.server.busy = [{"Retry-After": "11"}]
    assert bigquery.connector.read().facts == whole
    assert bigquery.clock.waits == [11.0]


# -- rows --------------------------------------------------------------------------------------------------------


def rows(bigquery: BigQueryStand, user: Principal) -> set[str] | None:
    return bigquery.sees(user, TABLES[0])


FILTERED = policy(
    *(GrantFact(user, TABLES[0], "SELECT_TABLE") for user in USERS),
    RowFilter(TABLES[0], "small", "x < 10", (ANN, BOB), (BOB,)),
)


def push_rows(bigquery: BigQueryStand, journal: Journal, facts: Facts) -> SyncResult:
    return bigquery.connector.push(snapshot(facts, "bigquery"), Mode.MERGE, bigquery.names, journal)


def test_a_row_filter_is_a_row_access_policy(bigquery: BigQueryStand, journal: Journal) -> None:
    before = bigquery.connector.read().facts
    assert push_rows(bigquery, journal, FILTERED).ok
    assert rows(bigquery, ANN) == {"x < 10"}
    assert rows(bigquery, BOB) == rows(bigquery, CY) == {"TRUE"}
    fetched = bigquery.connector.fetch().facts
    everybody = tuple(sorted(map(bigquery.own, USERS)))
    none = RowFilter(TABLES[0], NO_POLICY, "FALSE", (), everybody, "bigquery")
    assert none in fetched, "whoever no policy names sees no row"
    assert not push_rows(bigquery, journal, FILTERED).count(Outcome.APPLIED)
    undo(bigquery.connector, journal)
    assert undo(bigquery.connector, journal).ok
    assert bigquery.connector.read().facts == before


def test_a_filter_for_everyone_meets_everyone_but_the_exempt(
    bigquery: BigQueryStand, journal: Journal
) -> None:
    facts = policy(
        *(GrantFact(user, TABLES[0], "SELECT_TABLE") for user in USERS),
        RowFilter(TABLES[0], "small", "x < 10", (), (BOB,)),
    )
    assert push_rows(bigquery, journal, facts).ok
    assert rows(bigquery, ANN) == rows(bigquery, CY) == {"x < 10"}
    assert rows(bigquery, BOB) == {"TRUE"}
    assert not push_rows(bigquery, journal, facts).count(Outcome.APPLIED)


def test_whom_two_filters_meet_is_in_one_policy_that_asks_for_both(
    bigquery: BigQueryStand, journal: Journal
) -> None:
    other = RowFilter(TABLES[0], "other", "y > 0", (ANN, CY))
    assert push_rows(bigquery, journal, FILTERED.changed([other])).ok
    assert rows(bigquery, ANN) == {"(x < 10) AND (y > 0)"}
    assert rows(bigquery, BOB) == {"TRUE"}
    assert rows(bigquery, CY) == {"y > 0"}
    moved = RowFilter(TABLES[0], "other", "y > 0", (BOB,))
    assert push_rows(bigquery, journal, FILTERED.changed([moved])).ok
    assert rows(bigquery, ANN) == {"x < 10"}
    assert rows(bigquery, BOB) == {"y > 0"}
    assert rows(bigquery, CY) == {"TRUE"}
    for _ in range(2):
        assert undo(bigquery.connector, journal).ok
    assert not bigquery.server.rows.get(("sales", "orders"))


def test_a_policy_of_others_for_the_same_person_would_add_up_and_is_not_joined(
    bigquery: BigQueryStand, journal: Journal
) -> None:
    bigquery.server.rows["sales", "orders"] = {
        "theirs": {
            "rowAccessPolicyReference": {"policyId": "theirs"},
            "filterPredicate": "y = 1",
            "grantees": [f"user:{bigquery.own(ANN).name}"],
        }
    }
    result = push_rows(bigquery, journal, FILTERED)
    assert result.count(Outcome.UNSUPPORTED) == 1
    assert not bigquery.may(ANN, TABLES[0], "table.read"), "without the filter there is no grant"


def test_of_more_people_than_a_policy_holds_nobody_is_let_in(
    bigquery: BigQueryStand, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bigquery_rows, "_MOST_MEMBERS", 1)
    result = push_rows(bigquery, journal, FILTERED)
    assert result.ok
    lost = {loss.principal for loss in result.losses if loss.cause is Cause.FILTER}
    assert lost == {str(bigquery.own(BOB)), str(bigquery.own(CY))}
    assert rows(bigquery, ANN) == {"x < 10"}
    assert not bigquery.may(BOB, TABLES[0], "table.read")


def test_more_filters_than_fit_into_a_batch_still_leave_everyone_in_one_policy(
    bigquery: BigQueryStand, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(bigquery.connector), "batch", 1)
    rules = [RowFilter(TABLES[0], f"of {user.name}", f"x = {n}", (user,)) for n, user in enumerate(USERS)]
    assert push_rows(bigquery, journal, FILTERED.changed(rules)).ok
    rules = [
        RowFilter(TABLES[0], f"of {user.name}", f"x = {n}", (user,)) for n, user in enumerate(USERS[::-1])
    ]
    assert push_rows(bigquery, journal, FILTERED.changed(rules)).ok
    for user in USERS:
        assert len(rows(bigquery, user) or ()) == 1
    assert rows(bigquery, ANN) == {"(x < 10) AND (x = 2)"}


def test_a_filter_that_cannot_be_said_takes_the_reading_with_it(
    bigquery: BigQueryStand, journal: Journal
) -> None:
    result = bigquery.connector.push(snapshot(FILTERED), Mode.MERGE, bigquery.names, journal)
    assert any(loss.cause is Cause.FILTER for loss in result.losses)
    assert not bigquery.may(ANN, TABLES[0], "table.read")
    assert bigquery.may(CY, TABLES[0], "table.read")


@pytest.mark.parametrize("sql", ["x IN (SELECT 1)", "TRUE; DROP TABLE t", "x <"])
def test_what_is_no_plain_predicate_is_refused(bigquery: BigQueryStand, sql: str) -> None:
    rule = RowFilter(TABLES[0], "small", sql, (bigquery.own(ANN),))
    assert bigquery.connector.apply([Change(None, rule)])[0].outcome is Outcome.FAILED
    assert not bigquery.server.rows


def test_who_is_in_no_row_policy_of_others_sees_no_row_elsewhere_either(bigquery: BigQueryStand) -> None:
    bigquery.server.rows["sales", "orders"] = {
        "theirs": {
            "rowAccessPolicyReference": {"policyId": "theirs"},
            "filterPredicate": "y = 1",
            "grantees": ["group:team@groups.example.org"],
        }
    }
    facts = bigquery.connector.fetch().facts
    team = Principal(Kind.GROUP, "team@groups.example.org")
    assert Known(team) in facts
    assert set(facts.restrictions) == {
        RowFilter(TABLES[0], "theirs", "y = 1", (team,), dialect="bigquery"),
        RowFilter(TABLES[0], NO_POLICY, "FALSE", (), (team,), "bigquery"),
    }


# -- what columns and views keep back ----------------------------------------------------------------------------

TAG = "projects/1/locations/eu/taxonomies/2/policyTags/3"
DATA_POLICY = {"name": "projects/1/locations/eu/dataPolicies/p"}
SECURED = [
    {"policyTags": {"names": [TAG]}},
    {"dataPolicies": [DATA_POLICY]},
    {"dataPolicyList": {"dataPolicies": [DATA_POLICY]}},
    {"dataGovernanceTagsInfo": {"dataGovernanceTags": {"1/pii": "high"}}},
    {"type": "RECORD", "fields": [{"name": "inside", "type": "STRING", "policyTags": {"names": [TAG]}}]},
]
X = Securable(ObjectType.COLUMN, (*TABLES[0].path, "x"))


@pytest.mark.parametrize("mark", SECURED)
def test_a_column_with_security_of_its_own_is_seen_by_nobody_elsewhere(
    bigquery: BigQueryStand, stand_of: Callable[[str], Stand], journal: Journal, mark: dict[str, Any]
) -> None:
    bigquery.server.access["sales"] = [{"role": VIEWER, "userByEmail": "ann@example.org"}]
    bigquery.server.fields["sales", "orders"] = [
        {"name": "x", "type": "STRING", **mark},
        {"name": "y", "type": "STRING", "policyTags": {"names": []}, "dataGovernanceTagsInfo": {}},
    ]
    fetched = bigquery.connector.fetch()
    assert [(mask.identifier, mask.sql, mask.to) for mask in fetched.masks] == [(X.path, "NULL", ())]
    assert any("column-level security" in note for note in fetched.properties.values())
    elsewhere = stand_of("mariadb")
    names = PrincipalMap({f"user:{bigquery.own(user).name}": elsewhere.own(user).name for user in USERS})
    elsewhere.connector.push(fetched, Mode.MERGE, names, journal)
    assert elsewhere.readable(ANN, TABLES[0]) == ["y"]
    assert elsewhere.readable(ANN, TABLES[1]) == ["x", "y"]


def test_a_view_that_gives_out_aggregates_is_not_read_as_one_of_rows(
    bigquery: BigQueryStand, journal: Journal
) -> None:
    bigquery.server.access["sales"] = [{"role": VIEWER, "userByEmail": "ann@example.org"}]
    threshold = {"aggregationThresholdPolicy": {"threshold": "3", "privacyUnitColumns": ["x"]}}
    bigquery.server.privacy["sales", "totals"] = threshold
    fetched = bigquery.connector.fetch()
    assert [(rule.identifier, rule.sql) for rule in fetched.row_filters] == [(VIEWS[0].path, "FALSE")]
    result = bigquery.connector.push(snapshot(READS), Mode.OVERWRITE, bigquery.names, journal)
    assert result.count(Outcome.UNSUPPORTED) == 1
    assert bigquery.connector.fetch().row_filters == fetched.row_filters


# -- what is denied ----------------------------------------------------------------------------------------------

ABOVE = [
    f"cloudresourcemanager.googleapis.com/{at}" for at in ("projects/lake", "folders/12", "organizations/34")
]


@pytest.mark.parametrize("point", ABOVE)
@pytest.mark.parametrize("permission", ["tables.getData", "tables.*"])
def test_what_iam_denies_to_anybody_is_not_told_as_granted(
    bigquery: BigQueryStand, stand_of: Callable[[str], Stand], journal: Journal, point: str, permission: str
) -> None:
    bigquery.server.access["sales"] = [{"role": VIEWER, "userByEmail": "ann@example.org"}]
    whom = ["principal://goog/subject/ann@example.org", "principalSet://goog/group/team@groups.example.org"]
    rule = {"deniedPrincipals": whom, "deniedPermissions": [f"bigquery.googleapis.com/{permission}"]}
    bigquery.server.denied[point] = {"p": [rule]}
    fetched = bigquery.connector.fetch()
    assert any(f"{permission} is denied" in note for note in fetched.properties.values())
    elsewhere = stand_of("mariadb")
    names = PrincipalMap({str(bigquery.own(user)): elsewhere.own(user).name for user in USERS})
    elsewhere.connector.push(fetched, Mode.MERGE, names, journal)
    assert not elsewhere.readable(ANN, TABLES[0])
    now = bigquery.connector.read().facts
    assert GrantFact(bigquery.own(ANN), CATALOG, permission, Condition.DENY) in now
    assert GrantFact(bigquery.own(ANN), SCHEMAS[0], VIEWER) in now, (
        "what is there stays what a push compares with"
    )


def test_what_iam_denies_of_something_else_changes_nothing(bigquery: BigQueryStand) -> None:
    bigquery.server.access["sales"] = [{"role": VIEWER, "userByEmail": "ann@example.org"}]
    before = bigquery.connector.fetch().facts
    everyone = {"deniedPrincipals": ["principalSet://goog/public:all"]}
    bigquery.server.denied[ABOVE[0]] = {
        "p": [{**everyone, "deniedPermissions": ["storage.googleapis.com/objects.get"]}],
        "q": [{**everyone, "deniedPermissions": ["bigquery.googleapis.com/datasets.delete"]}],
    }
    after = bigquery.connector.fetch().facts
    reader = bigquery.own(ANN)
    # The order of facts means nothing.
    assert sorted(after.grants_of[reader], key=repr) == sorted(before.grants_of[reader], key=repr)


@pytest.mark.parametrize("point", ABOVE)
def test_deny_policies_that_cannot_be_read_are_an_error(bigquery: BigQueryStand, point: str) -> None:
    bigquery.server.closed = {point}
    with pytest.raises(ConnectionFailed, match=r"deny policies of .* cannot be read"):
        bigquery.connector.fetch()


def test_a_push_leaves_denials_alone(bigquery: BigQueryStand, journal: Journal) -> None:
    rule = {
        "deniedPrincipals": ["principalSet://goog/public:all"],
        "deniedPermissions": ["bigquery.googleapis.com/tables.delete"],
    }
    bigquery.server.denied[ABOVE[1]] = {"p": [rule]}
    result = bigquery.connector.push(snapshot(READS), Mode.OVERWRITE, bigquery.names, journal)
    left = [item.change.before for item in result.items if item.outcome is Outcome.UNSUPPORTED]
    assert [fact.privilege for fact in left if isinstance(fact, GrantFact)] == ["tables.delete"]
    assert bigquery.may(ANN, TABLES[0], "table.read")
