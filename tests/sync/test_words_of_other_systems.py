"""Rules of translation that no server is needed for: denials in a target's own words, gates that a system never asks for."""

from itertools import chain, combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headgate.model.errors import IllegalArgument
from headgate.model.privileges import Condition
from headgate.sync.connectors.hive.authorizers import LEGACY, SQL_STANDARD, TABLE_ACL
from headgate.sync.connectors.ranger.capabilities import CAPABILITIES as RANGER
from headgate.sync.connectors.ranger.policies import EVERYONE, lines
from headgate.sync.registry import all_capabilities
from headgate.sync.snapshots.facts import Fact, Facts, GrantFact, Mask, Principal, RowFilter
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.canonical import canonical, vocabulary
from headgate.sync.translating.translate import translate
from tests.sync.worlds import CATALOG, COLUMNS, GROUPS, INVENTORY, PEOPLE, SCHEMAS, TABLES, USERS

ANN, BOB, CY = USERS
OPEN = tuple(GrantFact(user, CATALOG, word) for user in USERS for word in ("USE_CATALOG", "USE_SCHEMA"))


def denied(*facts: Fact) -> set[GrantFact]:
    source = Facts([*INVENTORY, *PEOPLE, *OPEN, *facts])
    there = Facts([*INVENTORY, *PEOPLE])
    words = vocabulary(all_capabilities())
    made = translate(source, there, RANGER, PrincipalMap.same_names(), words).facts
    return {grant for grant in made.grants if grant.decision is Condition.DENY}


def test_a_denial_is_said_by_the_words_that_take_nothing_else() -> None:
    deny = GrantFact(ANN, TABLES[0], "MODIFY_TABLE", Condition.DENY)
    assert {g.privilege for g in denied(deny)} == {"select", "update", "alter"}
    assert {g.privilege for g in denied(deny, GrantFact(ANN, TABLES[0], "SELECT_TABLE"))} == {
        "update",
        "alter",
    }


def test_a_denial_on_a_container_spares_what_is_allowed_anywhere_in_it() -> None:
    deny = GrantFact(ANN, SCHEMAS[0], "SELECT_TABLE", Condition.DENY)
    assert {g.privilege for g in denied(deny)} == {"select"}
    assert not denied(deny, GrantFact(ANN, SCHEMAS[0], "SELECT_VIEW"))
    assert {g.privilege for g in denied(deny, GrantFact(ANN, SCHEMAS[1], "SELECT_VIEW"))} == {"select"}


def test_a_denial_on_a_column_is_not_said_of_its_table() -> None:
    assert not denied(GrantFact(ANN, COLUMNS[0], "SELECT_TABLE", Condition.DENY))


def test_only_gates_that_a_system_never_asks_for_are_opened_when_it_is_read() -> None:
    read = Facts([*INVENTORY, GrantFact(ANN, TABLES[0], "SELECT")])
    uses = {
        able.system: {g.privilege for g in canonical(read, able).grants if g.privilege.startswith("USE_")}
        for able in (SQL_STANDARD, LEGACY, TABLE_ACL)
    }
    both = {"USE_CATALOG", "USE_SCHEMA"}
    assert uses == {"hive": both, "hive-legacy": both, "hive-acl": {"USE_CATALOG"}}


@st.composite
def rules(draw: st.DrawFn, people: tuple[Principal, ...]) -> list[RowFilter]:
    some = st.sets(st.sampled_from(people), max_size=2)
    return [
        RowFilter(TABLES[0], f"r{n}", f"x <> {n}", tuple(sorted(draw(some))), tuple(sorted(draw(some))))
        for n in range(draw(st.integers(1, 3)))
    ]


def check_first_match(said: list[RowFilter]) -> None:
    made = lines(said)
    for user in (*USERS, Principal(ANN.kind, "stranger")):
        for groups in chain.from_iterable(combinations(GROUPS, n) for n in range(len(GROUPS) + 1)):
            reached = {user, *groups}
            met = {r.sql for r in said if (not r.to or reached & set(r.to)) and not reached & set(r.exempt)}
            first = next((sql for people, sql in made if {*reached, EVERYONE} & set(people)), None)
            parts = first.split(" AND ") if first else []
            assert {part.strip("()") for part in parts} == met


@given(said=rules(USERS))
def test_filters_for_users_become_a_list_with_the_same_meaning(said: list[RowFilter]) -> None:
    check_first_match(said)


@given(said=rules((*USERS[:2], *GROUPS)))
def test_filters_for_groups_become_a_list_with_the_same_meaning_or_are_refused(said: list[RowFilter]) -> None:
    try:
        lines(said)
    except IllegalArgument:
        assume(False)
    check_first_match(said)


def test_two_masks_for_one_user_are_refused() -> None:
    with pytest.raises(IllegalArgument, match="two masks"):
        lines([Mask(COLUMNS[0], "one", "NULL"), Mask(COLUMNS[0], "two", "0", to=(ANN,))])
