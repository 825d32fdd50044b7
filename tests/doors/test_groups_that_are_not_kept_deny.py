"""What a policy asks about a group that the metalake does not keep has no answer: the read is denied, whoever asks."""

import datetime as dt
from random import Random
from typing import Any

import msgspec
import pytest

from headgate.decide import Authority
from headgate.decide.policies.lens import LensVerdict, fresh, lens
from headgate.model import changes as c
from headgate.model.objects import ObjectType
from headgate.model.principals import Identity, PrincipalKind
from tests.conftest import Api
from tests.decide import lens_worlds as worlds
from tests.doors.governed import HIDE, govern, sent
from tests.doors.settled import failed

APPLY = "/api/headgate/policies/apply?metalake=lake"
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def seen(policy: dict[str, Any], *claims: str, keep: bool = False, member: bool = False) -> LensVerdict:
    """What ann, whose token claims these groups, sees under a policy that names the group `g`."""
    history: list[c.Change] = [
        x for x in worlds.start(Random(1)) if not isinstance(x, c.PolicySet | c.LabelSet)
    ]
    document = msgspec.json.encode(policy, order="sorted").decode()
    history += [c.ObjectPut(60, worlds.LAKE, ObjectType.POLICY, "p"), c.PolicySet(60, document)]
    history.append(c.LabelSet(60, worlds.LAKE, 0, None, True))
    if keep:
        history.append(c.PrincipalPut(90, worlds.LAKE, PrincipalKind.GROUP, "g"))
    if member:
        history.append(c.GroupMember(90, 30, True))
    authority = Authority().applied(history, 1)
    caller = authority.caller(Identity("ann", frozenset(claims)), worlds.LAKE)
    table = authority.objects[worlds.TABLES[0]]
    verdict = lens(authority, caller, table, worlds.SHAPES[0], NOW)
    assert verdict == fresh(authority, caller, table, worlds.SHAPES[0], NOW)
    return verdict


ASKED = {
    "plain": "is_member('g')",
    "not": "NOT is_member('g')",
    "or": "id > 5 OR is_member('g')",
    "coalesce": "coalesce(is_member('g'), FALSE)",
    "null": "is_member('g') IS NULL",
}


@pytest.mark.parametrize("rows", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("claims", [(), ("g",)])
def test_is_member_of_a_group_that_is_not_kept_denies(rows: str, claims: tuple[str, ...]) -> None:
    verdict = seen({"to": ["everyone"], "rows": rows}, *claims)
    assert verdict.lens is None
    assert verdict.denials[0].policies == ("p",)
    assert seen({"to": ["everyone"], "rows": rows}, keep=True).lens is not None
    hidden = seen(
        {"to": ["everyone"], "when": rows.replace("id > 5", "session_user() = 'x'"), "hide": ["email"]}
    )
    assert hidden.lens is None


def test_a_policy_for_a_group_that_is_not_kept_binds_those_who_claim_it_and_denies_the_others() -> None:
    policy = {"to": ["group:g"], "hide": ["email"]}
    claimed = seen(policy, "g").lens
    assert claimed is not None
    assert claimed.hidden == {2}
    assert seen(policy).lens is None
    kept = seen(policy, keep=True).lens
    assert kept is not None
    assert kept.whole


def test_a_group_that_is_not_kept_excepts_nobody() -> None:
    policy = {"to": ["everyone"], "except": ["group:g"], "hide": ["email"]}
    for claims in ((), ("g",)):
        verdict = seen(policy, *claims).lens
        assert verdict is not None
        assert verdict.hidden == {2}
    kept = seen(policy, "g", keep=True).lens
    assert kept is not None
    assert kept.whole


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HIDE.replace("group:privacy", "group:ghosts"), "group 'ghosts', which does not exist"),
        (HIDE.replace("[everyone]", "[group:ghosts]"), "group 'ghosts', which does not exist"),
        (
            HIDE.replace("hide:", "when: NOT is_member('ghosts')\nhide:"),
            "group 'ghosts', which does not exist",
        ),
        (HIDE.replace("[everyone]", "[user:ghost]"), "user 'ghost', which does not exist"),
        (HIDE.replace("[everyone]", "[service:ghost]"), "user 'ghost', which does not exist"),
        (HIDE.replace("[everyone]", "[role:ghost]"), "role 'ghost', which does not exist"),
    ],
)
def test_policies_name_only_people_that_are_there(api: Api, text: str, told: str) -> None:
    govern(api)
    answer = api("admin", "POST", APPLY, sent(text))
    assert failed(answer) == (400, "IllegalArgumentException")
    assert told in answer.json()["message"]
