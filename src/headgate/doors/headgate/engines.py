"""Settings of engines: ``/api/headgate/engine-config``."""

from typing import Any

from headgate.decide import Op
from headgate.doors.headgate.audit import metalake_of
from headgate.doors.routing import DoorCall, Routes
from headgate.engines.config.catalog import EngineCatalog
from headgate.engines.config.names import parse_engine, parse_format, parse_through
from headgate.engines.config.writing import engine_config
from headgate.model.errors import IllegalArgument
from headgate.model.objects import CatalogType, ObjectRef, ObjectType

routes = Routes("/api/headgate")


def _catalog(call: DoorCall) -> ObjectRef:
    return ObjectRef(metalake_of(call).metalake, ObjectType.CATALOG, (_field(call, "catalog", "a name"),))


def _field(call: DoorCall, name: str, means: str) -> str:
    found = call.query.get(name)
    if not found:
        raise IllegalArgument(f"'{name}' is missing", hint=f"add &{name}=…: {means}")
    return found


@routes.on(
    "GET",
    "/engine-config",
    Op.LOAD_CATALOG,
    _catalog,
    query=("metalake", "catalog", "engine", "through", "format", "server"),
)
def write_engine_config(call: DoorCall) -> Any:
    """Write the settings with which an engine reads a catalog."""
    engine = parse_engine(call.query.get("engine"))
    through = parse_through(call.query.get("through"))
    format = parse_format(engine, call.query.get("format"))
    server = _field(call, "server", "the address at which engines reach this server")
    record = call.steward.catalogs.load(call.permit)
    # INVARIANT: what stands in the text is made of what the caller is shown of the catalog, and of nothing else.
    catalog = EngineCatalog(
        call.permit.ref.metalake,
        record.name,
        CatalogType(record.body["type"]),
        record.body["provider"],
        call.steward.catalogs.shown(call.permit, record),
        server,
    )
    return {"code": 0, "config": engine_config(catalog, engine, through, format)}
