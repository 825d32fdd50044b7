"""Names: what a dotted name means, and what a name may not hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.errors import IllegalArgument
from headgate.model.objects import LEAVES, ObjectRef, ObjectType, checked_container_name, checked_name

names = st.from_regex(r"[a-z0-9_][a-z0-9_.@/=-]{0,12}", fullmatch=True).filter(
    lambda name: ".." not in name and "//" not in name
)


@given(st.sampled_from(sorted(LEAVES | {ObjectType.SCHEMA, ObjectType.COLUMN, ObjectType.ROLE})), st.data())
def test_a_full_name_is_read_back_as_the_same_object(type: ObjectType, data: st.DataObject) -> None:
    depth = {ObjectType.ROLE: 1, ObjectType.SCHEMA: 2, ObjectType.COLUMN: 4}.get(type, 3)
    ref = ObjectRef("lake", type, tuple(data.draw(names) for _ in range(depth)))
    assert ObjectRef.parse("lake", type, ref.full_name) == ref


@pytest.mark.parametrize("bad", ["", "a", "a.b", ".a.b", "a..b", "a.b.", "`a.b.c", "``.a.b"])
def test_a_name_with_a_part_missing_is_refused(bad: str) -> None:
    with pytest.raises(IllegalArgument):
        ObjectRef.parse("lake", ObjectType.TABLE, bad)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "*",
        "a*",
        "a?b",
        "${x}",
        "a%2Fb",
        "..",
        "a/../b",
        "a//b",
        "a'b",
        'a"b',
        "a`b",
        "a\\b",
        "a\nb",
        "\x00",
        " a",
        "a ",
        "x" * 129,
    ],
)
def test_a_name_can_never_widen_a_pattern_or_leave_its_folder(bad: str) -> None:
    with pytest.raises(IllegalArgument):
        checked_name(bad, "table")


def test_what_holds_others_has_no_dots() -> None:
    assert checked_container_name("prod", "catalog") == "prod"
    for bad in ("a.b", "a/b"):
        with pytest.raises(IllegalArgument):
            checked_container_name(bad, "catalog")
