"""What is particular to Unity Catalog: a yes that means nothing, rights that sleep, users page by page, owners that stay."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headgate.model.errors import IllegalArgument
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.facts import Fact, Facts, GrantFact, Kind, Known, OwnerFact, Principal, Securable
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.options import Options
from tests.sync.cloud_stands import UnityStand
from tests.sync.stands import Stand
from tests.sync.worlds import CATALOG, INVENTORY, PEOPLE, SCHEMAS, TABLES, USERS, VIEWS, snapshot

ANN, BOB, CY = USERS
T = type(CATALOG.type)


@pytest.fixture
def unity(stand_of: Callable[[str], Stand]) -> UnityStand:
    stand = stand_of("unity")
    assert isinstance(stand, UnityStand)
    return stand


def policy(*facts: Fact) -> Facts:
    gates = [GrantFact(ANN, CATALOG, word) for word in ("USE_CATALOG", "USE_SCHEMA")]
    return Facts([*INVENTORY, *PEOPLE, *gates, *facts])


READS = policy(GrantFact(ANN, TABLES[0], "SELECT_TABLE"))


def test_a_server_without_authorization_is_an_error(unity: UnityStand, journal: Journal) -> None:
    unity.server.authorizes = False
    try:
        result = unity.connector.push(snapshot(READS), Mode.MERGE, unity.names, journal)
    finally:
        unity.server.authorizes = True
    failed = [item for item in result.items if item.outcome is Outcome.FAILED]
    assert len(failed) == 3
    assert "authorization" in failed[0].detail


def test_reading_is_not_granted_where_it_would_wake_a_right_to_change(
    unity: UnityStand, journal: Journal
) -> None:
    ann = unity.own(ANN)
    unity.server.held["table", "lake.sales.orders"][ann.name] = {"MODIFY"}
    result = unity.connector.push(snapshot(READS), Mode.MERGE, unity.names, journal)
    refused = [item.change.after for item in result.items if item.outcome is Outcome.WIDENS]
    assert refused == [GrantFact(ann, TABLES[0], "SELECT")]
    assert not unity.may(ANN, TABLES[0], "table.insert")


def test_a_right_to_change_without_reading_is_none_elsewhere(unity: UnityStand) -> None:
    ann, bob = unity.own(ANN), unity.own(BOB)
    unity.server.held["table", "lake.sales.orders"][ann.name] = {"MODIFY"}
    unity.server.held["schema", "lake.sales"][bob.name] = {"SELECT"}
    unity.server.held["table", "lake.sales.orders"][bob.name] = {"MODIFY"}
    facts = unity.connector.fetch().facts
    assert [g.privilege for g in facts.grants_of[ann]] == ["unity:MODIFY WITHOUT SELECT"]
    assert GrantFact(bob, TABLES[0], "unity:MODIFY") in facts
    assert GrantFact(bob, SCHEMAS[0], "SELECT_TABLE") in facts


def test_users_are_read_page_by_page_to_an_empty_one(
    unity: UnityStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = unity.connector.read().facts
    monkeypatch.setattr(unity.server, "page", 1)
    assert unity.connector.read().facts == whole
    assert {unity.own(user) for user in USERS} <= whole.known


def test_a_disabled_user_is_told_and_given_nothing(unity: UnityStand, journal: Journal) -> None:
    user = unity.server.users[0]
    user["active"] = False
    try:
        result = unity.connector.push(snapshot(READS), Mode.MERGE, unity.names, journal)
        assert any(loss.cause is Cause.MISSING_PRINCIPAL for loss in result.losses)
        assert not unity.connector.read().facts.grants
    finally:
        user["active"] = True


def test_what_a_disabled_user_holds_is_nothing_elsewhere(unity: UnityStand, orders: dict[str, Any]) -> None:
    ann = unity.own(ANN)
    readers(unity)
    orders["owner"] = ann.name
    assert unity.connector.fetch().facts.grants_of[ann]
    user = unity.server.users[0]
    user["active"] = False
    try:
        assert ann not in unity.connector.fetch().facts.principals
        assert unity.connector.read().facts.grants_of[ann], "a push still sees what would come alive"
    finally:
        user["active"] = True


def test_a_user_is_made_only_when_asked_for_and_goes_with_the_undo(
    unity: UnityStand, journal: Journal
) -> None:
    new = Principal(Kind.USER, "new")
    facts = policy(Known(new), GrantFact(new, CATALOG, "USE_CATALOG"))
    result = unity.connector.push(snapshot(facts), Mode.MERGE, unity.names, journal)
    assert any(loss.cause is Cause.MISSING_PRINCIPAL for loss in result.losses)
    options = Options(create_principals=True)
    assert unity.connector.push(snapshot(facts), Mode.MERGE, unity.names, journal, options).ok
    assert unity.own(new) in unity.connector.read().facts.known
    assert undo(unity.connector, journal).ok
    assert unity.own(new) not in unity.connector.read().facts.known


def test_owners_are_told_and_left_alone(unity: UnityStand, journal: Journal) -> None:
    entry = unity.server.objects["table", "lake.sales.orders"]
    entry["owner"] = unity.own(CY).name
    try:
        assert OwnerFact(TABLES[0], unity.own(CY)) in unity.connector.fetch().facts
        facts = policy(OwnerFact(TABLES[0], ANN))
        result = unity.connector.push(
            snapshot(facts), Mode.OVERWRITE, unity.names, journal, Options(owners=True)
        )
        assert result.ok
        assert any(loss.cause is Cause.OWNER for loss in result.losses)
        change = Change(None, OwnerFact(TABLES[0], unity.own(ANN)))
        assert unity.connector.apply([change])[0].outcome is Outcome.UNSUPPORTED
        assert OwnerFact(TABLES[0], unity.own(CY)) in unity.connector.fetch().facts
    finally:
        del entry["owner"]


def test_a_container_is_granted_only_if_its_views_may_be_read_too(
    unity: UnityStand, journal: Journal
) -> None:
    unity.connector.push(
        snapshot(policy(GrantFact(ANN, SCHEMAS[0], "SELECT_TABLE"))), Mode.MERGE, unity.names, journal
    )
    assert unity.may(ANN, TABLES[0], "table.read")
    assert not unity.may(ANN, VIEWS[0], "view.read")


def test_what_the_server_refuses_is_told_in_its_words(unity: UnityStand) -> None:
    nobody = Principal(Kind.USER, "nobody@example.org")
    missing = Securable(T("table"), ("lake", "sales", "gone"))
    answers = unity.connector.apply(
        [
            Change(None, GrantFact(nobody, TABLES[0], "SELECT")),
            Change(None, GrantFact(unity.own(ANN), missing, "SELECT")),
            Change(None, GrantFact(unity.own(ANN), TABLES[0], "MANAGE")),
            Change(GrantFact(unity.own(ANN), TABLES[0], "SELECT"), None),
        ]
    )
    assert [answer.outcome for answer in answers] == [Outcome.FAILED] * 3 + [Outcome.APPLIED]
    assert [answer.detail.partition(":")[0] for answer in answers[:3]] == [
        "NOT_FOUND",
        "NOT_FOUND",
        "INVALID_ARGUMENT",
    ]


def test_the_wait_that_the_server_asks_for_is_kept(unity: UnityStand, journal: Journal) -> None:
    unity.server.busy = [{"Retry-After": "3"}]
    assert unity.connector.push(snapshot(READS), Mode.MERGE, unity.names, journal).ok
    assert unity.clock.waits == [3.0]


# -- what a hosted server keeps back -----------------------------------------------------------------------------


def readers(unity: UnityStand) -> None:
    held = unity.server.held["catalog", "lake"]
    held[unity.own(ANN).name] = {"USE CATALOG", "USE SCHEMA", "SELECT"}


def pushed_elsewhere(unity: UnityStand, elsewhere: Stand, journal: Journal) -> Stand:
    names = PrincipalMap({str(unity.own(user)): elsewhere.own(user).name for user in USERS})
    elsewhere.connector.push(unity.connector.fetch(), Mode.MERGE, names, journal)
    return elsewhere


@pytest.fixture
def orders(unity: UnityStand) -> Iterator[dict[str, Any]]:
    """The entry of one table in the server's list, put back afterwards."""
    entry = unity.server.objects["table", "lake.sales.orders"]
    before = dict(entry)
    yield entry
    entry.clear()
    entry.update(before)
    unity.server.attributes = None


def test_a_table_with_a_row_filter_of_the_server_shows_nobody_a_row_elsewhere(
    unity: UnityStand, stand_of: Callable[[str], Stand], orders: dict[str, Any], journal: Journal
) -> None:
    readers(unity)
    orders["row_filter"] = {"function_name": "lake.sales.f", "input_column_names": ["x"]}
    notes = unity.connector.fetch().properties.values()
    assert any("lake.sales.orders has a row filter" in note for note in notes)
    elsewhere = pushed_elsewhere(unity, stand_of("mariadb"), journal)
    assert not elsewhere.readable(ANN, TABLES[0])
    assert elsewhere.readable(ANN, TABLES[1])


def test_a_column_with_a_mask_of_the_server_is_seen_by_nobody_elsewhere(
    unity: UnityStand, stand_of: Callable[[str], Stand], orders: dict[str, Any], journal: Journal
) -> None:
    readers(unity)
    orders["columns"] = [{"name": "x"}, {"name": "y", "mask": {"function_name": "lake.sales.m"}}]
    elsewhere = pushed_elsewhere(unity, stand_of("mariadb"), journal)
    assert elsewhere.readable(ANN, TABLES[0]) == ["x"]
    assert elsewhere.readable(ANN, TABLES[1]) == ["x", "y"]


@pytest.mark.parametrize(
    ("place", "hidden"),
    [
        (("CATALOG", "lake"), {TABLES[0], TABLES[1], TABLES[2], VIEWS[0]}),
        (("SCHEMA", "lake.sales"), {TABLES[0], TABLES[1], VIEWS[0]}),
        (("TABLE", "lake.sales.orders"), {TABLES[0]}),
    ],
)
@pytest.mark.parametrize(
    "kind", ["POLICY_TYPE_ROW_FILTER", "POLICY_TYPE_COLUMN_MASK", "POLICY_TYPE_OF_TOMORROW"]
)
def test_what_a_policy_by_attribute_may_reach_is_hidden(
    unity: UnityStand, orders: dict[str, Any], place: tuple[str, str], hidden: set[Securable], kind: str
) -> None:
    unity.server.attributes = {place: [{"name": "p", "policy_type": kind, "to_principals": ["somebody"]}]}
    rules = unity.connector.fetch().facts.restrictions
    assert {rule.object for rule in rules} == hidden
    assert {(rule.sql, rule.to) for rule in rules} == {("FALSE", ())}


def test_a_policy_that_gives_hides_nothing_and_one_that_denies_is_not_read_past(
    unity: UnityStand, orders: dict[str, Any]
) -> None:
    unity.server.attributes = {("SCHEMA", "lake.h_r"): [{"name": "p", "policy_type": "POLICY_TYPE_GRANT"}]}
    assert not unity.connector.fetch().facts.restrictions
    unity.server.attributes = {("SCHEMA", "lake.h_r"): [{"name": "p", "policy_type": "POLICY_TYPE_DENY"}]}
    with pytest.raises(IllegalArgument, match=r"'p' on schema:lake\.h_r denies"):
        unity.connector.fetch()


def test_a_server_without_policies_by_attribute_is_asked_once_for_each_catalog(unity: UnityStand) -> None:
    unity.connector.fetch()
    assert [at for _, at in unity.server.asked if "/policies/" in at] == [
        "/api/2.1/unity-catalog/policies/CATALOG/lake"
    ]
