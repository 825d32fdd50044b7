"""The lake that the tests of the doors fill: its path, and the ids of what lies in it."""

from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward import Steward

LAKE = "/api/metalakes/lake"


def id_of(steward: Steward, type: str, full_name: str) -> int:
    node = steward.kernel.authority().find(ObjectRef.parse("lake", ObjectType.parse(type), full_name))
    assert node is not None, f"{full_name} is not there"
    return node.id
