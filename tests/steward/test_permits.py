"""Permits hold only as long as what they rest on."""

import threading

import pytest

from headgate.decide import Op
from headgate.model.errors import Conflict, Forbidden, NotFound
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity, PrincipalKind, PrincipalRef
from headgate.steward import Permit, Steward
from headgate.store import audit

LAKE = ObjectRef("lake", ObjectType.METALAKE)
ADMIN, ANN = Identity("admin"), Identity("ann")


@pytest.fixture(autouse=True)
def _lake(steward: Steward) -> None:
    nowhere = ObjectRef("*", ObjectType.METALAKE)
    steward.metalakes.create(steward.kernel.permit(ADMIN, Op.CREATE_METALAKE, nowhere), "lake", None, {})
    add(steward, "ann")


def add(steward: Steward, user: str) -> None:
    permit = steward.kernel.permit(ADMIN, Op.ADD_USER, LAKE)
    steward.principals.add(permit, PrincipalRef(PrincipalKind.USER, user))


def test_a_permit_whose_ground_is_gone_is_refused_when_it_is_used_and_the_refusal_is_kept(
    steward: Steward,
) -> None:
    permit = steward.kernel.permit(ADMIN, Op.ADD_USER, LAKE)
    owner = steward.kernel.permit(ADMIN, Op.SET_OWNER, LAKE)
    steward.owners.set(owner, PrincipalRef(PrincipalKind.USER, "ann"))
    outcome: list[Exception] = []

    def use() -> None:
        try:
            steward.principals.add(permit, PrincipalRef(PrincipalKind.USER, "eve"))
        except Exception as error:
            outcome.append(error)

    # In a thread of its own, so that a refusal that waits for itself fails the test instead of hanging it.
    thread = threading.Thread(target=use, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "the refusal waits for the store that it holds itself"
    assert isinstance(outcome[0], Forbidden)
    kept = audit.query(steward.kernel.store, metalake="lake", user="admin", allowed=False)
    assert [event.action for event in kept] == ["add_user"]
    names = [
        d.record.name for d in steward.principals.list(ask(steward, ANN, Op.LIST_USERS), PrincipalKind.USER)
    ]
    assert names == ["admin", "ann"]


def test_a_permit_for_an_object_that_was_replaced_does_not_reach_the_new_one(steward: Steward) -> None:
    role = ObjectRef("lake", ObjectType.ROLE, ("r",))
    for _ in range(2):
        steward.roles.create(ask(steward, ADMIN, Op.CREATE_ROLE), "r", {}, [])
        stale = steward.kernel.permit(ADMIN, Op.DELETE_ROLE, role)
        steward.roles.delete(steward.kernel.permit(ADMIN, Op.DELETE_ROLE, role))
    with pytest.raises(NotFound):
        steward.roles.delete(stale)
    steward.roles.create(ask(steward, ADMIN, Op.CREATE_ROLE), "r", {}, [])
    with pytest.raises(Conflict):
        steward.roles.delete(stale)


def test_names_that_no_column_holds_are_kept_in_the_audit_trail_cut_short(steward: Steward) -> None:
    with pytest.raises(Forbidden):
        steward.kernel.permit(ANN, Op.LOAD_METALAKE, ObjectRef("x" * 5000 + "\x00", ObjectType.METALAKE))
    with pytest.raises(Forbidden):
        steward.kernel.permit(ANN, Op.LOAD_CATALOG, ObjectRef("lake", ObjectType.CATALOG, ("a\x00b",)))
    kept = audit.query(steward.kernel.store, metalake="lake", user="ann", allowed=False)
    assert [event.object for event in kept] == ["a\\x00b"]


def ask(steward: Steward, identity: Identity, op: Op) -> Permit:
    return steward.kernel.permit(identity, op, LAKE)
