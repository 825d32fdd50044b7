"""Whose token does not tell the groups is judged in every group they may be in: a denial of now hides no wider view."""

from collections.abc import Iterable

import pytest

from headgate.model import changes as c
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity, PrincipalKind
from headgate.steward import Steward
from headgate.steward.findings import Widens
from tests.conftest import Api
from tests.doors.governed import applied, govern

UNKNOWN = Identity("ann", groups_known=False)


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)


def moved_to(steward: Steward, region: str) -> Iterable[c.Change]:
    authority = steward.kernel.authority()
    lake = authority.metalake("lake")
    assert lake is not None
    ann = authority.member(lake.id, PrincipalKind.USER, "ann")
    assert ann is not None
    return [c.PrincipalPut(ann.id, lake.id, PrincipalKind.USER, "ann", True, {"region": region})]


def untagged(steward: Steward) -> Iterable[c.Change]:
    authority = steward.kernel.authority()
    table = authority.find(ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "customers")))
    tag = authority.find(ObjectRef("lake", ObjectType.TAG, ("pii",)))
    assert table is not None
    assert tag is not None
    field = next(label.field for label in authority.labels[table.id] if label.label == tag.id)
    return [c.LabelSet(tag.id, table.id, field, None, False)]


def judged(steward: Steward, changes: Iterable[c.Change], identity: Identity = UNKNOWN) -> bool:
    """Whether the changes are let through."""
    try:
        steward.kernel.ports.guard(steward.kernel.authority(), identity, list(changes))
    except Widens:
        return False
    return True


@pytest.mark.parametrize(
    "said",
    [
        "to: [everyone]\nrows: is_member('privacy') OR region = principal.region",
        "to: [everyone]\nrows: is_member('privacy') AND region = principal.region",
        "to: [everyone]\nwhen: NOT is_member('privacy')\nrows: region = principal.region",
        "to: [group:privacy]\nrows: region = principal.region",
        "to: [everyone]\nexcept: [group:privacy]\nrows: region = principal.region",
    ],
)
def test_no_attribute_is_changed_under_a_policy_that_asks_for_a_group(
    api: Api, steward: Steward, said: str
) -> None:
    applied(api, f"policy: p\non: lake\n{said}\n")
    assert not judged(steward, moved_to(steward, "US"))
    assert judged(steward, moved_to(steward, "EU"))


@pytest.mark.parametrize(
    "said",
    [
        "rows: is_member('privacy') OR c = 'x'",
        "mask:\n  c: \"CASE WHEN is_member('privacy') THEN c ELSE 'x' END\"",
        "when: is_member('privacy')\nhide: [c]",
    ],
    ids=["rows", "mask", "when"],
)
def test_no_tag_is_taken_off(api: Api, steward: Steward, said: str) -> None:
    applied(api, f"policy: p\non: lake\nto: [everyone]\ncolumns:\n  c: has_tag('pii')\n{said}\n")
    assert not judged(steward, untagged(steward))


def test_what_no_group_of_theirs_could_show_is_let_through(api: Api, steward: Steward) -> None:
    applied(
        api, "policy: p\non: lake\nto: [user:bob]\nrows: is_member('privacy') OR region = principal.region\n"
    )
    assert judged(steward, moved_to(steward, "US"))


@pytest.mark.parametrize("others", [2, 4, 9])
def test_nor_among_more_groups_than_all_sets_are_tried_of(api: Api, steward: Steward, others: int) -> None:
    """A policy for two groups and none of several others applies in sets that are neither small nor large."""
    names = [f"g{number}" for number in range(2 + others)]
    for name in names:
        assert api("admin", "POST", "/api/metalakes/lake/groups", {"name": name}).status_code == 200
    when = " AND ".join(
        f"{'NOT ' if number > 1 else ''}is_member('{name}')" for number, name in enumerate(names)
    )
    applied(
        api,
        f"policy: p\non: lake.cat.s\nto: [everyone]\nwhen: {when}\nrows: region = principal.region\n",
    )
    assert not judged(steward, moved_to(steward, "US"))
    assert judged(steward, moved_to(steward, "EU"))
    assert judged(steward, moved_to(steward, "US"), Identity("ann")), "who is known to be in none"
