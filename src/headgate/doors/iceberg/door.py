"""The door itself: all routes of the REST catalog and its errors."""

from typing import Final

from headgate.doors.iceberg import access, config, errors, metrics, namespaces, oauth, scans, tables, views
from headgate.doors.routing import Answer, Route
from headgate.model.errors import HeadgateError

PARTS: Final = (config, oauth, namespaces, tables, views, scans, access, metrics)


class IcebergDoor:
    name = "iceberg"
    prefix = "/iceberg"

    def __init__(self) -> None:
        self.routes = [route for part in PARTS for route in part.routes.routes]
        config.ENDPOINTS[:] = [
            f"{route.method} {route.path.removeprefix('/iceberg')}"
            for route in self.routes
            if "{prefix}" in route.path
        ]

    def admit(self, headers: dict[str, str], route: Route | None) -> None:
        """Any client may knock."""

    def error(self, error: HeadgateError) -> Answer:
        return errors.error(error)

    def no_route(self, path: str, methods: list[str]) -> Answer:
        if methods:
            refusal = errors.body("the path has no such method", "UnsupportedOperationException", 405)
            return Answer(refusal, 405, {"Allow": ", ".join(methods)})
        return Answer(errors.body("there is no such path", "NotFoundException", 404), 404)
