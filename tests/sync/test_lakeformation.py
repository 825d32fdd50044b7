"""What is particular to Lake Formation: partial answers, pages, throttling, LF-tags, filters, and who is nobody."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.model.errors import ConnectionFailed
from headgate.model.objects import ObjectType
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome, SyncResult
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    Principal,
    RowFilter,
    Securable,
    Tag,
)
from headgate.sync.translating.canonical import opaque
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.options import Options
from tests.sync.cloud_stands import LakeFormationStand
from tests.sync.lakeformation_server import ACCOUNT, Answers
from tests.sync.stands import Stand
from tests.sync.worlds import CATALOG, COLUMNS, INVENTORY, PEOPLE, SCHEMAS, TABLES, USERS, VIEWS, snapshot

ANN, BOB, CY = USERS


@pytest.fixture
def lake(stand_of: Callable[[str], Stand]) -> LakeFormationStand:
    stand = stand_of("lakeformation")
    assert isinstance(stand, LakeFormationStand)
    return stand


def policy(*facts: Fact) -> Facts:
    return Facts([*INVENTORY, *PEOPLE, *facts])


def open_to(who: Principal) -> tuple[Fact, ...]:
    return GrantFact(who, CATALOG, "USE_CATALOG"), GrantFact(who, CATALOG, "USE_SCHEMA")


EVERYTHING = policy(
    *(fact for user in USERS for fact in open_to(user)),
    *(GrantFact(user, table, "MODIFY_TABLE") for user in USERS for table in TABLES),
)


def test_a_busy_service_is_asked_again_and_nothing_is_lost(
    lake: LakeFormationStand, journal: Journal
) -> None:
    lake.lake.busy = 3
    result = lake.connector.push(snapshot(EVERYTHING), Mode.MERGE, lake.names, journal)
    assert result.ok
    assert lake.clock.waits == [0.5, 1.0, 2.0]
    assert all(lake.may(user, table, "table.delete") for user in USERS for table in TABLES)


def test_a_service_that_stays_busy_is_an_error_and_not_an_empty_catalog(lake: LakeFormationStand) -> None:
    lake.lake.busy = 10_000
    with pytest.raises(ConnectionFailed, match="too busy"):
        lake.connector.read()
    assert sum(lake.clock.waits) <= 300


def test_of_a_batch_that_failed_in_part_each_failure_is_its_own(
    lake: LakeFormationStand, journal: Journal
) -> None:
    ann, bob = (lake.own(user).name for user in (ANN, BOB))
    lake.lake.failing = {ann: "ConcurrentModificationException", bob: "AccessDeniedException"}
    result = lake.connector.push(snapshot(EVERYTHING), Mode.MERGE, lake.names, journal)
    failed = [item for item in result.items if item.outcome is Outcome.FAILED]
    assert [item.change.fact.holder.name for item in failed if isinstance(item.change.fact, GrantFact)] == [
        bob
    ]
    assert "AccessDeniedException" in failed[0].detail
    assert lake.clock.waits == [0.5], "what was only busy was tried again"
    assert all(lake.may(ANN, table, "table.delete") for table in TABLES)
    again = lake.connector.push(snapshot(EVERYTHING), Mode.MERGE, lake.names, journal)
    assert again.ok
    assert again.count(Outcome.APPLIED) == 1


def test_a_list_in_pages_is_read_to_its_end(
    lake: LakeFormationStand, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.connector.push(snapshot(EVERYTHING), Mode.MERGE, lake.names, journal)
    whole = lake.connector.read().facts
    monkeypatch.setattr(Answers, "page", 2)
    assert lake.connector.read().facts == whole
    assert lake.lake.asked.count("ListPermissions") > 5


def test_taking_away_what_is_not_there_is_no_failure(lake: LakeFormationStand) -> None:
    gone = Change(GrantFact(lake.own(ANN), TABLES[0], "SELECT"), None)
    assert lake.connector.apply([gone])[0].outcome is Outcome.APPLIED


def test_what_the_service_refuses_is_told_in_its_words(lake: LakeFormationStand) -> None:
    nobody = Principal(Kind.USER, f"arn:aws:iam::{ACCOUNT}:user/nobody")
    missing = Securable(ObjectType.TABLE, ("lake", "sales", "gone"))
    answers = lake.connector.apply(
        [
            Change(None, GrantFact(nobody, TABLES[0], "SELECT")),
            Change(None, GrantFact(lake.own(ANN), missing, "SELECT")),
            Change(None, GrantFact(lake.own(ANN), VIEWS[0], "INSERT")),
            Change(None, GrantFact(lake.own(ANN), TABLES[0], "SELECT")),
        ]
    )
    assert [answer.outcome for answer in answers] == [Outcome.FAILED] * 3 + [Outcome.APPLIED]
    assert [answer.detail.partition(":")[0] for answer in answers[:3]] == [
        "InvalidInputException",
        "EntityNotFoundException",
        "InvalidInputException",
    ]


def test_the_right_to_hand_on_is_carried_only_when_asked_for(
    lake: LakeFormationStand, journal: Journal
) -> None:
    facts = policy(*open_to(ANN), GrantFact(ANN, TABLES[0], "SELECT_TABLE", option=True))
    own = lake.own(ANN)
    lake.connector.push(snapshot(facts), Mode.MERGE, lake.names, journal)
    assert GrantFact(own, TABLES[0], "SELECT") in lake.connector.read().facts
    lake.connector.push(snapshot(facts), Mode.MERGE, lake.names, journal, Options(grant_option=True))
    assert GrantFact(own, TABLES[0], "SELECT", option=True) in lake.connector.read().facts
    result = lake.connector.push(snapshot(facts), Mode.MERGE, lake.names, journal)
    assert result.ok
    assert GrantFact(own, TABLES[0], "SELECT") in lake.connector.read().facts
    assert any(loss.cause is Cause.OPTION for loss in result.losses)


def test_a_grant_on_columns_gives_these_columns_alone(lake: LakeFormationStand, journal: Journal) -> None:
    facts = policy(*open_to(ANN), GrantFact(ANN, COLUMNS[0], "SELECT_TABLE"))
    assert lake.connector.push(snapshot(facts), Mode.MERGE, lake.names, journal).ok
    assert lake.may(ANN, COLUMNS[0], "column.read")
    assert not lake.may(ANN, COLUMNS[1], "column.read")
    assert not lake.may(ANN, TABLES[0], "table.read")
    assert GrantFact(lake.own(ANN), COLUMNS[0], "SELECT_TABLE") in lake.connector.fetch().facts


def test_all_tables_of_a_database_are_granted_at_once_only_if_its_views_may_be_read_too(
    lake: LakeFormationStand, journal: Journal
) -> None:
    tables = GrantFact(ANN, SCHEMAS[0], "SELECT_TABLE")
    result = lake.connector.push(snapshot(policy(*open_to(ANN), tables)), Mode.MERGE, lake.names, journal)
    assert lake.may(ANN, TABLES[0], "table.read")
    assert not lake.may(ANN, VIEWS[0], "view.read")
    assert any(loss.cause is Cause.FUTURE for loss in result.losses)
    both = policy(*open_to(ANN), tables, GrantFact(ANN, SCHEMAS[0], "SELECT_VIEW"))
    lake.connector.push(snapshot(both), Mode.MERGE, lake.names, journal)
    assert GrantFact(lake.own(ANN), SCHEMAS[0], "SELECT ON ALL TABLES") in lake.connector.read().facts


# -- what others put there ---------------------------------------------------------------------------------------


def make_filter(lake: LakeFormationStand) -> None:
    place = {"TableCatalogId": ACCOUNT, "DatabaseName": "sales", "TableName": "orders", "Name": "small"}
    rows = {"RowFilter": {"FilterExpression": "x < 10"}, "ColumnWildcard": {}}
    lake.aws("lakeformation", "create_data_cells_filter", TableData=place | rows)
    give(lake, ANN, {"DataCellsFilter": place})


def give(lake: LakeFormationStand, who: Principal, resource: dict[str, object], word: str = "SELECT") -> None:
    holder = {"DataLakePrincipalIdentifier": lake.own(who).name}
    lake.aws("lakeformation", "grant_permissions", Principal=holder, Resource=resource, Permissions=[word])


def test_what_is_read_through_a_filter_is_never_the_whole_table(
    lake: LakeFormationStand, journal: Journal
) -> None:
    make_filter(lake)
    columns = {"DatabaseName": "sales", "Name": "refunds", "ColumnWildcard": {"ExcludedColumnNames": ["y"]}}
    give(lake, ANN, {"TableWithColumns": columns})
    before = lake.connector.read().facts
    held = lake.connector.fetch().facts.grants_of[lake.own(ANN)]
    assert len(held) == 2
    assert all(grant.privilege.startswith("lakeformation:SELECT ON {") for grant in held)
    assert {grant.object for grant in held} == {TABLES[0], TABLES[1]}

    lake.connector.push(snapshot(policy()), Mode.OVERWRITE, lake.names, journal)
    assert not lake.connector.read().facts.grants
    assert undo(lake.connector, journal).ok
    assert lake.connector.read().facts == before


def tag(lake: LakeFormationStand, resource: dict[str, object], **tags: str) -> None:
    pairs = [{"TagKey": key, "TagValues": [value]} for key, value in tags.items()]
    lake.aws("lakeformation", "add_lf_tags_to_resource", Resource=resource, LFTags=pairs)


def test_a_grant_on_tags_is_spelled_out_for_the_objects_that_match(lake: LakeFormationStand) -> None:
    lake.aws("lakeformation", "create_lf_tag", TagKey="zone", TagValues=["open", "closed"])
    try:
        tag(lake, {"Database": {"Name": "sales"}}, zone="open")
        tag(lake, {"Table": {"DatabaseName": "sales", "Name": "refunds"}}, zone="closed")
        columns = {"DatabaseName": "h_r", "Name": "staff", "ColumnNames": ["x"]}
        tag(lake, {"TableWithColumns": columns}, zone="open")
        expression = [{"TagKey": "zone", "TagValues": ["open"]}]
        give(lake, BOB, {"LFTagPolicy": {"ResourceType": "TABLE", "Expression": expression}})
        facts = lake.connector.fetch().facts
        bob = lake.own(BOB)
        said = {(g.object, g.privilege) for g in facts.grants_of[bob] if g.privilege.startswith("SELECT")}
        assert said == {
            (TABLES[0], "SELECT_TABLE"),
            (VIEWS[0], "SELECT_VIEW"),
            (Securable(ObjectType.COLUMN, (*TABLES[2].path, "x")), "SELECT_TABLE"),
        }
        assert any(g.privilege.startswith(opaque("lakeformation", "SELECT ON {")) for g in facts.grants)
        assert Tag(TABLES[1], "zone", "closed") in facts
    finally:
        lake.aws("lakeformation", "delete_lf_tag", TagKey="zone")


def test_a_grant_on_tags_leaves_out_partition_keys_and_columns_of_views_that_do_not_match(
    lake: LakeFormationStand,
) -> None:
    column = [{"Name": "x", "Type": "int"}]
    made = {"Name": "parts", "StorageDescriptor": {"Columns": column}, "PartitionKeys": [{"Name": "day"}]}
    lake.aws("glue", "create_table", DatabaseName="sales", TableInput=made)
    lake.aws("lakeformation", "create_lf_tag", TagKey="zone", TagValues=["open", "closed"])
    try:
        tag(lake, {"Database": {"Name": "sales"}}, zone="open")
        for table, name in (("parts", "day"), ("totals", "x")):
            place = {"DatabaseName": "sales", "Name": table, "ColumnNames": [name]}
            tag(lake, {"TableWithColumns": place}, zone="closed")
        expression = [{"TagKey": "zone", "TagValues": ["open"]}]
        give(lake, BOB, {"LFTagPolicy": {"ResourceType": "TABLE", "Expression": expression}})
        held = lake.connector.fetch().facts.grants_of[lake.own(BOB)]
        parts = {g.object for g in held if g.privilege.startswith("SELECT") and g.object not in TABLES}
        assert parts == {Securable(ObjectType.COLUMN, ("lake", "sales", "parts", "x"))}
    finally:
        lake.aws("lakeformation", "delete_lf_tag", TagKey="zone")
        lake.aws("glue", "delete_table", DatabaseName="sales", Name="parts")


IN_SALES = {"DatabaseName": "sales"}


@pytest.mark.parametrize(
    ("resource", "hidden"),
    [
        ({"Table": {**IN_SALES, "Name": "orders"}}, {TABLES[0]}),
        ({"Table": {**IN_SALES, "TableWildcard": {}}}, {TABLES[0], TABLES[1], VIEWS[0]}),
        ({"Database": {"Name": "sales"}}, {TABLES[0], TABLES[1], VIEWS[0]}),
        ({"LFTagPolicy": {"ResourceType": "TABLE", "ExpressionName": "e"}}, {*TABLES, *VIEWS}),
        ({"AnyResource": {"ResourceType": "TABLE"}}, {*TABLES, *VIEWS}),
        ({"Table": {**IN_SALES, "Name": "orders", "CatalogId": "999999999999"}}, set()),
    ],
)
def test_what_row_level_security_may_reach_shows_nobody_a_row(
    lake: LakeFormationStand, resource: dict[str, Any], hidden: set[Securable]
) -> None:
    someone = {"DataLakePrincipalIdentifier": lake.own(CY).name}
    lake.lake.attached = [{"PolicyName": "p", "Principal": someone, "Resource": resource}]
    fetched = lake.connector.fetch()
    rules = fetched.facts.restrictions
    assert {rule.object for rule in rules} == hidden
    assert {(rule.sql, rule.to) for rule in rules} <= {("false", ())}
    assert any("row-level policy 'p'" in note for note in fetched.properties.values()) is bool(hidden)


def test_row_level_security_is_left_alone_and_an_endpoint_without_it_has_none(
    lake: LakeFormationStand, journal: Journal
) -> None:
    someone = {"DataLakePrincipalIdentifier": lake.own(CY).name}
    orders = {"Table": {**IN_SALES, "Name": "orders"}}
    lake.lake.attached = [{"PolicyName": "p", "Principal": someone, "Resource": orders}]
    result = lake.connector.push(snapshot(EVERYTHING), Mode.OVERWRITE, lake.names, journal)
    left = [item for item in result.items if item.outcome is Outcome.UNSUPPORTED]
    assert [item.detail for item in left] == ["row-level security of others is left alone"]
    assert lake.connector.fetch().facts.restrictions
    lake.lake.attached = None
    assert not lake.connector.fetch().facts.restrictions


def test_whomever_iam_lets_in_is_nobody_and_is_told(lake: LakeFormationStand) -> None:
    holder = {"DataLakePrincipalIdentifier": "IAM_ALLOWED_PRINCIPALS"}
    table = {"Table": {"DatabaseName": "sales", "Name": "orders"}}
    lake.aws("lakeformation", "grant_permissions", Principal=holder, Resource=table, Permissions=["ALL"])
    fetched = lake.connector.fetch()
    unmanaged = Principal(Kind.GROUP, "IAM_ALLOWED_PRINCIPALS")
    assert Known(unmanaged) in fetched.facts
    assert not fetched.facts.everyone
    assert any("restricts nobody" in note for note in fetched.properties.values())


def test_groups_and_roles_are_written_for_their_members(lake: LakeFormationStand, journal: Journal) -> None:
    team, role = Principal(Kind.GROUP, "team"), Principal(Kind.ROLE, "reader")
    facts = policy(
        *open_to(role),
        Known(role),
        MemberFact(role, team),
        MemberFact(team, CY),
        GrantFact(role, TABLES[0], "SELECT_TABLE"),
    )
    result = lake.connector.push(snapshot(facts), Mode.MERGE, lake.names, journal)
    assert lake.may(CY, TABLES[0], "table.read")
    assert {Cause.GROUP, Cause.ROLE_UNWRITTEN} <= {loss.cause for loss in result.losses}


# -- rows --------------------------------------------------------------------------------------------------------


def rows(lake: LakeFormationStand, user: Principal) -> set[str] | None:
    return lake.sees(user, TABLES[0])


EVERYBODY_READS = tuple(GrantFact(user, TABLES[0], "SELECT_TABLE") for user in USERS)
READS = policy(*(fact for user in USERS for fact in open_to(user)), *EVERYBODY_READS)


def push_rows(lake: LakeFormationStand, journal: Journal, facts: Facts) -> SyncResult:
    return lake.connector.push(snapshot(facts, "lakeformation"), Mode.MERGE, lake.names, journal)


@pytest.mark.parametrize("first", [False, True])
def test_a_row_filter_lets_those_it_is_for_read_through_it_alone(
    lake: LakeFormationStand, journal: Journal, first: bool
) -> None:
    if first:
        push_rows(lake, journal, READS)
    before = lake.connector.read().facts
    rule = RowFilter(TABLES[0], "small", "x < 10", (ANN,))
    assert push_rows(lake, journal, READS.changed([rule])).ok
    assert rows(lake, ANN) == {"(x < 10)"}
    assert rows(lake, BOB) is None
    assert not push_rows(lake, journal, READS.changed([rule])).count(Outcome.APPLIED)
    undo(lake.connector, journal)
    assert undo(lake.connector, journal).ok
    assert lake.connector.read().facts == before
    assert not lake.lake.filters


def test_a_filter_for_everyone_meets_everyone_but_the_exempt(
    lake: LakeFormationStand, journal: Journal
) -> None:
    rule = RowFilter(TABLES[0], "small", "x < 10", (), (BOB,))
    assert push_rows(lake, journal, READS.changed([rule])).ok
    assert rows(lake, ANN) == rows(lake, CY) == {"(x < 10)"}
    assert rows(lake, BOB) is None
    other = RowFilter(TABLES[0], "small", "x < 5", (), (CY,))
    assert push_rows(lake, journal, READS.changed([other])).ok
    assert rows(lake, ANN) == rows(lake, BOB) == {"(x < 5)"}
    assert rows(lake, CY) is None


def test_nothing_is_granted_that_would_show_what_a_filter_hides(
    lake: LakeFormationStand, journal: Journal
) -> None:
    rule = RowFilter(TABLES[0], "small", "x < 10", (ANN,))
    facts = READS.changed(
        [rule, GrantFact(ANN, SCHEMAS[0], "SELECT_TABLE"), GrantFact(ANN, SCHEMAS[0], "SELECT_VIEW")]
    )
    facts = facts.changed([GrantFact(ANN, TABLES[0], "MODIFY_TABLE")])
    result = push_rows(lake, journal, facts)
    assert result.count(Outcome.WIDENS)
    assert rows(lake, ANN) == {"(x < 10)"}
    assert not lake.may(ANN, TABLES[0], "table.read")


@pytest.mark.parametrize("word", ["INSERT", "DELETE", "ALL"])
def test_a_filter_is_not_claimed_where_something_else_shows_the_rows(
    lake: LakeFormationStand, journal: Journal, word: str
) -> None:
    give(lake, ANN, {"Table": {"DatabaseName": "sales", "Name": "orders"}}, word)
    rule = RowFilter(TABLES[0], "small", "x < 10", (ANN,))
    result = push_rows(lake, journal, READS.changed([rule]))
    assert result.count(Outcome.UNSUPPORTED) == 1
    assert not lake.may(BOB, TABLES[0], "table.read"), "after a restriction that failed nothing is granted"


def test_a_filter_that_somebody_gets_past_is_seen_and_mended(
    lake: LakeFormationStand, journal: Journal
) -> None:
    rule = RowFilter(TABLES[0], "small", "x < 10", (ANN,))
    push_rows(lake, journal, READS.changed([rule]))
    give(lake, ANN, {"Table": {"DatabaseName": "sales", "Name": "orders"}})
    assert rows(lake, ANN) is None
    assert not lake.connector.read().facts.restrictions
    assert push_rows(lake, journal, READS.changed([rule])).ok
    assert rows(lake, ANN) == {"(x < 10)"}


def test_of_two_filters_for_one_person_a_row_must_pass_both(
    lake: LakeFormationStand, journal: Journal
) -> None:
    small, other = (
        RowFilter(TABLES[0], name, sql, (ANN,)) for name, sql in (("small", "x < 10"), ("other", "y > 0"))
    )
    assert push_rows(lake, journal, READS.changed([small])).ok
    assert push_rows(lake, journal, READS.changed([small, other])).ok
    assert rows(lake, ANN) == {"(y > 0) AND (x < 10)"}
    assert push_rows(lake, journal, READS.changed([other])).ok
    assert rows(lake, ANN) == {"(y > 0)"}
    assert push_rows(lake, journal, READS).ok
    assert rows(lake, ANN) is None
    assert not lake.lake.filters


def test_what_adds_up_with_a_filter_is_seen_as_getting_past_it(
    lake: LakeFormationStand, journal: Journal
) -> None:
    rule = RowFilter(TABLES[0], "big", "x > 90", (ANN,))
    push_rows(lake, journal, READS.changed([rule]))
    assert len(lake.connector.read().facts.restrictions) == 1
    make_filter(lake)
    assert rows(lake, ANN) == {"(x > 90)", "x < 10"}
    assert not lake.connector.read().facts.restrictions
    assert not push_rows(lake, journal, READS.changed([rule])).count(Outcome.APPLIED)


@pytest.mark.parametrize(
    "sql", ["upper(x) = 'A'", "x = y", "x IN (SELECT 1)", "x = 1; SELECT 1", "x <", "x = 1 -" * 600]
)
def test_what_a_filter_cannot_say_is_refused(lake: LakeFormationStand, sql: str) -> None:
    rule = RowFilter(TABLES[0], "small", sql, (lake.own(ANN),))
    assert lake.connector.apply([Change(None, rule)])[0].outcome is Outcome.FAILED
    assert not lake.lake.filters


def test_what_a_filter_can_say_is_written_as_it_is(lake: LakeFormationStand) -> None:
    sql = (
        "(x BETWEEN 1 AND 5 OR x IN (7, 8)) AND NOT y = -1 AND name LIKE 'a%' AND z IS NOT NULL AND w <> true"
    )
    rule = RowFilter(TABLES[0], "all of it", sql, (lake.own(ANN),))
    assert lake.connector.apply([Change(None, rule)])[0].outcome is Outcome.APPLIED
    assert rule in lake.connector.read().facts
