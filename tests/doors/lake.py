"""The lake that the tests of the doors fill: paths, ids, and objects that no door makes for them."""

from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward import Steward
from headgate.store import objects

LAKE = "/api/metalakes/lake"


def id_of(steward: Steward, type: str, full_name: str) -> int:
    node = steward.kernel.authority().find(ObjectRef.parse("lake", ObjectType.parse(type), full_name))
    assert node is not None, f"{full_name} is not there"
    return node.id


def put_object(steward: Steward, schema: str, type: ObjectType, name: str) -> int:
    """An object in a schema, straight into the store."""
    with steward.kernel.store.write("admin", "test") as tx:
        metalake = id_of(steward, "metalake", "lake")
        return objects.create(tx, id_of(steward, "schema", schema), metalake, type, name)
