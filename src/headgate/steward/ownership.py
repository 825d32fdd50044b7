"""New objects: the row, its owner and the record that comes back."""

from typing import Any

from headgate.model.objects import ObjectType
from headgate.steward.permits import Permit
from headgate.store import Write, access, objects
from headgate.store.records import ObjectRecord


def created(
    tx: Write,
    permit: Permit,
    type: ObjectType,
    name: str,
    *,
    comment: str | None = None,
    properties: dict[str, str] | None = None,
    body: dict[str, Any] | None = None,
) -> ObjectRecord:
    """Add an object under the permit's own; who creates it becomes its owner."""
    node = permit.node
    id = objects.create(
        tx, node.id, node.metalake, type, name, comment=comment, properties=properties, body=body
    )
    assert permit.caller.member is not None, "only members of a metalake create anything in it"
    access.set_owner(tx, id, permit.caller.member)
    return objects.present(tx, id)
