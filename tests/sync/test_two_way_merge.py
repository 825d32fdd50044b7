"""Two-way synchronisation: what one side changed goes to the other; what both changed is reported and left alone."""

from hypothesis import given, settings

from headgate.model.privileges import Condition
from headgate.sync.comparing.merge import Clash, Prefer, merge
from headgate.sync.snapshots.facts import Facts, GrantFact, Kind, Present, Principal
from tests.sync.worlds import TABLES, policies

ANN = Principal(Kind.USER, "ann")
READ = GrantFact(ANN, TABLES[0], "SELECT_TABLE")
DENY = GrantFact(ANN, TABLES[0], "SELECT_TABLE", Condition.DENY)
OPTION = GrantFact(ANN, TABLES[0], "SELECT_TABLE", option=True)
OTHER = GrantFact(ANN, TABLES[1], "SELECT_TABLE")


def said(facts: Facts) -> set[object]:
    return {fact for fact in facts if not isinstance(fact, Present)}


@given(policies(), policies())
@settings(max_examples=50, deadline=None)
def test_what_one_side_changed_goes_to_the_other(base: Facts, changed: Facts) -> None:
    for one, other in ((changed, base), (base, changed)):
        merged = merge(base, one, other)
        assert not merged.clashes
        assert said(merged.source) == said(merged.target) == said(changed)


@given(policies(), policies(), policies())
@settings(max_examples=50, deadline=None)
def test_with_a_preference_both_sides_end_alike(base: Facts, one: Facts, other: Facts) -> None:
    for prefer in (Prefer.SOURCE, Prefer.TARGET):
        merged = merge(base, one, other, prefer)
        assert said(merged.source) == said(merged.target)
    left = merge(base, one, other)
    assert {c.source for c in left.clashes} - {None} <= said(left.source)
    assert {c.target for c in left.clashes} - {None} <= said(left.target)


def test_the_same_item_changed_on_both_sides_is_a_clash() -> None:
    merged = merge(Facts([READ]), Facts([DENY, OTHER]), Facts([OPTION]))
    assert merged.clashes == (Clash(READ, DENY, OPTION),)
    assert said(merged.source) == {DENY, OTHER}
    assert said(merged.target) == {OPTION, OTHER}
    assert said(merge(Facts([READ]), Facts([DENY]), Facts([OPTION]), Prefer.TARGET).source) == {OPTION}


def test_taken_away_here_and_changed_there_is_a_clash() -> None:
    assert merge(Facts([READ]), Facts([]), Facts([OPTION])).clashes == (Clash(READ, None, OPTION),)


def test_the_same_change_on_both_sides_is_none() -> None:
    merged = merge(Facts([READ]), Facts([DENY]), Facts([DENY]))
    assert not merged.clashes
    assert said(merged.source) == {DENY}
