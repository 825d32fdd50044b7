"""Whose token does not tell the groups gets no more than with any set of groups that they may be in."""

import itertools
from collections.abc import Iterator
from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.decide import Authority, Op, allowed, explain, visible
from headgate.decide.explain import Explanation
from headgate.decide.policies import lens as lenses
from headgate.decide.policies.lens import Lens, LensVerdict, lens
from headgate.decide.policies.reasons import explain_lens
from headgate.language.evaluate import by_field_id, keeps
from headgate.model import changes as c
from headgate.model.objects import ObjectType
from headgate.model.principals import Identity, PrincipalKind
from tests.decide import lens_worlds
from tests.decide.naive import Who
from tests.decide.worlds import GROUPS, USERS, asked_of, compiled, identity, random_world

quick = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
worlds = st.randoms(use_true_random=False)


def sets_of(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(names, n) for n in range(len(names) + 1))


@quick
@given(worlds)
def test_what_is_allowed_is_allowed_with_every_set_of_groups(r: Random) -> None:
    world = random_world(r)
    made = compiled(world)
    authority = made.authority
    user = r.choice(USERS)
    for lake in sorted({key[0] for key in world.parents}):
        top = made.ids[lake, "metalake"]
        unknown = authority.caller(identity(Who(user, groups_known=False)), top)
        known = [authority.caller(identity(Who(user, claims)), top) for claims in sets_of(GROUPS)]
        for key, id in made.ids.items():
            node = authority.objects[id]
            for op in Op:
                if key[0] != lake or not asked_of(op, key):
                    continue
                if allowed(authority, unknown, op, node):
                    assert all(allowed(authority, caller, op, node) for caller in known), (op, key)
                if op.value.shows is not None:
                    nodes = [authority.objects[n] for k, n in made.ids.items() if world.parents[k] == key]
                    for seen in visible(authority, unknown, op, nodes):
                        assert all(list(visible(authority, caller, op, [seen])) for caller in known)


# -- lenses ------------------------------------------------------------------------------------------------------

ROWS = [
    {"id": number, "email": mail, "region": region}
    for number in (1, 2, 6, 200)
    for mail in ("ann", "x@y", None)
    for region in ("EU", "US", "ann", None)
]
SHAPE = lens_worlds.SHAPES[0]


def shows_no_more(unknown: Lens, known: Lens) -> bool:
    """Whether every row, column and cell that one lens shows, the other shows as it is or shows more of."""
    if not all(any(id in SHAPE.schema.by_id[h].ids for id in unknown.hidden) for h in known.hidden):
        return False
    masks = {mask.column.field_id: mask.text for mask in unknown.masks}
    for mask in known.masks:
        gone = not unknown.hidden.isdisjoint(mask.column.ids)
        if not gone and masks.get(mask.column.field_id) != mask.text:
            return False
    cells = [by_field_id(SHAPE.schema, row) for row in ROWS]
    return all(keeps(known.rows, row) for row in cells if keeps(unknown.rows, row))


def verdicts(
    authority: Authority, user: str, table: int, **more: str | None
) -> tuple[LensVerdict, list[LensVerdict]]:
    """With unknown groups, and with every set of them."""
    groups = tuple(lens_worlds.GROUPS.values())

    def decide(who: Identity) -> LensVerdict:
        caller = authority.caller(who, lens_worlds.LAKE)
        return lens(authority, caller, authority.objects[table], SHAPE, lens_worlds.NOW)

    asked = Identity(user, groups_known=False, **more)
    return decide(asked), [decide(Identity(user, frozenset(some), **more)) for some in sets_of(groups)]


def compare(*seeds: int) -> set[str]:
    return set().union(*(_compare(seed) for seed in seeds))


def _compare(seed: int) -> set[str]:
    r = Random(seed)
    authority = Authority().applied(lens_worlds.start(r), 1)
    met: set[str] = set()
    for user, table in itertools.product(lens_worlds.USERS.values(), lens_worlds.TABLES):
        unknown, known = verdicts(authority, user, table, purpose=r.choice((None, "work")))
        if unknown.lens is None:
            met.add("denied" if any(one.lens is None for one in known) else "cannot be told")
            continue
        met.add("whole" if unknown.lens.whole else "restricted")
        for one in known:
            assert one.lens is not None, (seed, user, table)
            assert shows_no_more(unknown.lens, one.lens), (
                seed,
                user,
                table,
                unknown.lens.text,
                one.lens.text,
            )
        if len({one.lens.id for one in known if one.lens}) == 1 and unknown.lens.id == known[0].lens.id:
            met.add("the same with any groups")
    return met


@pytest.mark.parametrize("seed", range(40))
def test_a_lens_shows_no_more_than_with_any_set_of_groups(seed: int) -> None:
    compare(seed)


def test_the_comparison_meets_every_kind_of_answer() -> None:
    assert compare(*range(40)) == {
        "denied",
        "cannot be told",
        "whole",
        "restricted",
        "the same with any groups",
    }


@pytest.mark.slow
@pytest.mark.parametrize("forgets", ["doubtful", "member"])
def test_the_comparison_would_notice(monkeypatch: pytest.MonkeyPatch, forgets: str) -> None:
    if forgets == "doubtful":
        monkeypatch.setattr(lenses, "doubtful", lambda rules, who: 0)
    else:
        from headgate.language.fold import Request

        monkeypatch.setattr(Request, "member", lambda request, group: group in request.groups)
    with pytest.raises(AssertionError):
        compare(*range(400))


# -- one by one --------------------------------------------------------------------------------------------------

ANN, AUDITORS, SECRET = 30, 40, 50
TABLE = lens_worlds.TABLES[0]


def lake(*policies: dict[str, object], member: bool = False) -> Authority:
    """ann may read everything by a role of her own; the group `analysts` is denied it."""
    r = Random(1)
    changes = [
        c.ObjectPut(1, 0, ObjectType.METALAKE, "m"),
        c.ObjectPut(2, 1, ObjectType.CATALOG, "c"),
        c.ObjectPut(3, 2, ObjectType.SCHEMA, "s"),
        c.ObjectPut(TABLE, 3, ObjectType.TABLE, "t"),
        c.PrincipalPut(ANN, 1, PrincipalKind.USER, "ann", True, lens_worlds.attributes(r)),
        c.PrincipalPut(AUDITORS, 1, PrincipalKind.GROUP, "analysts"),
        c.PrincipalPut(41, 1, PrincipalKind.GROUP, "privacy"),
    ]
    for number, content in enumerate(policies, 60):
        changes += [
            c.ObjectPut(number, 1, ObjectType.POLICY, f"p{number}"),
            c.OwnerSet(number, 41),
            c.PolicySet(number, msgspec.json.encode(content).decode(), True),
            c.LabelSet(number, 1, 0, None, True),
        ]
    if member:
        changes.append(c.GroupMember(AUDITORS, ANN, True))
    return Authority().applied(changes, 1)


def ann(authority: Authority, **more: object) -> LensVerdict:
    who = Identity("ann", groups_known=False)
    return lens(authority, authority.caller(who, 1), authority.objects[TABLE], SHAPE, lens_worlds.NOW)


def test_a_policy_for_a_group_binds_and_an_exception_for_one_does_not_exempt() -> None:
    told = ann(lake({"to": ["group:analysts"], "hide": ["email"]}))
    assert told.lens is not None
    assert told.lens.hidden == {2}
    # Of a group that is not kept nobody knows who is in it, and whether ann claims to be is not known either.
    assert ann(lake({"to": ["group:nobody-knows"], "hide": ["email"]})).lens is None
    told = ann(lake({"to": ["everyone"], "except": ["group:analysts"], "hide": ["email"]}))
    assert told.lens is not None
    assert told.lens.hidden == {2}


def test_asking_for_a_membership_that_is_not_known_denies_and_names_the_policy() -> None:
    for rows in (
        "is_member('analysts')",
        "NOT is_member('analysts')",
        "coalesce(is_member('analysts'), TRUE)",
        "is_member('analysts') IS NULL",
        "id > 5 OR is_member('analysts')",
    ):
        told = ann(lake({"to": ["everyone"], "rows": rows}))
        assert told.lens is None, rows
        assert "p60" in str(told.denials[0])
        assert "is_member('analysts')" in str(told.denials[0])


def test_a_membership_that_is_kept_here_is_known() -> None:
    told = ann(lake({"to": ["everyone"], "rows": "is_member('analysts')"}, member=True))
    assert told.lens is not None
    assert told.lens.whole
    told = ann(lake({"to": ["everyone"], "except": ["group:analysts"], "hide": ["email"]}, member=True))
    assert told.lens is not None
    assert told.lens.whole


def test_a_mask_that_may_not_be_theirs_takes_the_place_of_none() -> None:
    strict = {"to": ["everyone"], "mask": {"email": "replace_with_null(email)"}}
    loose = {"to": ["group:analysts"], "mask": {"email": "show_last_4(email)"}, "priority": 5}
    told = ann(lake(strict, loose))
    assert told.lens is None
    assert {"p60", "p61"} <= set(told.denials[0].policies)
    told = ann(lake({**strict, "priority": 9}, loose))
    assert told.lens is not None, "the one that surely stands beats the other anyway"


def may(authority: Authority, **who: bool) -> Explanation:
    caller = authority.caller(Identity("ann", **who), 1)
    return explain(authority, caller, Op.READ_TABLE, authority.objects[TABLE])


def grants(allow: int, deny: int, to: int) -> Authority:
    changes: list[c.Change] = [
        c.ObjectPut(SECRET, 1, ObjectType.ROLE, "secret-role"),
        c.RoleGrants(SECRET, 1, allow, deny),
        c.RoleHeld(SECRET, to, True),
    ]
    return lake().applied(changes, 2)


def test_a_group_denies_whoever_may_be_in_it_and_allows_only_who_surely_is() -> None:
    from headgate.model.privileges import Privilege

    use = Privilege.USE_CATALOG.bit | Privilege.USE_SCHEMA.bit | Privilege.SELECT_TABLE.bit
    assert may(grants(use, 0, ANN), groups_known=False).allowed
    assert not may(grants(use, 0, AUDITORS), groups_known=False).allowed
    own: list[c.Change] = [
        c.ObjectPut(51, 1, ObjectType.ROLE, "own"),
        c.RoleGrants(51, 1, use, 0),
        c.RoleHeld(51, ANN, True),
    ]
    both = grants(0, Privilege.SELECT_TABLE.bit, AUDITORS).applied(own, 3)
    assert may(both).allowed
    told = may(both, groups_known=False)
    assert not told.allowed
    assert not told.groups_known
    assert told.roles == ("own",)
    assert "does not tell the user's groups" in told.summary
    assert "secret-role" not in str(told), "whoever may not hold a role is not told its name"


def test_an_explanation_of_a_lens_says_that_groups_are_not_known() -> None:
    authority = lake({"to": ["group:privacy"], "hide": ["email"]})
    caller = authority.caller(Identity("ann", groups_known=False), 1)
    told = explain_lens(authority, caller, authority.objects[TABLE], SHAPE, lens_worlds.NOW)
    assert not told.groups_known
    assert told.policies[0].applies
    assert b'"groups_known":false' in msgspec.json.encode(told)
