"""The rules of translation one by one, on a target that can say little: exact, narrower and reported, never wider."""

import pytest

from headgate.model.privileges import Condition
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.access.surroundings import Surroundings
from headgate.sync.connectors.headgate import capabilities as hg
from headgate.sync.connectors.mariadb.capabilities import MARIADB
from headgate.sync.connectors.postgresql import capabilities as postgresql
from headgate.sync.connectors.unity import capabilities as unity
from headgate.sync.registry import all_capabilities
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    Mask,
    MemberFact,
    OwnerFact,
    Present,
    Principal,
    RowFilter,
)
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.canonical import canonical, direct_role, vocabulary
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.options import Options
from headgate.sync.translating.translate import Translation, translate
from tests.sync.worlds import CATALOG, COLUMNS, INVENTORY, PEOPLE, SCHEMAS, TABLES, USERS, VIEWS

ANN, BOB = Principal(Kind.USER, "ann"), Principal(Kind.USER, "bob")
TEAM = Principal(Kind.GROUP, "team")
READER, BLOCKED = Principal(Kind.ROLE, "reader"), Principal(Kind.ROLE, "blocked")
VOCABULARY = vocabulary(all_capabilities())
NAMES = PrincipalMap.same_names()
TARGET = Facts([*INVENTORY, *PEOPLE, *(Present(column) for column in COLUMNS)])


def uses(holder: Principal) -> list[Fact]:
    return [GrantFact(holder, CATALOG, "USE_CATALOG"), GrantFact(holder, CATALOG, "USE_SCHEMA")]


def to(
    able: Capabilities, *facts: Fact, options: Options = Options(), names: PrincipalMap = NAMES
) -> Translation:
    source = Facts([*INVENTORY, *PEOPLE, *facts])
    return translate(source, TARGET, able, names, VOCABULARY, options)


def causes(translation: Translation) -> set[Cause]:
    return {loss.cause for loss in translation.losses}


def granted(translation: Translation) -> set[tuple[str, str, str]]:
    return {(g.holder.name, str(g.object), g.privilege) for g in translation.facts.grants}


def test_a_wider_privilege_is_given_only_to_who_has_all_of_it() -> None:
    some = to(postgresql.CAPABILITIES, *uses(ANN), GrantFact(ANN, SCHEMAS[0], "CREATE_TABLE"))
    assert ("ann", "schema:lake.sales", "CREATE") not in granted(some)
    assert Cause.NARROWER in causes(some)
    words = ("CREATE_TABLE", "CREATE_VIEW", "REGISTER_FUNCTION")
    full = to(postgresql.CAPABILITIES, *uses(ANN), *(GrantFact(ANN, SCHEMAS[0], word) for word in words))
    assert ("ann", "schema:lake.sales", "CREATE") in granted(full)


def test_a_narrower_privilege_is_given_and_the_rest_reported() -> None:
    made = to(postgresql.CAPABILITIES, *uses(ANN), GrantFact(ANN, TABLES[0], "MODIFY_TABLE"))
    words = {word for _, object, word in granted(made) if object == "table:lake.sales.orders"}
    assert words == {"SELECT", "INSERT", "UPDATE", "DELETE"}
    assert (TABLES[0], "table.alter") in made.lost[ANN]


def test_a_grant_on_a_container_is_written_for_what_exists_where_it_would_reach_too_far() -> None:
    tables_only = to(MARIADB, *uses(ANN), GrantFact(ANN, SCHEMAS[0], "SELECT_TABLE"))
    assert ("ann", "schema:lake.sales", "SELECT") not in granted(tables_only)
    assert ("ann", "table:lake.sales.orders", "SELECT") in granted(tables_only)
    assert Cause.FUTURE in causes(tables_only)
    both = to(MARIADB, *uses(ANN), *(GrantFact(ANN, SCHEMAS[0], w) for w in ("SELECT_TABLE", "SELECT_VIEW")))
    assert granted(both) == {("ann", "schema:lake.sales", "SELECT")}
    assert Cause.FUTURE not in causes(both)


def test_what_sleeps_behind_a_gate_does_not_wake_where_there_is_none() -> None:
    made = to(MARIADB, GrantFact(ANN, TABLES[0], "SELECT_TABLE"), GrantFact(ANN, CATALOG, "USE_CATALOG"))
    assert granted(made) == set()
    assert Cause.DORMANT in causes(made)


def test_a_denial_becomes_the_allowed_remainder() -> None:
    made = to(
        postgresql.CAPABILITIES,
        *uses(READER),
        GrantFact(READER, CATALOG, "SELECT_TABLE"),
        GrantFact(BLOCKED, TABLES[1], "SELECT_TABLE", Condition.DENY),
        MemberFact(READER, ANN),
        MemberFact(READER, BOB),
        MemberFact(BLOCKED, BOB),
    )
    assert MemberFact(READER, ANN) in made.facts
    assert MemberFact(READER, BOB) not in made.facts
    of_bob = {object for holder, object, word in granted(made) if holder == "bob" and word == "SELECT"}
    assert of_bob == {"table:lake.sales.orders", "table:lake.h_r.staff"}
    assert Cause.DENY in causes(made)


def test_a_denial_through_somebody_unknown_still_binds() -> None:
    names = PrincipalMap({"user:*": "*"})
    made = to(
        hg.CAPABILITIES,
        *uses(ANN),
        GrantFact(ANN, TABLES[0], "SELECT_TABLE"),
        GrantFact(BLOCKED, TABLES[0], "SELECT_TABLE", Condition.DENY),
        MemberFact(BLOCKED, TEAM),
        MemberFact(TEAM, ANN),
        names=names,
    )
    assert Cause.UNMAPPED in causes(made)
    assert GrantFact(direct_role(ANN), TABLES[0], "SELECT_TABLE", Condition.DENY) in made.facts


def test_groups_and_roles_are_written_for_their_members_where_there_are_none() -> None:
    made = to(
        MARIADB,
        *uses(READER),
        GrantFact(READER, TABLES[0], "SELECT_TABLE"),
        MemberFact(READER, TEAM),
        MemberFact(TEAM, ANN),
    )
    assert granted(made) == {("ann", "table:lake.sales.orders", "SELECT")}
    assert {Cause.GROUP, Cause.ROLE_UNWRITTEN} <= causes(made)


LACKING = {Cause.ROLE: "roles", Cause.GROUP: "groups", Cause.DENY: "deny"}


@pytest.mark.parametrize("able", all_capabilities(), ids=lambda able: able.system)
def test_no_system_is_said_to_lack_what_it_has(able: Capabilities) -> None:
    """Roles and groups may be left out for many reasons; that there are none is said only where there are none."""
    facts = [
        *(fact for holder in (READER, BLOCKED, TEAM) for fact in uses(holder)),
        Known(READER),
        Known(BLOCKED),
        GrantFact(READER, TABLES[0], "SELECT_TABLE"),
        GrantFact(BLOCKED, TABLES[0], "SELECT_TABLE", Condition.DENY),
        # A word that no other system has: then the denial cannot be said as it is.
        GrantFact(READER, TABLES[0], "MODIFY_TABLE"),
        MemberFact(READER, TEAM),
        MemberFact(BLOCKED, TEAM),
        MemberFact(TEAM, ANN),
        RowFilter(TABLES[0], "none", "whatever this is", (TEAM,)),
    ]
    source = Facts([*INVENTORY, *PEOPLE, *facts])
    for around in (Surroundings(), Surroundings(above=frozenset({READER}), closed=frozenset({BLOCKED}))):
        made = translate(source, TARGET, able, NAMES, VOCABULARY, around=around)
        said = {LACKING[cause] for cause in causes(made) if cause in LACKING}
        assert not {word for word in said if getattr(able, word)}, sorted(map(str, made.losses))
        assert not (able.other_roles and "roles" in said)


def test_a_role_that_a_target_with_roles_does_not_get_is_not_put_down_to_a_lack_of_roles() -> None:
    facts = [
        *uses(READER),
        Known(READER),
        GrantFact(READER, TABLES[0], "SELECT_TABLE"),
        MemberFact(READER, ANN),
    ]
    source = Facts([*INVENTORY, *PEOPLE, *facts])
    around = Surroundings(above=frozenset({READER}))
    made = translate(source, TARGET, postgresql.CAPABILITIES, NAMES, VOCABULARY, around=around)
    assert {loss.cause for loss in made.losses if loss.principal == "role:reader"} == {Cause.ABOVE}
    assert "no roles" not in "; ".join(map(str, made.losses))


def test_a_column_stays_a_column() -> None:
    column = GrantFact(ANN, COLUMNS[0], "SELECT_TABLE")
    assert ("ann", str(COLUMNS[0]), "SELECT") in granted(to(postgresql.CAPABILITIES, *uses(ANN), column))
    dropped = to(hg.CAPABILITIES, *uses(ANN), column)
    assert not any("SELECT" in word for _, _, word in granted(dropped))
    assert Cause.MISSING_OBJECT in causes(dropped) or Cause.COLUMN in causes(dropped)


def test_what_may_be_read_only_in_part_is_not_granted_where_that_cannot_be_said() -> None:
    rule = RowFilter(TABLES[0], "own", "x = 1")
    made = to(MARIADB, *uses(ANN), GrantFact(ANN, SCHEMAS[0], "SELECT_TABLE"), rule)
    assert granted(made) == {("ann", "table:lake.sales.refunds", "SELECT")}
    assert {(loss.principal, loss.what) for loss in made.losses if loss.cause is Cause.FILTER} == {
        (str(user), "own") for user in USERS
    }


def test_of_a_table_with_a_column_that_cannot_be_masked_the_other_columns_are_granted() -> None:
    rule = Mask(COLUMNS[0], "hide", "NULL")
    reads = (*uses(ANN), GrantFact(ANN, SCHEMAS[0], "SELECT_TABLE"))
    made = to(MARIADB, *reads, rule)
    assert granted(made) == {
        ("ann", "table:lake.sales.refunds", "SELECT"),
        ("ann", "column:lake.sales.orders.y", "SELECT"),
    }
    assert Cause.MASKED_COLUMN in causes(made)
    whole = to(unity.CAPABILITIES, *reads, rule)
    assert {place for _, place, word in granted(whole) if word == "SELECT"} == {"table:lake.sales.refunds"}
    assert Cause.MASK in causes(whole)


def test_a_role_does_not_carry_past_a_restriction_that_cannot_be_said() -> None:
    rule = RowFilter(TABLES[0], "own", "x = 1", (ANN,))
    made = to(
        postgresql.CAPABILITIES,
        *uses(READER),
        GrantFact(READER, TABLES[0], "SELECT_TABLE"),
        MemberFact(READER, ANN),
        MemberFact(READER, BOB),
        rule,
    )
    assert MemberFact(READER, BOB) in made.facts
    assert MemberFact(READER, ANN) not in made.facts
    assert not any(holder == "ann" and word == "SELECT" for holder, _, word in granted(made))


def test_a_filter_that_can_be_said_goes_with_the_grant() -> None:
    rule = RowFilter(TABLES[0], "own", "x = 1", (ANN,), dialect="postgres")
    source = Facts([*INVENTORY, *PEOPLE, *uses(ANN), GrantFact(ANN, TABLES[0], "SELECT_TABLE"), rule])
    made = translate(source, TARGET, postgresql.CAPABILITIES, NAMES, VOCABULARY)
    assert RowFilter(TABLES[0], "own", "x = 1", (ANN,)) in made.facts
    assert ("ann", "table:lake.sales.orders", "SELECT") in granted(made)


def test_ownership_is_never_imitated_by_grants() -> None:
    made = to(MARIADB, *uses(ANN), OwnerFact(TABLES[0], ANN), options=Options(owners=True))
    assert granted(made) == set()
    assert Cause.OWNER in causes(made)
    assert (
        OwnerFact(TABLES[0], ANN)
        in to(
            postgresql.CAPABILITIES, *uses(ANN), OwnerFact(TABLES[0], ANN), options=Options(owners=True)
        ).facts
    )
    assert (
        OwnerFact(TABLES[0], ANN)
        not in to(postgresql.CAPABILITIES, *uses(ANN), OwnerFact(TABLES[0], ANN)).facts
    )


def test_the_owner_of_a_container_is_none_where_canonical_ones_may_do_more() -> None:
    read = canonical(Facts([OwnerFact(SCHEMAS[0], ANN), OwnerFact(TABLES[0], ANN)]), postgresql.CAPABILITIES)
    assert OwnerFact(TABLES[0], ANN) in read
    assert OwnerFact(SCHEMAS[0], ANN) not in read
    assert GrantFact(ANN, SCHEMAS[0], "postgresql:OWNER") in read


def test_words_of_other_systems_are_understood_by_what_they_give() -> None:
    made = to(MARIADB, *uses(ANN), GrantFact(ANN, TABLES[0], "postgresql:INSERT"))
    assert ("ann", "table:lake.sales.orders", "INSERT") in granted(made)
    unknown = to(MARIADB, *uses(ANN), GrantFact(ANN, TABLES[0], "ranger:WHATEVER"))
    assert granted(unknown) == set()
    assert Cause.OPAQUE in causes(unknown)


def test_part_of_a_privilege_is_never_read_as_the_whole() -> None:
    facts = Facts([GrantFact(ANN, TABLES[0], word) for word in ("SELECT", "INSERT", "UPDATE", "DELETE")])
    read = {grant.privilege for grant in canonical(facts, postgresql.CAPABILITIES).grants}
    assert read == {"SELECT_TABLE", "postgresql:INSERT", "postgresql:UPDATE", "postgresql:DELETE"}
    schema = Facts([GrantFact(ANN, SCHEMAS[0], "SELECT")])
    read = {g.privilege for g in canonical(schema, MARIADB).grants if g.object == SCHEMAS[0]}
    assert read == {"SELECT_TABLE", "SELECT_VIEW", "USE_SCHEMA"}


def test_everyone_is_those_who_are_known_unless_the_map_says_more() -> None:
    public = Principal(Kind.GROUP, "PUBLIC")
    facts = (Known(public, everyone=True), *uses(public), GrantFact(public, VIEWS[0], "SELECT_VIEW"))
    made = to(MARIADB, *facts)
    assert {holder for holder, _, _ in granted(made)} == {"ann", "bob", "cy"}
    assert Cause.EVERYONE in causes(made)


def test_a_denied_privilege_does_not_come_back_under_another_name() -> None:
    made = to(
        hg.CAPABILITIES,
        *uses(READER),
        GrantFact(READER, TABLES[0], "MODIFY_TABLE"),
        GrantFact(READER, CATALOG, "MODIFY_TABLE", Condition.DENY),
        MemberFact(READER, ANN),
    )
    assert ("reader", "table:lake.sales.orders", "SELECT_TABLE") not in granted(made)
    assert GrantFact(READER, TABLES[0], "MODIFY_TABLE") in made.facts


def test_who_is_restricted_on_a_table_is_not_let_read_the_views_of_its_catalog() -> None:
    rule = RowFilter(TABLES[0], "own", "x = 1", (ANN,), dialect="postgres")
    reads = [GrantFact(who, VIEWS[0], "SELECT_VIEW") for who in (ANN, BOB)]
    made = to(postgresql.CAPABILITIES, *uses(ANN), *uses(BOB), *reads, rule)
    assert {holder for holder, place, _ in granted(made) if place == str(VIEWS[0])} == {"bob"}
    assert [loss.principal for loss in made.losses if loss.cause is Cause.VIEW] == [str(ANN)]


def test_a_denial_meets_no_other_word_in_the_target_than_in_the_source() -> None:
    made = to(
        hg.CAPABILITIES,
        *uses(READER),
        GrantFact(READER, SCHEMAS[0], "postgresql:CREATE"),
        GrantFact(READER, SCHEMAS[0], "REGISTER_FUNCTION", Condition.DENY),
        MemberFact(READER, ANN),
    )
    of_ann = {word for _, object, word in granted(made) if object == str(SCHEMAS[0])}
    assert {"CREATE_TABLE", "CREATE_VIEW", "REGISTER_FUNCTION"} <= of_ann
    assert not [grant for grant in made.facts.grants if grant.decision is Condition.DENY]
