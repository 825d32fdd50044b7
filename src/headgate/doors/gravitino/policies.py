"""Policies: ``/api/metalakes/{metalake}/policies`` and the policies of an object."""

from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.decide.operations import LOADS
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.model.records import ObjectRecord
from headgate.steward.policies.labels import Assign, Assigned

routes = Routes("/api/metalakes/{metalake}")

_OBJECT: Final = "/objects/{type}/{fullName}/policies"
_policy = wire.beside(ObjectType.POLICY)


class CreatePolicy(msgspec.Struct, frozen=True):
    name: str
    policyType: str  # noqa: N815
    content: dict[str, Any]
    comment: str | None = None
    enabled: bool | None = True


class UpdateContent(msgspec.Struct, frozen=True, tag_field="@type", tag="updateContent"):
    policyType: str  # noqa: N815
    newContent: dict[str, Any]  # noqa: N815


class AlterPolicy(msgspec.Struct, frozen=True):
    updates: list[wire.Rename | wire.UpdateComment | UpdateContent]


class Enable(msgspec.Struct, frozen=True):
    enable: bool


class AssociatePolicies(msgspec.Struct, frozen=True):
    policiesToAdd: list[str] | None = None  # noqa: N815
    policiesToRemove: list[str] | None = None  # noqa: N815


def shown(record: ObjectRecord, inherited: bool | None = None) -> dict[str, Any]:
    return wire.present(
        {
            "name": record.name,
            "comment": record.comment,
            "policyType": record.body["policyType"],
            "enabled": record.body["enabled"],
            "content": record.body["content"],
            "inherited": inherited,
            "audit": wire.audit(record.audit),
        }
    )


def shown_on(found: Assigned) -> dict[str, Any]:
    return shown(found.label, found.inherited)


@routes.on("GET", "/policies", Op.LIST_POLICIES, wire.metalake, query=("details", *wire.PAGE))
def list_policies(call: DoorCall) -> Any:
    """List the policies that the caller may apply."""
    if not call.flag("details"):
        nodes, token = wire.page(call, call.steward.policies.nodes(call.permit), lambda node: node.name)
        return wire.ok(names=[node.name for node in nodes], nextPageToken=token)
    found, token = wire.page(call, call.steward.policies.whole(call.permit), lambda record: record.name)
    return wire.ok(policies=[shown(record) for record in found], nextPageToken=token)


@routes.on("POST", "/policies", Op.CREATE_POLICY, wire.metalake, body=CreatePolicy)
def create_policy(call: DoorCall) -> Any:
    """Create a policy."""
    body: CreatePolicy = call.body
    made = call.steward.policies.define(
        call.permit, body.name, body.comment, body.policyType, body.enabled is not False, body.content
    )
    return wire.ok(policy=shown(made))


@routes.on("GET", "/policies/{policy}", Op.LOAD_POLICY, _policy)
def load_policy(call: DoorCall) -> Any:
    """Load a policy."""
    return wire.ok(policy=shown(call.steward.policies.load(call.permit)))


@routes.on("PUT", "/policies/{policy}", Op.ALTER_POLICY, _policy, body=AlterPolicy)
def alter_policy(call: DoorCall) -> Any:
    """Rename a policy, change its comment or its content."""
    items = call.body.updates
    contents = tuple((u.policyType, u.newContent) for u in items if isinstance(u, UpdateContent))
    altered = call.steward.policies.redefine(call.permit, wire.updates(items), contents)
    return wire.ok(policy=shown(altered))


@routes.on("PATCH", "/policies/{policy}", Op.SET_POLICY, _policy, body=Enable)
def set_policy(call: DoorCall) -> Any:
    """Enable or disable a policy."""
    call.steward.policies.enable(call.permit, call.body.enable)
    return wire.ok()


@routes.on("DELETE", "/policies/{policy}", Op.DROP_POLICY, _policy, absent=wire.ok(dropped=False))
def drop_policy(call: DoorCall) -> Any:
    """Drop a policy and take it off everything."""
    call.steward.policies.drop(call.permit)
    return wire.ok(dropped=True)


@routes.on("GET", "/policies/{policy}/objects", Op.LOAD_POLICY, _policy, query=wire.PAGE)
def list_policy_objects(call: DoorCall) -> Any:
    """List what a policy is on, as far as the caller can see it."""
    return wire.metadata_objects(call, [place.ref for place in call.steward.policies.places(call.permit)])


@routes.on("GET", _OBJECT, LOADS, wire.named_object, query=("details", *wire.PAGE))
def list_object_policies(call: DoorCall) -> Any:
    """List the policies of an object, its own and inherited ones."""
    found, token = wire.page(
        call, call.steward.policies.of(call.permit), lambda assigned: assigned.label.name
    )
    if call.flag("details"):
        return wire.ok(policies=[shown_on(assigned) for assigned in found], nextPageToken=token)
    return wire.ok(names=[assigned.label.name for assigned in found], nextPageToken=token)


@routes.on("GET", _OBJECT + "/{policy}", LOADS, wire.named_object)
def get_object_policy(call: DoorCall) -> Any:
    """Load a policy of an object."""
    policy = call.ask(Op.APPLY_POLICY, _policy(call))
    return wire.ok(policy=shown_on(call.steward.policies.one_of(call.permit, policy)))


@routes.on("POST", _OBJECT, LOADS, wire.named_object, body=AssociatePolicies)
def associate_policies(call: DoorCall) -> Any:
    """Put policies on an object and take others off, all or none."""
    body: AssociatePolicies = call.body
    if body.policiesToAdd is None and body.policiesToRemove is None:
        raise IllegalArgument("policiesToAdd and policiesToRemove cannot both be null")
    held = call.steward.policies.assign(
        call.permit, _assigned(call, body.policiesToAdd), _assigned(call, body.policiesToRemove)
    )
    return wire.ok(names=[assigned.label.name for assigned in held])


def _assigned(call: DoorCall, names: list[str] | None) -> list[Assign]:
    if not all(name.strip() for name in names or []):
        raise IllegalArgument("policiesToAdd and policiesToRemove must not contain empty policy names")
    permits = (wire.label(call, Op.APPLY_POLICY, ObjectType.POLICY, name) for name in names or [])
    return [Assign(permit) for permit in permits if permit is not None]
