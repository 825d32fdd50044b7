"""The OpenAPI document: every route of every door with what it requires, made from the routes themselves."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from headgate import __version__
from headgate.decide import Op
from headgate.doors.gravitino import errors
from headgate.doors.routing import Answer, DoorCall, Open, Route, Routes
from headgate.doors.server import Door
from headgate.model.errors import HeadgateError

PATH: Final = "/api/openapi.json"

_ERROR: Final = {
    "type": "object",
    "required": ["code", "type", "message"],
    "properties": {
        "code": {"type": "integer"},
        "type": {"type": "string"},
        "message": {"type": "string"},
    },
}


class OpenApiDoor:
    """Serves the document of these routes and its own."""

    name = "openapi"
    prefix = PATH

    def __init__(self, described: Sequence[Route]) -> None:
        own = Routes()

        @own.on("GET", PATH, Open.AUTHENTICATED)
        def openapi(call: DoorCall) -> Any:
            """Get this document."""
            return Answer(self.text)

        self.routes = own.routes
        self.document = document([*described, *own.routes])
        self.text = msgspec.json.encode(self.document)

    def admit(self, headers: dict[str, str], route: Route | None) -> None:
        """Any media type will do."""

    def error(self, error: HeadgateError) -> Answer:
        return errors.error(error)

    def no_route(self, path: str, methods: list[str]) -> Answer:
        return errors.no_route(methods)


def with_document(doors: Sequence[Door]) -> list[Door]:
    """These doors and the one that describes them."""
    return [OpenApiDoor([route for door in doors for route in door.routes]), *doors]


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """The routes as an OpenAPI 3.1 document."""
    described = sorted(routes, key=lambda route: (route.path, route.method))
    bodies = [route.body for route in described if route.body is not None]
    schemas, components = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    schema_of = iter(schemas)
    paths: dict[str, dict[str, Any]] = {}
    seen: Counter[str] = Counter()
    for route in described:
        body = None if route.body is None else next(schema_of)
        name = f"{route.handler.__module__.rpartition('.')[2]}.{route.handler.__name__}"
        seen[name] += 1
        # A handler may serve several paths; generated clients need a name for each.
        unique = name if seen[name] == 1 else f"{name}_{seen[name]}"
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(unique, route, body)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headgate", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": _ERROR},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}],
    }


def _operation(name: str, route: Route, body: dict[str, Any] | None) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": route.summary,
        "x-headgate-requires": requirement(route),
        "parameters": [
            {
                "name": segment[1:-1],
                "in": "path",
                "required": True,
                "schema": {"type": "string", "minLength": 1},
            }
            for segment in route.segments
            if segment.startswith("{")
        ]
        + [{"name": name, "in": "query", "schema": {"type": "string"}} for name in route.query],
        "responses": {
            "200": {"description": "Done"},
            "default": {
                "description": "Refused, or failed",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    elif route.raw:
        content = {media: {"schema": schema} for media, schema in route.raw.items()}
        operation["requestBody"] = {"required": False, "content": content}
    if route.requires is Open.ANYONE:
        operation["security"] = []
    return operation


def requirement(route: Route) -> str | dict[str, str]:
    """The requirement of a route: an operation in lower case, one for each type, or which callers it is open to."""
    match route.requires:
        case Op():
            return route.requires.name.lower()
        case Open():
            return route.requires.value
        case by_type:
            return {type.value: op.name.lower() for type, op in sorted(by_type.items())}
