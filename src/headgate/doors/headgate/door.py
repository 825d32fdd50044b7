"""The door itself: its routes and its errors."""

from typing import Final

from headgate.doors.gravitino import errors
from headgate.doors.headgate import (
    audit,
    catalogs,
    engines,
    keys,
    lenses,
    people,
    policies,
    questions,
    reconciliation,
    syncs,
    tags,
    tokens,
)
from headgate.doors.routing import Answer, Route
from headgate.model.errors import HeadgateError

PARTS: Final = (
    questions,
    people,
    audit,
    reconciliation,
    tokens,
    tags,
    policies,
    syncs,
    lenses,
    keys,
    catalogs,
    engines,
)


class HeadgateDoor:
    name = "headgate"
    prefix = "/api/headgate"

    def __init__(self) -> None:
        self.routes: list[Route] = [route for part in PARTS for route in part.routes.routes]

    def admit(self, headers: dict[str, str], route: Route | None) -> None:
        """Any media type will do."""

    def error(self, error: HeadgateError) -> Answer:
        return errors.error(error)

    def no_route(self, path: str, methods: list[str]) -> Answer:
        return errors.no_route(methods)
