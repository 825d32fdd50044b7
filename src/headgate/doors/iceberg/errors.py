"""How the Iceberg door says that something went wrong: the error body, type and status of the REST specification."""

from typing import Any, Final

from headgate.doors.routing import Answer
from headgate.model import errors as e
from headgate.model.objects import ObjectType


class Unprocessable(e.HeadgateError):
    """The request contradicts itself."""


_MEANING: Final[tuple[tuple[type[e.HeadgateError], tuple[int, str]], ...]] = (
    (Unprocessable, (422, "UnprocessableEntityException")),
    (e.IllegalArgument, (400, "BadRequestException")),
    (e.Unauthenticated, (401, "NotAuthorizedException")),
    (e.Forbidden, (403, "ForbiddenException")),
    (e.NotFound, (404, "NotFoundException")),
    (e.Unsupported, (406, "UnsupportedOperationException")),
    (e.AlreadyExists, (409, "AlreadyExistsException")),
    (e.NotEmpty, (409, "NamespaceNotEmptyException")),
    (e.Conflict, (409, "CommitFailedException")),
    (e.NotInUse, (403, "ForbiddenException")),
    (e.InUse, (409, "AlreadyExistsException")),
    (e.ConnectionFailed, (503, "ServiceUnavailableException")),
    (e.Unavailable, (503, "ServiceUnavailableException")),
    (e.HeadgateError, (500, "InternalServerError")),
)
"""First match wins: the narrow before the wide."""

_MISSING: Final = {
    ObjectType.METALAKE: "NoSuchWarehouseException",
    ObjectType.CATALOG: "NoSuchWarehouseException",
    ObjectType.SCHEMA: "NoSuchNamespaceException",
    ObjectType.TABLE: "NoSuchTableException",
    ObjectType.VIEW: "NoSuchViewException",
    "plan": "NoSuchPlanIdException",
    "plan-task": "NoSuchPlanTaskException",
}


def error(error: e.HeadgateError) -> Answer:
    """The answer for an error."""
    status, type = next(meaning for kind, meaning in _MEANING if isinstance(error, kind))
    if isinstance(error, e.NotFound) and error.about in _MISSING:
        type = _MISSING[error.about]
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status == 503:
        headers["Retry-After"] = "2"
    return Answer(body(str(error), type, status), status, headers)


def body(message: str, type: str, code: int) -> dict[str, Any]:
    return {"error": {"message": message, "type": type, "code": code}}
