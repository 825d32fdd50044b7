"""Credentials of an object: ``…/objects/{type}/{fullName}/credentials``."""

from typing import Any, Final

from headgate.decide.operations import LOADS
from headgate.doors.gravitino import wire
from headgate.doors.routing import Call, Routes
from headgate.model.objects import ObjectType

routes = Routes("/api/metalakes/{metalake}")

_STORED: Final = {type: LOADS[type] for type in (ObjectType.CATALOG, ObjectType.FILESET, ObjectType.TABLE)}
"""What lies in storage that a credential could open."""


@routes.on("GET", "/objects/{type}/{fullName}/credentials", _STORED, wire.named_object)
def get_credentials(call: Call) -> Any:
    """The credentials for an object's storage: none, for no catalog is configured to vend any."""
    return wire.ok(credentials=[])
