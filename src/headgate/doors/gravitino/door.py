"""The door itself: all routes of the API, its media type and its errors."""

import re
from typing import Final

from headgate.doors.gravitino import credentials, elsewhere, errors, info, policies, tags
from headgate.doors.gravitino.access import groups, owners, permissions, roles, users
from headgate.doors.gravitino.metadata import (
    catalogs,
    filesets,
    functions,
    jobs,
    metalakes,
    models,
    partitions,
    schemas,
    statistics,
    tables,
    topics,
    views,
)
from headgate.doors.routing import Answer, Route
from headgate.model.errors import HeadgateError, IllegalArgument

PARTS: Final = (
    info,
    metalakes,
    catalogs,
    schemas,
    tables,
    partitions,
    statistics,
    users,
    groups,
    roles,
    permissions,
    owners,
    tags,
    policies,
    filesets,
    topics,
    models,
    views,
    functions,
    jobs,
    credentials,
    elsewhere,
)

_ACCEPT: Final = re.compile(r"application/vnd\.gravitino\.v(\d+)\+json")


class UnknownMediaVersion(HeadgateError):
    """The client asks for a version of the API that is not spoken here."""


class GravitinoDoor:
    name = "gravitino"
    prefix = "/api"

    def __init__(self) -> None:
        self.routes: list[Route] = [route for part in PARTS for route in part.routes.routes]

    def admit(self, headers: dict[str, str], route: Route | None) -> None:
        accept = headers.get("accept", "")
        asked = _ACCEPT.search(accept) or _ACCEPT.search(headers.get("content-type", ""))
        spoken = (1,) if route is None else route.versions
        if asked is not None and asked[1] not in map(str, spoken):
            raise UnknownMediaVersion(
                f"version {asked[1][:20]} of the API is not spoken here", hint="ask for version 1"
            )

    def error(self, error: HeadgateError) -> Answer:
        if isinstance(error, UnknownMediaVersion):
            unknown = errors.error(IllegalArgument(error.message, hint=error.hint))
            return Answer(unknown.body, 406)
        return errors.error(error)

    def no_route(self, path: str, methods: list[str]) -> Answer:
        return errors.no_route(methods)
