"""What is Ranger's own, judged by its engine: denials, row filters, masks, patterns, policies of others."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headgate.model.errors import ConnectionFailed, IllegalArgument
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.access.effective import restricted
from headgate.sync.connectors.ranger.connector import RangerConnector
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.facts import (
    Facts,
    GrantFact,
    Kind,
    Known,
    Mask,
    Principal,
    RowFilter,
    Securable,
    Tag,
)
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.options import Options
from tests.postgres import free_port
from tests.sync.ranger_admin import PAGE
from tests.sync.ranger_stand import SERVICE, RangerStand
from tests.sync.stands import Stand
from tests.sync.worlds import (
    CATALOG,
    COLUMNS,
    GROUPS,
    INVENTORY,
    OBJECTS,
    PEOPLE,
    SCHEMAS,
    TABLES,
    USERS,
    snapshot,
)

pytestmark = pytest.mark.real

ANN, BOB, CY = USERS
TEAM = GROUPS[0]
PUBLIC = Principal(Kind.GROUP, "public")
ORDERS = TABLES[0]
GATES = [GrantFact(user, CATALOG, word) for user in USERS for word in ("USE_CATALOG", "USE_SCHEMA")]
READERS = Facts([*INVENTORY, *PEOPLE, *GATES, *(GrantFact(user, ORDERS, "SELECT_TABLE") for user in USERS)])


@pytest.fixture
def ranger(stand_of: Callable[[str], Stand]) -> RangerStand:
    stand = stand_of("ranger")
    assert isinstance(stand, RangerStand)
    return stand


def item(*people: Principal, words: tuple[str, ...] = ("select",), **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"users": [], "groups": [], "roles": []}
    for person in people:
        made[f"{person.kind}s"].append(person.name)
    return {**made, "accesses": [{"type": word} for word in words], **more}


def theirs(stand: RangerStand, name: str, *path: list[str], **more: Any) -> dict[str, Any]:
    """A policy that somebody made in Ranger's own pages."""
    keys = ("database", "table", "column")
    resources = {key: {"values": values} for key, values in zip(keys, path, strict=False)}
    body = {"service": SERVICE, "name": name, "resources": resources, **more}
    made: dict[str, Any] = stand.admin.route("POST", "/service/public/v2/api/policy", {}, body)
    return made


def push(stand: RangerStand, facts: Facts, journal: Journal, mode: Mode = Mode.MERGE) -> Any:
    return stand.connector.push(snapshot(facts, "ranger"), mode, stand.names, journal)


def rows(stand: RangerStand, user: Principal) -> str:
    return stand.ask("rows", user, "select", *ORDERS.path[1:])


def mask(stand: RangerStand, user: Principal) -> str:
    return stand.ask("mask", user, "select", *COLUMNS[0].path[1:])


# -- rows and masks ----------------------------------------------------------------------------------------------


def test_row_filters_are_those_that_the_engine_applies(ranger: RangerStand, journal: Journal) -> None:
    general = RowFilter(ORDERS, "small", "x < 10", exempt=(CY,))
    special = RowFilter(ORDERS, "even", "y = 2", to=(BOB,))
    assert push(ranger, READERS.changed(add=[general, special]), journal).ok
    assert rows(ranger, ANN) == "x < 10"
    assert rows(ranger, BOB) == "(y = 2) AND (x < 10)"
    assert rows(ranger, CY) == ""
    assert all(ranger.may(user, ORDERS, "table.read") for user in USERS)
    assert set(ranger.connector.read().facts.restrictions) == {general, special}
    assert push(ranger, READERS.changed(add=[special]), journal).ok
    assert (rows(ranger, ANN), rows(ranger, BOB)) == ("", "y = 2")
    assert undo(ranger.connector, journal).ok
    assert rows(ranger, ANN) == "x < 10"


def test_masks_are_those_that_the_engine_applies(ranger: RangerStand, journal: Journal) -> None:
    own = Mask(COLUMNS[0], "tens", "x - x % 10", to=(ANN,))
    known = Mask(COLUMNS[0], "hash", "mask_hash(x)", to=(BOB,))
    assert push(ranger, READERS.changed(add=[own, known]), journal).ok
    assert mask(ranger, ANN) == "CUSTOM x - x % 10"
    assert mask(ranger, BOB).startswith("MASK_HASH")
    assert mask(ranger, CY) == ""
    assert set(ranger.connector.read().facts.restrictions) == {own, known}
    assert undo(ranger.connector, journal).ok
    assert mask(ranger, ANN) == ""


def test_two_masks_that_meet_one_user_take_the_column_with_them(
    ranger: RangerStand, journal: Journal
) -> None:
    two = [Mask(COLUMNS[0], "one", "NULL", to=(ANN,)), Mask(COLUMNS[0], "two", "0", to=(ANN, BOB))]
    result = push(ranger, READERS.changed(add=two), journal)
    assert result.ok
    lost = {(loss.principal, loss.what) for loss in result.losses if loss.cause is Cause.MASKED_COLUMN}
    assert lost == {(str(ANN), "one"), (str(ANN), "two"), (str(BOB), "two")}
    assert not ranger.may(ANN, COLUMNS[0], "column.read")
    assert ranger.may(ANN, COLUMNS[1], "column.read")
    assert ranger.may(CY, ORDERS, "table.read")


def test_where_a_restriction_fails_nothing_after_it_is_granted(ranger: RangerStand, journal: Journal) -> None:
    told = [item(PUBLIC, rowFilterInfo={"filterExpr": "x > 1"})]
    tables = ["orders", "refunds"]
    theirs(ranger, "both", ["sales"], tables, policyType=2, rowFilterPolicyItems=told)
    result = push(ranger, READERS.changed(add=[RowFilter(ORDERS, "small", "x < 10")]), journal)
    assert not result.ok
    assert any("already restricts" in found.detail for found in result.items)
    assert not any(ranger.may(user, ORDERS, "table.read") for user in USERS)


SOME = settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def filters(draw: st.DrawFn) -> list[RowFilter]:
    people = st.sets(st.sampled_from(USERS), max_size=2)
    return [
        RowFilter(ORDERS, f"rule {n}", f"x <> {n}", *(tuple(sorted(draw(people))) for _ in ("to", "exempt")))
        for n in range(draw(st.integers(1, 3)))
    ]


@given(rules=filters())
@SOME
def test_every_user_sees_the_rows_that_all_their_filters_let_through(
    ranger: RangerStand, rules: list[RowFilter]
) -> None:
    ranger.empty()
    answers = ranger.connector.apply([Change(None, rule) for rule in rules])
    assert {answer.outcome for answer in answers} == {Outcome.APPLIED}
    facts = Facts([*PEOPLE, *rules])
    for user in USERS:
        wanted = {rule.sql for rule in restricted(facts).get(user, ())}
        said = rows(ranger, user)
        assert {part.strip("()") for part in said.split(" AND ") if part} == wanted
    assert set(ranger.connector.read().facts.restrictions) == set(rules)


_PEOPLE = st.sets(st.sampled_from([ANN, BOB, TEAM, PUBLIC]), min_size=1, max_size=2)


@given(lines=st.lists(st.tuples(_PEOPLE, st.sampled_from(["x > 1", "x > 2", ""])), min_size=1, max_size=3))
@SOME
def test_filters_of_others_are_read_as_the_engine_applies_them(
    ranger: RangerStand, lines: list[tuple[set[Principal], str]]
) -> None:
    ranger.empty()
    ranger.members = {CY: frozenset({TEAM.name})}
    items = [item(*sorted(people), rowFilterInfo={"filterExpr": sql}) for people, sql in lines]
    theirs(ranger, "filters", [ORDERS.path[1]], [ORDERS.path[2]], policyType=2, rowFilterPolicyItems=items)
    ranger.admin.users[CY.name] = [TEAM.name]
    try:
        facts = ranger.connector.read().facts
    finally:
        ranger.admin.users[CY.name] = []
    met = restricted(facts)
    for user in USERS:
        assert " AND ".join(sorted(rule.sql for rule in met.get(user, ()))) == rows(ranger, user)


def shown_elsewhere(ranger: RangerStand, user: Principal) -> list[str]:
    """The columns of the orders that a user may read whole, by what is fetched."""
    facts = ranger.connector.fetch().facts
    met = restricted(facts).get(user, set())
    if any(isinstance(rule, RowFilter) and rule.object == ORDERS for rule in met):
        return []
    masked = {rule.object for rule in met}
    return [column.path[3] for column in COLUMNS[:2] if column not in masked]


@pytest.fixture
def patterns(ranger: RangerStand) -> Iterator[None]:
    """A definition of the service by which filters and masks may be about patterns; Ranger's own has them off."""
    before = ranger.admin.definition
    ranger.admin.definition = deepcopy(before)
    for part in ("dataMaskDef", "rowFilterDef"):
        for resource in ranger.admin.definition[part]["resources"]:
            resource["matcherOptions"] = {"wildCard": "true"}
    ranger.empty()
    yield
    ranger.admin.definition = before
    ranger.empty()


@pytest.mark.usefixtures("patterns")
@pytest.mark.parametrize("path", [["*"], ["x", "y"]])
def test_a_mask_of_all_columns_is_read_as_one(ranger: RangerStand, path: list[str]) -> None:
    told = [item(ANN, dataMaskInfo={"dataMaskType": "MASK_NULL"})]
    theirs(ranger, "all columns", ["sales"], ["orders"], path, policyType=1, dataMaskPolicyItems=told)
    assert mask(ranger, ANN).startswith("MASK_NULL")
    assert shown_elsewhere(ranger, ANN) == []
    answer = ranger.connector.apply([Change(None, Mask(COLUMNS[0], "mine", "x % 2", (ANN,)))])[0]
    assert "already restricts" in answer.detail


@pytest.mark.usefixtures("patterns")
def test_a_filter_of_all_tables_is_not_read_past(ranger: RangerStand) -> None:
    told = [item(ANN, rowFilterInfo={"filterExpr": "x > 1"})]
    theirs(ranger, "all tables", ["sales"], ["*"], policyType=2, rowFilterPolicyItems=told)
    assert rows(ranger, ANN) == "x > 1"
    with pytest.raises(IllegalArgument, match="'all tables' restricts by a pattern"):
        ranger.connector.fetch()


@pytest.mark.parametrize("macro", ["{USER}", "{OWNER}"])
def test_a_restriction_of_whoever_asks_is_for_everyone(ranger: RangerStand, macro: str) -> None:
    whoever = Principal(Kind.USER, macro)
    filters = [item(whoever, rowFilterInfo={"filterExpr": "x > 1"})]
    masks = [item(whoever, dataMaskInfo={"dataMaskType": "MASK_NULL"})]
    theirs(ranger, "rows", ["sales"], ["orders"], policyType=2, rowFilterPolicyItems=filters)
    theirs(ranger, "cells", ["sales"], ["orders"], ["x"], policyType=1, dataMaskPolicyItems=masks)
    if macro == "{USER}":
        assert rows(ranger, ANN) == "x > 1"
        assert mask(ranger, ANN).startswith("MASK_NULL")
    found = ranger.connector.fetch().facts.restrictions
    assert {(rule.sql, rule.to, rule.exempt) for rule in found} == {("x > 1", (), ()), ("NULL", (), ())}


def test_a_restriction_that_holds_only_sometimes_hides_everything(ranger: RangerStand) -> None:
    when = [{"type": "x", "values": ["y"]}]
    told = [item(PUBLIC, rowFilterInfo={"filterExpr": "x > 1"}, conditions=when)]
    theirs(ranger, "sometimes", ["sales"], ["orders"], policyType=2, rowFilterPolicyItems=told)
    assert ranger.connector.read().facts.restrictions == (RowFilter(ORDERS, "sometimes", "false"),)


# -- denials -----------------------------------------------------------------------------------------------------


def test_a_denial_is_written_as_one_and_beats_what_others_allow(
    ranger: RangerStand, journal: Journal
) -> None:
    theirs(ranger, "open house", ["sales"], ["*"], ["*"], policyItems=[item(PUBLIC)])
    assert ranger.may(BOB, ORDERS, "table.read")
    deny = GrantFact(BOB, ORDERS, "SELECT_TABLE", Condition.DENY)
    facts = READERS.changed(add=[deny], remove=[GrantFact(BOB, ORDERS, "SELECT_TABLE")])
    assert push(ranger, facts, journal).ok
    assert GrantFact(BOB, ORDERS, "select", Condition.DENY) in ranger.connector.read().facts
    assert not ranger.may(BOB, ORDERS, "table.read")
    assert ranger.may(ANN, ORDERS, "table.read")
    assert ranger.may(BOB, TABLES[1], "table.read")
    assert undo(ranger.connector, journal).ok
    assert ranger.may(BOB, ORDERS, "table.read")


def test_a_denial_takes_only_what_is_denied(ranger: RangerStand, journal: Journal) -> None:
    deny = GrantFact(ANN, ORDERS, "MODIFY_TABLE", Condition.DENY)
    assert push(ranger, READERS.changed(add=[deny]), journal).ok
    found = {g.privilege for g in ranger.connector.read().facts.grants if g.decision is Condition.DENY}
    assert found == {"update", "alter"}
    assert ranger.may(ANN, ORDERS, "table.read")


def test_what_was_allowed_behind_a_denial_stays_hidden_when_the_denial_goes(ranger: RangerStand) -> None:
    both = {"policyItems": [item(BOB)], "denyPolicyItems": [item(BOB)]}
    theirs(ranger, "both", ["sales"], ["orders"], ["*"], **both)
    deny = GrantFact(BOB, ORDERS, "select", Condition.DENY)
    assert ranger.connector.read().facts.grants == (deny,)
    assert ranger.connector.apply([Change(deny, None)])[0].outcome is Outcome.APPLIED
    assert not ranger.may(BOB, ORDERS, "table.read")


def test_denials_of_others_are_never_read_weaker(ranger: RangerStand) -> None:
    when = [{"itemStatus": "x"}]
    theirs(ranger, "pattern", ["sales"], ["o*"], ["*"], denyPolicyItems=[item(ANN)])
    theirs(ranger, "column", ["h_r"], ["staff"], ["x"], denyPolicyItems=[item(BOB)])
    exceptions = {"denyExceptions": [item(CY)], "validitySchedules": when}
    theirs(ranger, "except", ["h_r"], ["*"], ["*"], denyPolicyItems=[item(TEAM)], **exceptions)
    theirs(
        ranger, "nobody owns", ["*"], ["*"], ["*"], denyPolicyItems=[item(Principal(Kind.USER, "{OWNER}"))]
    )
    assert set(ranger.connector.read().facts.grants) == {
        GrantFact(ANN, SCHEMAS[0], "select", Condition.DENY),
        GrantFact(BOB, TABLES[2], "select", Condition.DENY),
        GrantFact(TEAM, SCHEMAS[1], "select", Condition.DENY),
        GrantFact(PUBLIC, CATALOG, "select", Condition.DENY),
    }


# -- policies of others ------------------------------------------------------------------------------------------


def test_grants_that_depend_on_more_than_names_are_told_and_not_taken_for_grants(ranger: RangerStand) -> None:
    theirs(ranger, "pattern", ["sales"], ["o*"], ["*"], policyItems=[item(ANN)])
    theirs(ranger, "database", ["sales"], policyItems=[item(ANN)])
    theirs(ranger, "condition", ["h_r"], ["*"], ["*"], policyItems=[item(ANN, conditions=[{"type": "x"}])])
    theirs(ranger, "macro", ["sales"], ["orders"], ["x"], policyItems=[item(Principal(Kind.USER, "{USER}"))])
    exceptions = {"allowExceptions": [item(BOB)]}
    theirs(
        ranger,
        "except",
        ["sales"],
        ["*"],
        ["*"],
        policyItems=[item(ANN, words=("select", "drop"))],
        **exceptions,
    )
    off = theirs(ranger, "off", ["sales"], ["orders"], ["*"], isEnabled=False, policyItems=[item(ANN)])
    reading = ranger.connector.read()
    assert set(reading.facts.grants) == {GrantFact(ANN, SCHEMAS[0], "drop")}
    told = {note.split("'")[1] for note in reading.notes}
    assert told == {"pattern", "database", "condition", "macro", "except"}
    assert off["isEnabled"] is False


def test_a_word_that_implies_others_is_read_as_those(ranger: RangerStand) -> None:
    theirs(ranger, "all", ["sales"], ["orders"], ["*"], policyItems=[item(ANN, BOB, words=("all",))])
    found = {grant.privilege for grant in ranger.connector.read().facts.grants if grant.holder == ANN}
    assert {"select", "update", "alter", "drop"} <= found
    assert "all" not in found
    answer = ranger.connector.apply([Change(GrantFact(ANN, ORDERS, "select"), None)])[0]
    assert answer.outcome is Outcome.APPLIED
    assert not ranger.may(ANN, ORDERS, "table.read")
    assert ranger.may(ANN, ORDERS, "table.alter")
    assert ranger.may(BOB, ORDERS, "table.read")


def test_a_policy_about_several_objects_is_left_alone_with_a_reason(ranger: RangerStand) -> None:
    theirs(ranger, "two", ["sales"], ["orders", "refunds"], ["*"], policyItems=[item(ANN)])
    grant = GrantFact(ANN, ORDERS, "select")
    assert set(ranger.connector.read().facts.grants) == {grant, GrantFact(ANN, TABLES[1], "select")}
    answer = ranger.connector.apply([Change(grant, None)])[0]
    assert answer.outcome is Outcome.UNSUPPORTED
    assert "'two'" in answer.detail
    assert ranger.may(ANN, ORDERS, "table.read")


def test_a_policy_that_was_changed_meanwhile_is_not_overwritten(ranger: RangerStand) -> None:
    made = theirs(ranger, "shared", ["sales"], ["orders"], ["*"], policyItems=[item(ANN)])

    class Meddling(httpx.BaseTransport):
        """Somebody adds bob after the policies were listed."""

        def __init__(self) -> None:
            self.inner = httpx.HTTPTransport()

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            answer = self.inner.handle_request(request)
            if request.url.path.endswith("/roles"):
                path = f"/service/public/v2/api/policy/{made['id']}"
                ranger.admin.route("PUT", path, {}, {**made, "policyItems": [item(ANN, BOB)]})
            return answer

        def close(self) -> None:
            self.inner.close()

    with httpx.Client(
        base_url=ranger.server.address, auth=("admin", "secret"), transport=Meddling()
    ) as client:
        connector = RangerConnector(client, SERVICE, "lake", lambda: OBJECTS)
        answer = connector.apply([Change(None, GrantFact(CY, ORDERS, "select"))])[0]
    assert answer.outcome is Outcome.FAILED
    assert "changed meanwhile" in answer.detail
    assert ranger.may(BOB, ORDERS, "table.read")


def test_more_policies_than_a_page_holds_are_all_read(ranger: RangerStand) -> None:
    for n in range(PAGE + 5):
        theirs(ranger, f"p{n}", ["sales"], [f"t{n}"], ["*"], policyItems=[item(ANN)])
    assert len(ranger.connector.read().facts.grants) == PAGE + 5


# -- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["o*", "ord?rs", "{USER}", "Orders"])
def test_a_name_that_would_be_a_pattern_is_refused(ranger: RangerStand, name: str) -> None:
    table = Securable(ObjectType.TABLE, ("lake", "sales", name))
    answer = ranger.connector.apply([Change(None, GrantFact(ANN, table, "select"))])[0]
    assert answer.outcome is Outcome.FAILED
    assert "pattern" in answer.detail
    assert not ranger.admin.policies


def test_zones_and_restricting_tags_are_refused_rather_than_guessed(ranger: RangerStand) -> None:
    ranger.admin.zones = [{"id": 7, "name": "finance"}]
    with pytest.raises(IllegalArgument, match="security zones"):
        ranger.connector.read()
    ranger.admin.zones = []
    ranger.admin.service["tagService"] = "tags"
    deny = {"denyPolicyItems": [item(PUBLIC)]}
    expired = {"name": "old", "resources": {"tag": {"values": ["EXPIRES_ON"]}}, **deny}
    ranger.admin.other_policies["tags"] = [expired]
    try:
        ranger.connector.read()
        ranger.admin.other_policies["tags"] = [
            expired,
            {"name": "pii", "resources": {"tag": {"values": ["PII"]}}, **deny},
        ]
        with pytest.raises(IllegalArgument, match="'pii' of 'tags' restricts"):
            ranger.connector.read()
        ranger.admin.other_policies["tags"] = [
            {"name": "only", "resources": {"tag": {"values": ["PII"]}}, "isDenyAllElse": True}
        ]
        with pytest.raises(IllegalArgument, match="'only' of 'tags' restricts"):
            ranger.connector.read()
    finally:
        del ranger.admin.service["tagService"]


@pytest.fixture
def tagged(ranger: RangerStand) -> Iterator[list[tuple[dict[str, list[str]], dict[str, Any]]]]:
    """The tag store of the service."""
    deny = {"denyPolicyItems": [item(PUBLIC)]}
    ranger.admin.service["tagService"] = "tags"
    ranger.admin.other_policies["tags"] = [
        {"name": "old", "resources": {"tag": {"values": ["EXPIRES_ON"]}}, **deny}
    ]
    yield ranger.admin.tags
    ranger.admin.tags.clear()
    ranger.admin.other_policies.clear()
    del ranger.admin.service["tagService"]


def at(*names: str) -> dict[str, list[str]]:
    return {key: [name] for key, name in zip(("database", "table", "column"), names, strict=False)}


def test_tags_are_read_from_the_store_and_left_to_others(
    ranger: RangerStand, tagged: list[Any], journal: Journal
) -> None:
    tagged += [
        (at("sales"), {"type": "PII"}),
        (at("sales", "orders"), {"type": "PII", "attributes": {"kind": "email"}}),
        (at("sales", "orders", "x"), {"type": "SECRET"}),
        (at("sales", "ord*"), {"type": "WIDE"}),
        (at("h_r"), {"type": "SEASONAL", "validityPeriods": [{"startTime": "2026/01/01 00:00:00"}]}),
    ]
    read = ranger.connector.read()
    assert {fact for fact in read.facts if isinstance(fact, Tag)} == {
        Tag(SCHEMAS[0], "PII"),
        Tag(ORDERS, "PII"),
        Tag(COLUMNS[0], "SECRET"),
    }
    for said in ("'WIDE'", "'SEASONAL'", "of the tag 'PII'"):
        assert any(said in note for note in read.notes)
    options = Options(tags=True)
    source = snapshot(READERS.changed([Tag(ORDERS, "zone", "open")]), "ranger")
    result = ranger.connector.push(source, Mode.OVERWRITE, ranger.names, journal, options)
    assert [loss.what for loss in result.losses if loss.cause is Cause.TAG] == ["zone"]
    assert ranger.connector.read().facts.all >= {Tag(ORDERS, "PII")}


def test_what_is_tagged_as_expiring_is_hidden_from_everyone(
    ranger: RangerStand, tagged: list[Any], journal: Journal
) -> None:
    expires = {"type": "EXPIRES_ON", "attributes": {"expiry_date": "2020/01/01"}}
    tagged += [(at("sales", "orders", "x"), expires), (at("h_r"), expires)]
    rules = set(ranger.connector.read().facts.restrictions)
    assert rules == {Mask(COLUMNS[0], "EXPIRES_ON", "NULL"), RowFilter(TABLES[2], "EXPIRES_ON", "false")}
    result = push(ranger, READERS, journal, Mode.OVERWRITE)
    assert {i.change.before for i in result.items if i.outcome is Outcome.UNSUPPORTED} == rules
    ranger.admin.other_policies["tags"][0]["isEnabled"] = False
    assert not ranger.connector.read().facts.restrictions
    ranger.admin.other_policies["tags"][0]["isEnabled"] = True
    tagged.append((at("sales", "*s"), expires))
    with pytest.raises(IllegalArgument, match="'EXPIRES_ON' is on a pattern"):
        ranger.connector.read()


def test_wrong_credentials_and_a_silent_server_are_told(ranger: RangerStand) -> None:
    for address, password, told in (
        (ranger.server.address, "wrong", "credentials"),
        (f"http://127.0.0.1:{free_port()}", "secret", "does not answer"),
    ):
        client = httpx.Client(base_url=address, auth=("admin", password))
        with client, pytest.raises(ConnectionFailed, match=told):
            RangerConnector(client, SERVICE, "lake", lambda: OBJECTS).read()


def test_what_the_server_refuses_is_told_in_its_own_words(ranger: RangerStand) -> None:
    unknown = Principal(Kind.USER, "nobody")
    changes = [
        Change(None, GrantFact(unknown, ORDERS, "select")),
        Change(None, GrantFact(ANN, ORDERS, "fly")),
    ]
    answers = ranger.connector.apply(changes)
    assert [answer.outcome for answer in answers] == [Outcome.FAILED, Outcome.FAILED]
    assert "does not exist" in answers[0].detail
    assert "3022" in answers[1].detail
    role = Principal(Kind.ROLE, "reader")
    ranger.connector.apply([Change(None, Known(role)), Change(None, GrantFact(role, ORDERS, "select"))])
    answer = ranger.connector.apply([Change(Known(role), None)])[0]
    assert "referenced" in answer.detail


def test_the_stand_in_refuses_what_ranger_admin_refuses(ranger: RangerStand) -> None:
    theirs(ranger, "one", ["sales"], ["orders"], ["*"], policyItems=[item(ANN)])
    where = ranger.server.address + "/service/public/v2/api/policy"
    base = {
        "service": SERVICE,
        "resources": {key: {"values": ["v"]} for key in ("database", "table", "column")},
    }

    def refusal(**body: Any) -> str:
        answer = ranger.client.post(where, json={**base, **body})
        assert answer.status_code == 400, answer.text
        return str(answer.json()["msgDesc"])

    taken = {
        key: {"values": [v]}
        for key, v in zip(("database", "table", "column"), ("sales", "orders", "*"), strict=True)
    }
    assert "3006" in refusal(name="one")
    assert "3010" in refusal(name="two", resources=taken)
    assert "3007" in refusal(name="two", service="elsewhere")
    assert "3011" in refusal(name="two", resources={"planet": {"values": ["mars"]}})
    assert "3012" in refusal(
        name="two", resources={"database": {"values": ["d"]}, "column": {"values": ["c"]}}
    )
    assert "3026" in refusal(name="two", resources={"database": {"values": []}})
    assert "3020" in refusal(name="two", policyItems=[item()])
    assert "3023" in refusal(
        name="two", policyItems=[{**item(ANN), "accesses": [{"type": "select", "isAllowed": False}]}]
    )
    assert "3008" in refusal(name="two", isAuditEnabled=False)
    browser = ranger.client.post(where, json=base, headers={"User-Agent": "Mozilla/5.0"})
    assert "CSRF" in browser.text
