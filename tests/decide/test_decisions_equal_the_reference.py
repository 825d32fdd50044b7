"""Check, list and explain agree with the naive reference on every operation, whatever the state."""

from collections import Counter
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.decide import Op, allowed, check, explain, visible
from headgate.decide.operations import LOADS, OPERATIONS, OUTSIDE
from headgate.decide.requirements import (
    CallerFact,
    Requirement,
    all_of,
    alternatives_of,
    any_of,
    has,
    holds,
    is_,
)
from headgate.decide.verdict import satisfied
from headgate.model.objects import ObjectType
from headgate.model.privileges import Privilege
from tests.decide.naive import RULES, SHOWS, Key, Who, World, may, shows
from tests.decide.worlds import (
    GROUPS,
    USERS,
    Compiled,
    asked_of,
    compiled,
    identity,
    random_caller,
    random_world,
)

SELF_ASKED = {Op.GET_USER: "user", Op.GET_GROUP: "group", Op.ASK: "user"}
PEOPLE = {Op.LIST_USERS, Op.LIST_GROUPS}

quick = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)
worlds = st.randoms(use_true_random=False)


def _self(who: Who, world: World, key: Key, about: tuple[str, str]) -> int:
    """The fact a door adds when the question is about a user or group."""
    from tests.decide.naive import Question

    return int(CallerFact.SELF) if Question(world, who, key).is_me(about) else 0


def questions(world: World, who: Who, made: Compiled) -> list[tuple[Op, Key, tuple[str, str] | None]]:
    found: list[tuple[Op, Key, tuple[str, str] | None]] = []
    for key in made.ids:
        for op in Op:
            if op is Op.LIST_METALAKES or not asked_of(op, key):
                continue
            if op in SELF_ASKED:
                names = USERS if SELF_ASKED[op] == "user" else GROUPS
                found.extend((op, key, (SELF_ASKED[op], name)) for name in names)
            else:
                found.append((op, key, None))
    return found


def test_the_reference_has_a_rule_for_every_operation_and_no_other() -> None:
    assert set(RULES) == {op.name for op in Op}
    assert set(SHOWS) == {op.name for op in Op if op.value.lists}


def compare(r: Random) -> Counter[tuple[Op, bool]]:
    world = random_world(r)
    made = compiled(world)
    seen: Counter[tuple[Op, bool]] = Counter()
    for lake in sorted({key[0] for key in world.parents}):
        who = random_caller(r, world, lake)
        caller = made.authority.caller(identity(who), made.ids[lake, "metalake"])
        for op, key, about in questions(world, who, made):
            if key[0] != lake:
                continue
            node = made.authority.objects[made.ids[key]]
            extra = _self(who, world, key, about) if about else 0
            expected = may(world, who, op.name, key, about)
            verdict = check(made.authority, caller, op, node, extra)
            assert verdict.allowed == expected, (op, key, who, about, world)
            told = explain(made.authority, caller, op, node, extra)
            assert told.allowed == told.reason.holds == expected
            assert told.summary
            seen[op, expected] += 1
    return seen


@quick
@given(worlds)
def test_check_and_explain_answer_as_the_reference(r: Random) -> None:
    compare(r)


def test_the_comparison_meets_every_operation_allowed_and_denied() -> None:
    """Random worlds would prove little if some operation were never allowed in them, or never denied."""
    seen: Counter[tuple[Op, bool]] = Counter()
    for seed in range(120):
        seen.update(compare(Random(seed)))
    missing = {(op, answer) for op in Op if op is not Op.LIST_METALAKES for answer in (True, False)} - set(
        seen
    )
    assert not missing


LISTED = {
    ObjectType.METALAKE: {
        Op.LIST_CATALOGS: ObjectType.CATALOG,
        Op.LIST_ROLES: ObjectType.ROLE,
        Op.LIST_OBJECT_ROLES: ObjectType.ROLE,
        Op.LIST_TAGS: ObjectType.TAG,
        Op.LIST_POLICIES: ObjectType.POLICY,
        Op.LIST_JOB_TEMPLATES: ObjectType.JOB_TEMPLATE,
        Op.LIST_JOBS: ObjectType.JOB,
    },
    ObjectType.CATALOG: {Op.LIST_SCHEMAS: ObjectType.SCHEMA},
    ObjectType.SCHEMA: {
        Op.LIST_TABLES: ObjectType.TABLE,
        Op.LIST_VIEWS: ObjectType.VIEW,
        Op.LIST_FUNCTIONS: ObjectType.FUNCTION,
        Op.LIST_FILESETS: ObjectType.FILESET,
        Op.LIST_TOPICS: ObjectType.TOPIC,
        Op.LIST_MODELS: ObjectType.MODEL,
    },
}


@quick
@given(worlds)
def test_lists_show_exactly_what_the_reference_shows_and_what_can_be_loaded(r: Random) -> None:
    world = random_world(r)
    made = compiled(world)
    authority = made.authority
    for lake in sorted({key[0] for key in world.parents}):
        who = random_caller(r, world, lake)
        caller = authority.caller(identity(who), made.ids[lake, "metalake"])
        for container, id in made.ids.items():
            if container[0] != lake:
                continue
            for op, type in LISTED.get(ObjectType(container[1]), {}).items():
                below = {key: made.ids[key] for key in world.parents if world.parents[key] == container}
                entries = {key: n for key, n in below.items() if key[1] == type}
                shown = {node.id for node in visible(authority, caller, op, authority.children_of(id, type))}
                assert shown == {n for key, n in entries.items() if shows(world, who, op.name, key)}, op
                if op is Op.LIST_OBJECT_ROLES or not allowed(authority, caller, op, authority.objects[id]):
                    continue
                # Who may list sees exactly what they may load: a list hides nothing and gives nothing away.
                loadable = {n for key, n in entries.items() if may(world, who, LOADS[type].name, key)}
                assert shown == loadable, (op, who)
        top = authority.objects[made.ids[lake, "metalake"]]
        for op, what in ((Op.LIST_USERS, "user"), (Op.LIST_GROUPS, "group")):
            for name in USERS if what == "user" else GROUPS:
                extra = _self(who, world, (lake, "metalake"), (what, name))
                known = satisfied(OPERATIONS[op].shown, _facts(made, caller, top) | extra)
                assert known == shows(world, who, op.name, (lake, "metalake"), (what, name))


def _facts(made: Compiled, caller: object, node: object) -> int:
    from headgate.decide.verdict import facts

    return facts(made.authority, caller, node)  # type: ignore[arg-type]


@quick
@given(worlds)
def test_a_caller_of_one_metalake_is_nobody_in_another(r: Random) -> None:
    world = random_world(r)
    made = compiled(world)
    lakes = sorted({key[0] for key in world.parents})
    who = Who(r.choice(USERS))
    for mine in lakes:
        caller = made.authority.caller(identity(who), made.ids[mine, "metalake"])
        for key, id in made.ids.items():
            if key[0] == mine:
                continue
            node = made.authority.objects[id]
            for op in Op:
                if op not in OUTSIDE:
                    assert not allowed(made.authority, caller, op, node)


_parts = st.one_of(
    st.sampled_from(list(Privilege)).map(has),
    st.sampled_from(list(CallerFact)).map(is_),
)
requirements = st.recursive(
    _parts,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: any_of(*parts)),
        st.lists(inner, max_size=3).map(lambda parts: all_of(*parts)),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(requirements, st.integers(0, (1 << (len(Privilege) + len(CallerFact))) - 1))
def test_alternatives_say_what_the_expression_says(requirement: Requirement, known: int) -> None:
    assert satisfied(alternatives_of(requirement), known) == holds(requirement, known)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.sampled_from(list(Op)), st.data())
def test_more_facts_never_take_anything_away(op: Op, data: st.DataObject) -> None:
    """No condition asks for the absence of a fact, so what is denied can only be denied by a missing one."""
    bits = st.integers(0, (1 << (len(Privilege) + len(CallerFact))) - 1)
    known, more = data.draw(bits), data.draw(bits)
    operation = OPERATIONS[op]
    if satisfied(operation.alternatives, known):
        assert satisfied(operation.alternatives, known | more)
    assert satisfied(operation.alternatives, known) == holds(operation.requirement, known)
