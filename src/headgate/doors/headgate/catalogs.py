"""Catalogs before they are there: ``/api/headgate/catalogs``. Whether a worker's Spark can use one."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino.metadata.catalogs import CreateCatalog, catalog_type
from headgate.doors.headgate.audit import metalake_of
from headgate.doors.routing import DoorCall, Routes
from headgate.steward.updates import checked_properties

routes = Routes("/api/headgate/catalogs")


@routes.on("POST", "/probe", Op.TEST_CONNECTION, metalake_of, body=CreateCatalog, query=("metalake",))
def probe(call: DoorCall) -> Any:
    """Have a worker's Spark write, read and delete a table where those of a catalog would lie."""
    body: CreateCatalog = call.body
    found = call.steward.probing.probe(
        call.permit,
        body.name,
        catalog_type(body.type),
        body.provider,
        checked_properties(body.properties),
    )
    return {"code": 0, **msgspec.to_builtins(found)}
