"""Promise: nothing is done under the permit of another operation, and a door that would ask for the wrong one does not start."""

from collections.abc import Sequence
from typing import Any

import pytest

from headgate.decide import Op
from headgate.doors.acts import check_acts
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.doors.routing import DoorCall, Open, Route
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from headgate.steward.acts import WrongPermit, act, declared
from headgate.steward.metadata.documents import Commit
from headgate.steward.permits import Permit
from headgate.steward.policies.labels import Assign

ADMIN = Identity("admin")
LAKE = ObjectRef("lake", ObjectType.METALAKE)


@pytest.fixture(autouse=True)
def lake(steward: Steward) -> None:
    steward.metalakes.create(steward.kernel.permit(ADMIN, Op.CREATE_METALAKE, LAKE), "lake", None, {})


def route(handler: Any, requires: Any) -> Route:
    return Route("DELETE", "/somewhere", requires, lambda call: LAKE, handler)


def dropping(call: DoorCall) -> Any:
    """Drop a table."""
    call.steward.tables.drop(call.permit, purge=call.flag("purge"))


def by_another_function(call: DoorCall) -> Any:
    """Drop a table, a step further down."""
    return dropping(call)


def undeclared(call: DoorCall) -> Any:
    """Hand the permit to what declares nothing."""
    return call.steward.catalogs.adapter(call.permit)


def test_every_door_asks_for_what_its_acts_take(steward: Steward) -> None:
    for door in (GravitinoDoor(), IcebergDoor(), HeadgateDoor()):
        check_acts(steward, door.routes)


@pytest.mark.parametrize("handler", [dropping, by_another_function])
def test_a_door_that_asks_for_the_wrong_permit_does_not_start(steward: Steward, handler: Any) -> None:
    check_acts(steward, [route(handler, Op.DROP_TABLE)])
    with pytest.raises(
        TypeError, match=r"asks for LOAD_TABLE, but tables\.drop takes a permit of DROP_TABLE"
    ):
        check_acts(steward, [route(handler, Op.LOAD_TABLE)])
    mixed = {ObjectType.TABLE: Op.DROP_TABLE, ObjectType.VIEW: Op.LOAD_VIEW}
    with pytest.raises(TypeError, match="asks for LOAD_VIEW"):
        check_acts(steward, [route(handler, mixed)])


def test_a_door_that_hands_its_permit_to_what_is_no_act_does_not_start(steward: Steward) -> None:
    with pytest.raises(TypeError, match=r"catalogs\.adapter, which declares no operation"):
        check_acts(steward, [route(undeclared, Op.LOAD_CATALOG)])


def test_a_route_without_a_permit_has_none_to_hand_on(steward: Steward) -> None:
    check_acts(steward, [route(dropping, Open.AUTHENTICATED)])


def test_an_act_refuses_the_permit_of_another_operation(steward: Steward) -> None:
    permit = steward.kernel.permit(ADMIN, Op.LOAD_METALAKE, LAKE)
    assert steward.metalakes.load(permit).name == "lake"
    for wrong in (
        lambda: steward.metalakes.drop(permit, force=True),
        lambda: steward.tables.drop(permit, purge=True),
        lambda: steward.documents.commit([Commit(permit, None, [], [])]),
    ):
        with pytest.raises(WrongPermit, match="not of LOAD_METALAKE"):
            wrong()
    assert steward.metalakes.load(permit).name == "lake"


def test_further_permits_are_held_against_what_is_declared(steward: Steward) -> None:
    class Part:
        @act(Op.LOAD_METALAKE, also=(Op.LIST_ROLES,))
        def do(self, permit: Permit, *others: Permit, into: Sequence[Permit | Assign] = ()) -> str:
            return "done"

    first, also, wrong = (
        steward.kernel.permit(ADMIN, op, LAKE) for op in (Op.LOAD_METALAKE, Op.LIST_ROLES, Op.LIST_TAGS)
    )
    assert Part().do(first, also, into=(also,)) == "done"
    assert Part().do(first, into=(Assign(also),)) == "done"
    for call in (
        lambda: Part().do(first, wrong),
        lambda: Part().do(first, into=(also, wrong)),
        lambda: Part().do(first, into=[Assign(also), Assign(wrong)]),
    ):
        with pytest.raises(WrongPermit, match="takes a permit of LIST_ROLES, not of LIST_TAGS"):
            call()


def test_an_act_of_many_types_takes_the_permit_of_its_own(steward: Steward) -> None:
    assert declared(steward.topics, "load") == {Op.LOAD_TOPIC}
    assert declared(steward.models, "create") == {Op.REGISTER_MODEL}
    assert declared(steward.policies, "nodes") == {Op.LIST_POLICIES}
    assert declared(steward.catalogs, "drop") == {Op.DROP_CATALOG}
    assert declared(steward.catalogs, "adapter") is None


def test_every_operation_that_is_declared_is_one(steward: Steward) -> None:
    """A misspelt name for a type would leave an act that takes no permit at all."""
    for name, part in vars(steward).items():
        for method in dir(type(part)):
            found = declared(part, method)
            assert found is None or found, f"{name}.{method} takes no permit of any operation"
