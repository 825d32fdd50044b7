"""Every rule in rows: each is asserted through check, list, explain and the REST door alike."""

from pathlib import Path

import pytest

from headgate.decide import Op, allowed, check, explain, visible
from headgate.decide.operations import LOADS, OUTSIDE
from headgate.model.errors import Forbidden
from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward.findings import concerns, examine
from tests.decide.lakes import Lake, build, has_route, opened, opened_for_change
from tests.decide.rest import REQUESTS, names_in, request_of
from tests.decide.scenario import ROWS, SCENARIOS, Row
from tests.decide.test_decisions_equal_the_reference import LISTED

_LIST_OF = {type: (op, holder) for holder, ops in LISTED.items() for op, type in ops.items()}
_LIST_OF[ObjectType.ROLE] = (Op.LIST_ROLES, ObjectType.METALAKE)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of the lakes that were made so far, by scenario."""
    return {"": tmp_path_factory.mktemp("scenarios")}


@pytest.fixture
def folder(folders: dict[str, Path], request: pytest.FixtureRequest) -> Path:
    name = request.getfixturevalue("row").scenario
    if name not in folders:
        folders[name] = folders[""] / name / "live"
        folders[name].mkdir(parents=True)
        build(SCENARIOS[name], folders[name])
    return folders[name]


rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)


@rows
def test_the_decision_point_answers_as_the_row_says(row: Row, folder: Path) -> None:
    with opened(folder) as lake:
        found = examine(lake.steward.kernel.authority(), row.identity, row.op, row.ref, row.about)
        if row.op in OUTSIDE:
            assert found.allowed == row.allowed, row.why
            return
        assert found.exists, f"{row.object} is not in the scenario"
        authority, caller, node = found.authority, found.caller, found.node
        extra = found.extra
        answer = check(authority, caller, row.op, node, extra).allowed
        told = explain(authority, caller, row.op, node, extra)
        assert answer == told.allowed == told.reason.holds
        if row.beside is not None:
            # A tag or policy goes on what one may load.
            other = authority.find(row.beside)
            assert other is not None
            answer = answer and allowed(authority, caller, LOADS[row.beside.type], other)
        assert answer == row.allowed, f"{row.why}, but: {told.summary}"
        if isinstance(row.answer, tuple):
            assert _shown(lake, row) == list(row.answer), row.why
        elif LOADS.get(row.ref.type) is row.op and row.ref.type in _LIST_OF:
            _listed_if_loaded(lake, row)


def _shown(lake: Lake, row: Row) -> list[str]:
    """What the list operation of a row shows, by the decision point alone."""
    authority = lake.steward.kernel.authority()
    node = authority.find(row.ref)
    assert node is not None
    caller = authority.caller(row.identity, node.metalake)
    if row.op in (Op.LIST_USERS, Op.LIST_GROUPS):
        kind = "user" if row.op is Op.LIST_USERS else "group"
        from headgate.decide.operations import OPERATIONS
        from headgate.decide.requirements import CallerFact
        from headgate.decide.verdict import facts, satisfied
        from headgate.model.principals import PrincipalRef

        return sorted(
            member.name
            for member in authority.members.values()
            if member.kind == kind
            and satisfied(
                OPERATIONS[row.op].shown,
                facts(authority, caller, node)
                | (
                    int(CallerFact.SELF)
                    if concerns(authority, caller, PrincipalRef(member.kind, member.name))
                    else 0
                ),
            )
        )
    if row.op is Op.LIST_OBJECT_ROLES:
        top = authority.objects[node.metalake]
        roles = [r for r in authority.children_of(top.id, ObjectType.ROLE) if r.id in node.grants]
        return sorted(role.name for role in visible(authority, caller, row.op, roles))
    type = LISTED[row.ref.type][row.op]
    return sorted(
        entry.name for entry in visible(authority, caller, row.op, authority.children_of(node.id, type))
    )


def _listed_if_loaded(lake: Lake, row: Row) -> None:
    """Whoever may load an object finds it in the list, and nobody else does."""
    authority = lake.steward.kernel.authority()
    node = authority.find(row.ref)
    assert node is not None
    op, holder = _LIST_OF[row.ref.type]
    above = next(
        authority.objects[id] for id, _ in reversed(node.chain) if authority.objects[id].type is holder
    )
    caller = authority.caller(row.identity, node.metalake)
    shown = allowed(authority, caller, op, above) and node in visible(authority, caller, op, [node])
    assert shown == row.allowed, f"{op}: {row.why}"


@pytest.mark.slow
@rows
def test_the_rest_door_answers_as_the_row_says(row: Row, folder: Path) -> None:
    method, path, body = request_of(row)
    changes = row.allowed and method != "GET" and row.op is not Op.ASK
    kept = folder.parent / "kept"
    with opened_for_change(folder, kept) if changes else opened(folder) as lake:
        answer = lake.ask(row.identity, method, path, body)
    assert has_route(answer), f"no door serves {method} {path}"
    if not row.allowed:
        told = answer.json()
        if row.op is Op.READ_TABLE:
            # Who may not read a table may not load it either, and so is not told that it is there.
            assert (answer.status_code, told["error"]["type"]) == (404, "NoSuchTableException"), row.why
            return
        assert (answer.status_code, told.get("code", 1008)) == (403, 1008), (row.why, answer.text)
        return
    assert answer.status_code not in (401, 403), (row.why, answer.text)
    assert "NoSuchTableException" not in answer.text or row.op is not Op.READ_TABLE, (row.why, answer.text)
    assert answer.status_code < 500, (row.why, answer.text)
    if isinstance(row.answer, tuple):
        assert names_in(answer.json()) == list(row.answer), row.why


def test_every_operation_is_allowed_in_one_row_and_denied_in_another() -> None:
    seen = {(row.op, row.allowed) for row in ROWS}
    wanted = {(op, answer) for op in Op for answer in (True, False)} - {(Op.LIST_METALAKES, False)}
    assert not {(op.name, answer) for op, answer in wanted - seen}


def test_every_operation_has_a_request() -> None:
    assert set(REQUESTS) == set(Op)


def test_naming_an_active_role_that_is_not_held_is_refused(tmp_path: Path) -> None:
    build(SCENARIOS["active-roles"], tmp_path)
    row = Row("", "ann as no", "load_catalog", "catalog c", False, "does not hold it")
    with opened(tmp_path) as lake:
        with pytest.raises(Forbidden, match="does not hold role 'no'"):
            lake.steward.kernel.permit(row.identity, row.op, ObjectRef("lake", ObjectType.CATALOG, ("c",)))
        assert lake.ask(row.identity, *request_of(row)).status_code == 403
