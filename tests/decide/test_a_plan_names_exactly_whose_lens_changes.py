"""What is foretold of a change of policies is what happens: all of those whose lens becomes another, and nobody else."""

import time
from random import Random

import msgspec
import pytest

from headgate.decide import Authority, Op, allowed
from headgate.decide.changes.effects import ComparedCircumstances, effects
from headgate.decide.policies.lens import lens
from headgate.decide.policies.shape import Shape
from headgate.model import changes as c
from headgate.model.objects import ObjectType
from headgate.model.principals import Identity, PrincipalKind
from headgate.model.privileges import Privilege, PrivilegeBits
from headgate.model.schema import Field, Schema
from tests.decide import lens_worlds as worlds

T = ObjectType
AT = ComparedCircumstances(worlds.NOW)


def read_all(role: int, on: int) -> c.Change:
    bits = Privilege.USE_CATALOG.bit | Privilege.USE_SCHEMA.bit | Privilege.SELECT_TABLE.bit
    return c.RoleGrants(role, on, PrivilegeBits(bits, 0).allow, 0)


@pytest.mark.parametrize("seed", range(8))
def test_by_brute_force(seed: int) -> None:
    r = Random(seed)
    history = worlds.start(r)
    history += [read_all(50, worlds.LAKE), c.RoleHeld(50, 30, True), c.RoleHeld(50, 31, True)]
    before = Authority().applied(history, 1)
    tables = [(before.objects[id], worlds.SHAPES[id % 2]) for id in worlds.TABLES]
    after = before.applied([x for _ in range(3) for x in worlds.policy(r)], 2)
    expected = set()
    for user in worlds.USERS.values():
        for table, shape in tables:
            who = Identity(user)
            was = lens(before, before.caller(who, worlds.LAKE), table, shape, worlds.NOW).lens
            will = lens(after, after.caller(who, worlds.LAKE), table, shape, worlds.NOW).lens
            if (was and was.id) != (will and will.id) and allowed(
                before, before.caller(who, worlds.LAKE), Op.LOAD_TABLE, table
            ):
                expected.add((user, before.ref(table).full_name))
    told = effects(before, after, before.objects[worlds.LAKE], tables, AT)
    pairs = [(user, table) for e in told for user in e.people for table in e.tables]
    assert set(pairs) == expected
    assert len(pairs) == len(expected), "nobody is named twice"


def test_two_hundred_people_and_a_thousand_tables() -> None:
    changes: list[c.Change] = [c.ObjectPut(1, 0, T.METALAKE, "m"), c.ObjectPut(2, 1, T.CATALOG, "c")]
    changes += [c.ObjectPut(3, 1, T.TAG, "pii"), c.ObjectPut(4, 1, T.ROLE, "reader"), read_all(4, 2)]
    changes += [c.ObjectPut(10 + n, 2, T.SCHEMA, f"s{n}") for n in range(10)]
    groups = [c.PrincipalPut(100 + n, 1, PrincipalKind.GROUP, f"g{n}") for n in range(20)]
    changes += groups
    for n in range(200):
        user = 1000 + n
        changes.append(c.PrincipalPut(user, 1, PrincipalKind.USER, f"u{n:03}", True, {"region": f"r{n % 4}"}))
        changes += [c.GroupMember(100 + n % 20, user, True), c.RoleHeld(4, user, True)]
    shapes = [
        Shape.of(
            Schema(
                (
                    Field(1, "id", worlds.LONG),
                    Field(2, "email", worlds.STRING),
                    Field(3, f"x{n}", worlds.LONG),
                )
            )
        )
        for n in range(5)
    ]
    for n in range(1000):
        changes.append(c.ObjectPut(5000 + n, 10 + n % 10, T.TABLE, f"t{n:04}"))
        if n % 3 == 0:
            changes.append(c.LabelSet(3, 5000 + n, 2, None, True))
    before = Authority().applied(changes, 1)
    document = msgspec.json.encode(
        {"to": ["group:g7"], "columns": {"e": "has_tag('pii')"}, "rows": "e = principal.region"}
    ).decode()
    more = [c.ObjectPut(9, 1, T.POLICY, "p"), c.PolicySet(9, document), c.LabelSet(9, 13, 0, None, True)]
    after = before.applied(more, 2)
    tables = [(before.objects[5000 + n], shapes[n % 5]) for n in range(1000)]
    # The time that it computes: others may use the machine too.
    started = time.thread_time()
    told = effects(before, after, before.objects[1], tables, AT)
    took = time.thread_time() - started
    pairs = {(user, table) for e in told for user in e.people for table in e.tables}
    assert pairs == {
        (f"u{n:03}", f"c.s3.t{t:04}") for n in range(7, 200, 20) for t in range(3, 1000, 10) if t % 3 == 0
    }
    assert {e.before for e in told} == {"the whole table"}
    assert {e.after for e in told} <= {f"rows where email = 'r{n}'" for n in range(4)}
    assert took < 10, "a plan is made while one waits for it"
