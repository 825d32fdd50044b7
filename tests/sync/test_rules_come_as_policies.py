"""Row filters and masks of others become policies of Headgate: on their table alone, kept apart from what people made."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from headgate.decide.policies.shape import Shape
from headgate.model.objects import ObjectType
from headgate.model.records import ObjectRecord
from headgate.model.schema import Field, Schema, StructType, parse_simple_type
from headgate.store import labels, objects, policies
from headgate.sync.connectors.headgate import policies as headgate_policies
from headgate.sync.connectors.headgate.connector import HeadgateConnector
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome, SyncResult
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.facts import Fact, Facts, GrantFact, Mask, Principal, RowFilter, Securable
from headgate.sync.translating.dialects import OWN
from headgate.sync.translating.losses import Cause
from tests.sync.cells import COLUMNS as TYPES
from tests.sync.cells import SCHEMA, masked, rows_where, through_rules
from tests.sync.stands import HeadgateStand, Stand
from tests.sync.worlds import CATALOG, COLUMNS, INVENTORY, PEOPLE, TABLES, USERS, snapshot

ANN, BOB, CY = USERS
READS: tuple[Fact, ...] = tuple(
    GrantFact(user, object, word)
    for user in USERS
    for object, word in ((CATALOG, "USE_CATALOG"), (CATALOG, "USE_SCHEMA"), (CATALOG, "SELECT_TABLE"))
)
ALL = through_rules(TABLES[0], ())
FOREIGN = {
    "postgres": '("x" < 10)',
    "hive": "`x` < 10",
    "bigquery": "X < 10",
    "redshift": "x < 10",
    OWN: "x < 10",
}


@pytest.fixture
def here(stand_of: Callable[[str], Stand]) -> HeadgateStand:
    stand = stand_of("headgate")
    assert isinstance(stand, HeadgateStand)
    return stand


def push(here: HeadgateStand, journal: Journal, *rules: Fact, mode: Mode = Mode.MERGE) -> SyncResult:
    facts = Facts([*INVENTORY, *PEOPLE, *READS, *rules])
    return here.connector.push(snapshot(facts), mode, here.names, journal)


def held(here: HeadgateStand) -> set[RowFilter | Mask]:
    return set(here.connector.read().facts.restrictions)


def policies_of(here: HeadgateStand) -> list[ObjectRecord]:
    with here.store.read() as read:
        root = objects.find(read, 0, ObjectType.METALAKE, here.metalake)
        assert root is not None
        ids = [id for id, type in objects.subtree(read, root.id) if type is ObjectType.POLICY]
        return objects.many(read, ids)


def people_made(here: HeadgateStand, name: str, on: Securable, **content: Any) -> int:
    """A policy that somebody made by hand."""
    body = {"policyType": policies.OWN, "enabled": True, "content": {"to": ["everyone"], **content}}
    with here.store.write("boss", "policy") as tx:
        root = objects.find(tx, 0, ObjectType.METALAKE, here.metalake)
        assert root is not None
        made = objects.create(tx, root.id, root.id, ObjectType.POLICY, name, body=body)
        labels.put(tx, made, table_id(here, on), 0, None)
        policies.say(tx, objects.present(tx, made), None, "create")
        return made


def table_id(here: HeadgateStand, table: Securable) -> int:
    _, _, node = here.asked_as(ANN, table)
    return node.id


def changed(here: HeadgateStand, id: int, **parts: Any) -> None:
    """What the steward does when somebody changes a policy: whatever is not said of it any more goes."""
    with here.store.write("boss", "policy") as tx:
        before = objects.present(tx, id)
        objects.alter(tx, before, body={**before.body, **parts})
        policies.say(tx, objects.present(tx, id), None, "change")


@pytest.mark.parametrize("dialect", FOREIGN)
def test_a_filter_of_any_dialect_is_enforced_kept_and_taken_back(
    here: HeadgateStand, journal: Journal, dialect: str
) -> None:
    types = TYPES if dialect == OWN else ()
    rule = RowFilter(TABLES[0], "own rows", FOREIGN[dialect], (ANN,), (), dialect, types)
    result = push(here, journal, rule)
    assert result.complete
    assert here.cells(ANN, TABLES[0]) == [row for row in ALL if row["x"] is not None and row["x"] < 10]
    assert here.cells(BOB, TABLES[0]) == here.cells(ANN, TABLES[1]) == ALL
    assert held(here) == {RowFilter(TABLES[0], "own rows", "x < 10", (ANN,), (), OWN, (("x", "int"),))}
    (policy,) = policies_of(here)
    assert policy.body["content"] == {"to": ["user:ann"], "rows": "x < 10"}
    assert "own rows" in (policy.comment or "")
    assert not push(here, journal, rule).count(Outcome.APPLIED)
    assert undo(here.connector, journal).ok
    assert undo(here.connector, journal).ok
    assert not held(here)
    assert not policies_of(here)


@pytest.mark.parametrize("sql", ["NULL", "0", "CASE WHEN `y` > 1 THEN 1 ELSE 0 END"])
def test_a_mask_is_said_exactly_or_the_table_is_not_granted(
    here: HeadgateStand, journal: Journal, sql: str
) -> None:
    rule = Mask(COLUMNS[1], "mask", sql, (), (BOB,), "hive")
    result = push(here, journal, rule)
    if sql.startswith("CASE"):
        assert {loss.principal for loss in result.losses if loss.cause is Cause.MASK} == {
            "user:ann",
            "user:cy",
        }
        assert not here.may(ANN, TABLES[0], "table.read")
        assert not policies_of(here)
    else:
        shown = None if sql == "NULL" else 0
        assert here.cells(ANN, TABLES[0]) == [{**row, "y": shown} for row in ALL]
        assert held(here) == {Mask(COLUMNS[1], "mask", sql, (), (BOB,), OWN, (("y", "int"),))}
    assert here.cells(BOB, TABLES[0]) == here.cells(ANN, TABLES[1]) == ALL


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("hive", "x < 10 OR length(y) > 1"),
        ("hive", "nobody = 1"),
        ("hive", "x = '1'"),
        ("postgres", "current_user = 'ann'"),
        ("", "x < 10"),
        (OWN, "x < 10"),  # without the types of its columns
        (OWN, "principal.region = 'EU'"),
    ],
)
def test_what_cannot_be_read_exactly_is_withheld_and_named(
    here: HeadgateStand, journal: Journal, dialect: str, sql: str
) -> None:
    facts = Facts([*INVENTORY, *PEOPLE, *READS]).changed(
        [RowFilter(TABLES[0], "odd ones", sql, (ANN,), (), dialect or "nobody's")]
    )
    result = here.connector.push(snapshot(facts), Mode.MERGE, here.names, journal)
    lost = [loss for loss in result.losses if loss.cause is Cause.FILTER]
    assert [(loss.principal, loss.what) for loss in lost] == [("user:ann", "odd ones")]
    assert not here.may(ANN, TABLES[0], "table.read")
    assert here.cells(ANN, TABLES[1]) == here.cells(BOB, TABLES[0]) == ALL
    assert not policies_of(here)


@pytest.mark.parametrize("path", [("nobody",), (), ("x", "inside")])
def test_a_mask_of_a_column_that_is_not_there_is_withheld(
    here: HeadgateStand, journal: Journal, path: tuple[str, ...]
) -> None:
    column = Securable(ObjectType.COLUMN, (*TABLES[0].path, *path))
    for rule in (Mask(column, "m", "NULL", (ANN,)), Mask(column, "m", "0", (ANN,), (), "hive")):
        result = push(here, journal, rule)
        assert [loss.what for loss in result.losses if loss.cause is Cause.MASK] == ["m"]
        assert not here.may(ANN, TABLES[0], "table.read")
        assert not policies_of(here)


def test_the_same_words_over_columns_of_other_types_are_not_the_same(
    here: HeadgateStand, journal: Journal
) -> None:
    dates = RowFilter(TABLES[0], "r", "x = '2024-01-01'", (ANN,), (), OWN, (("x", "string"),))
    push(here, journal, dates)
    assert not here.may(ANN, TABLES[0], "table.read")
    texts = RowFilter(TABLES[0], "r", "x < y", (ANN,), (), OWN, (("x", "string"), ("y", "string")))
    push(here, journal, texts)
    assert not here.may(ANN, TABLES[0], "table.read")
    longs = RowFilter(TABLES[0], "r", "x = 5", (ANN,), (), OWN, (("x", "long"),))
    assert push(here, journal, longs).complete
    assert [row["x"] for row in here.cells(ANN, TABLES[0])] == [5]


def test_rules_of_one_name_on_several_tables_are_several_policies(
    here: HeadgateStand, journal: Journal
) -> None:
    rules = [rows_where(table, "own", "x < 10") for table in TABLES] + [
        masked(COLUMNS[0], "own", "0"),
        masked(COLUMNS[1], "own", "NULL"),
    ]
    assert push(here, journal, *rules).complete
    assert len(policies_of(here)) == len(rules)
    assert {(type(rule), rule.object, rule.name) for rule in held(here)} == {
        (type(rule), rule.object, "own") for rule in rules
    }


def test_a_changed_rule_changes_its_policy_and_one_that_is_gone_takes_it_along(
    here: HeadgateStand, journal: Journal
) -> None:
    push(here, journal, rows_where(TABLES[0], "own", "x < 10"))
    (first,) = policies_of(here)
    assert push(here, journal, rows_where(TABLES[0], "own", "x < 5", (ANN,))).complete
    (second,) = policies_of(here)
    assert second.id == first.id
    assert [row["x"] for row in here.cells(ANN, TABLES[0])] == [1]
    assert here.cells(BOB, TABLES[0]) == ALL
    with here.store.read() as read:
        assert [version.action for version in policies.history(read, first.id)] == ["create", "change"]
    assert push(here, journal).complete
    assert not policies_of(here)
    assert here.cells(ANN, TABLES[0]) == ALL
    assert undo(here.connector, journal).ok
    assert [row["x"] for row in here.cells(ANN, TABLES[0])] == [1]


@pytest.mark.parametrize("mode", Mode)
def test_policies_of_people_stay_whatever_is_pushed(
    here: HeadgateStand, journal: Journal, mode: Mode
) -> None:
    made = people_made(here, "theirs", TABLES[0], rows="y = 1")
    before = policies_of(here)
    assert push(here, journal, rows_where(TABLES[0], "own", "x < 10"), mode=mode).complete
    assert [row["x"] for row in here.cells(ANN, TABLES[0])] == [1]
    # A rule under the name of their policy does not replace it; and what hid the rows until now goes on to.
    result = push(here, journal, rows_where(TABLES[0], "theirs", "x > 90"), mode=mode)
    assert result.count(Outcome.WIDENS) == 2
    assert [row["x"] for row in here.cells(ANN, TABLES[0])] == [1]
    push(here, journal, mode=mode)
    assert policies_of(here) == before
    assert before[0].id == made
    theirs = next(iter(held(here)))
    assert here.connector.apply([Change(theirs, None)])[0].outcome is Outcome.UNSUPPORTED
    assert policies_of(here) == before


def test_no_mask_is_put_beside_another_of_peoples(here: HeadgateStand, journal: Journal) -> None:
    people_made(here, "theirs", TABLES[0], mask={"y": "7"}, priority=5)
    same = masked(COLUMNS[1], "same", "7")
    assert push(here, journal, same).complete
    assert {row["y"] for row in here.cells(ANN, TABLES[0])} == {7}
    result = push(here, journal, masked(COLUMNS[1], "other", "NULL", (ANN,)))
    assert [loss.what for loss in result.losses if loss.cause is Cause.MASK] == ["other"]
    assert not here.may(ANN, TABLES[0], "table.read")
    assert {row["y"] for row in here.cells(BOB, TABLES[0])} == {7}


def test_a_policy_that_people_changed_is_theirs(here: HeadgateStand, journal: Journal) -> None:
    rule = rows_where(TABLES[0], "own", "x < 10")
    push(here, journal, rule)
    (policy,) = policies_of(here)
    content = {"to": ["everyone"], "rows": "x < 5"}
    changed(here, policy.id, content=content)
    assert {found.sql for found in held(here)} == {"x < 5"}
    # As it still bears the mark, a push may say again what it said.
    assert push(here, journal, rule).complete
    assert {found.sql for found in held(here)} == {"x < 10"}
    with here.store.write("boss", "policy") as tx:
        before = objects.present(tx, policy.id)
        body = {"policyType": policies.OWN, "enabled": True, "content": content}
        objects.alter(tx, before, body=body)
        policies.say(tx, objects.present(tx, policy.id), None, "change")
    result = push(here, journal, rule)
    assert result.count(Outcome.FAILED)
    assert policies_of(here)[0].body == body


def test_one_that_people_switched_off_or_moved_is_put_back(here: HeadgateStand, journal: Journal) -> None:
    rule = rows_where(TABLES[0], "own", "x < 10")
    push(here, journal, rule)
    (policy,) = policies_of(here)
    changed(here, policy.id, enabled=False)
    assert not held(here)
    assert here.cells(ANN, TABLES[0]) == ALL
    assert push(here, journal, rule).complete
    assert here.cells(ANN, TABLES[0]) != ALL
    with here.store.write("boss", "policy") as tx:
        labels.take(tx, policy.id, table_id(here, TABLES[0]), 0)
        labels.put(tx, policy.id, table_id(here, TABLES[1]), 0, None)
    assert {found.object for found in held(here)} == {TABLES[1]}
    assert push(here, journal, rule).complete
    assert here.cells(ANN, TABLES[0]) != ALL
    assert here.cells(ANN, TABLES[1]) == ALL


def with_columns(here: HeadgateStand, *fields: Field) -> HeadgateConnector:
    shape = Shape.of(Schema(fields), [SCHEMA])
    return HeadgateConnector(here.store, here.metalake, here.connector.name, shapes=lambda _a, _t: shape)


def test_if_the_columns_change_under_a_push_nothing_is_granted(
    here: HeadgateStand, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = Facts([*INVENTORY, *PEOPLE, *READS, rows_where(TABLES[0], "own", "x < 10")])
    asked = here.connector.plan(snapshot(facts), Mode.MERGE, here.names, journal)
    assert asked.changes
    connector = here.connector
    assert isinstance(connector, HeadgateConnector)
    whole = connector.apply

    def apply(changes: Iterable[Change]) -> Any:
        assert connector.lake is not None
        gone = Shape.of(Schema((SCHEMA.fields[1],)), [SCHEMA])
        monkeypatch.setattr(connector.lake, "shapes", lambda _a, _t: gone)
        return whole(list(changes))

    monkeypatch.setattr(connector, "apply", apply)
    result = connector.push(snapshot(facts), Mode.MERGE, here.names, journal)
    assert not result.ok
    assert not any(here.may(user, table, "table.read") for user in USERS for table in TABLES)


def test_a_rule_whose_column_is_gone_hides_everything_and_is_said_again_when_it_can_be(
    here: HeadgateStand, journal: Journal
) -> None:
    push(here, journal, rows_where(TABLES[0], "own", "x < 10"))
    later = with_columns(here, SCHEMA.fields[1])
    assert {rule.sql for rule in later.read().facts.restrictions} == {"false"}
    assert here.connector.read().facts.restrictions


def test_a_name_that_another_column_had_before_is_not_taken_for_one(
    here: HeadgateStand, journal: Journal
) -> None:
    moved = with_columns(
        here, Field(1, "was_x", SCHEMA.fields[0].type), SCHEMA.fields[1], Field(3, "x", SCHEMA.fields[0].type)
    )
    facts = Facts(
        [
            *INVENTORY,
            *PEOPLE,
            *READS,
            rows_where(TABLES[0], "r", "x < 10", (ANN,)),
            masked(COLUMNS[3], "m", "0", (ANN,)),
        ]
    )
    result = moved.push(snapshot(facts), Mode.MERGE, here.names, journal)
    assert {(loss.cause, loss.what) for loss in result.losses if loss.principal == "user:ann"} >= {
        (Cause.FILTER, "r")
    }
    assert not here.may(ANN, TABLES[0], "table.read")
    assert [policy.body["content"]["mask"] for policy in policies_of(here)] == [{"y": "0"}]


def test_a_column_that_cannot_be_null_is_hidden(here: HeadgateStand, journal: Journal) -> None:
    required = msgspec.structs.replace(SCHEMA.fields[1], required=True)
    connector = with_columns(here, SCHEMA.fields[0], required)
    facts = Facts([*INVENTORY, *PEOPLE, *READS, masked(COLUMNS[1], "m", "NULL")])
    assert connector.push(snapshot(facts), Mode.MERGE, here.names, journal).complete
    assert policies_of(here)[0].body["content"] == {"to": ["everyone"], "hide": ["y"]}
    assert here.cells(ANN, TABLES[0]) == [{"x": row["x"]} for row in ALL]
    assert {rule.sql for rule in connector.read().facts.restrictions} == {"NULL"}
    parts = StructType((Field(9, "z", SCHEMA.fields[0].type),))
    struct = with_columns(here, SCHEMA.fields[0], Field(2, "y", parts))
    changed = facts.changed([masked(COLUMNS[3], "m", "NULL")])
    assert struct.push(snapshot(changed), Mode.MERGE, here.names, journal).complete
    assert [policy.body["content"].get("hide") for policy in policies_of(here)] == [["y"], ["y"]]


def test_names_of_any_sort_are_kept(here: HeadgateStand, journal: Journal) -> None:
    odd = Schema(
        (
            *SCHEMA.fields,
            Field(3, 'a "b".c', parse_simple_type("int")),
            Field(4, "case", SCHEMA.fields[0].type),
        )
    )
    connector = with_columns(here, *odd.fields)
    columns = (Securable(ObjectType.COLUMN, (*TABLES[0].path, name)) for name in ('a "b".c', "case"))
    rules: list[Fact] = [Mask(column, "böse: #1 {x}", "NULL", (), (), "hive") for column in columns]
    rules.append(rows_where(TABLES[0], "x" * 300, "x < 10", (), (Principal(ANN.kind, "ann"),)))
    facts = Facts([*INVENTORY, *PEOPLE, *READS, *rules])
    assert connector.push(snapshot(facts), Mode.MERGE, here.names, journal).complete
    assert {rule.name for rule in connector.read().facts.restrictions} == {"böse: #1 {x}", "x" * 300}
    assert len(policies_of(here)) == 3


def test_the_tests_would_notice_a_policy_on_the_whole_schema(
    here: HeadgateStand, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = TABLES[0].parent()
    assert above is not None
    real = headgate_policies.labels.put
    schema = here.asked_as(ANN, above)[2].id
    monkeypatch.setattr(
        headgate_policies.labels,
        "put",
        lambda tx, label, _on, field, value: real(tx, label, schema, field, value),
    )
    result = push(here, journal, rows_where(TABLES[0], "own", "x < 10"))
    assert not result.ok
