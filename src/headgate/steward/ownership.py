"""New objects: the row, its owner and the record that comes back."""

from typing import Any

from headgate.model.objects import ObjectType
from headgate.model.records import ObjectRecord
from headgate.steward.permits import Permit
from headgate.store import Write, access, objects


def created(
    tx: Write,
    permit: Permit,
    type: ObjectType,
    name: str,
    *,
    parent: int | None = None,
    comment: str | None = None,
    properties: dict[str, str] | None = None,
    body: dict[str, Any] | None = None,
) -> ObjectRecord:
    """Add an object under the permit's own, or under `parent` that was just made there; who creates it owns it."""
    node = permit.node
    above = node.id if parent is None else parent
    id = objects.create(
        tx, above, node.metalake, type, name, comment=comment, properties=properties, body=body
    )
    assert permit.caller.member is not None, "only members of a metalake create anything in it"
    access.set_owner(tx, id, permit.caller.member)
    return objects.present(tx, id)
