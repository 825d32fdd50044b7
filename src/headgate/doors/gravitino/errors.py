"""How the Gravitino door says that something went wrong: code, exception name and HTTP status."""

from typing import Final
from urllib.parse import quote

from headgate.doors.routing import Answer
from headgate.model import errors as e
from headgate.model.objects import ObjectType

_MEANING: Final[tuple[tuple[type[e.HeadgateError], tuple[int, int, str]], ...]] = (
    (e.IllegalPrivilege, (1001, 400, "IllegalPrivilegeException")),
    (e.IllegalRole, (1001, 400, "IllegalRoleException")),
    (e.IllegalObject, (1001, 400, "IllegalMetadataObjectException")),
    (e.IllegalStatisticName, (1001, 400, "IllegalStatisticNameException")),
    (e.IllegalArgument, (1001, 400, "IllegalArgumentException")),
    (e.NotFound, (1003, 404, "NoSuch{}Exception")),
    (e.AlreadyExists, (1004, 409, "{}AlreadyExistsException")),
    (e.NotEmpty, (1005, 409, "NonEmpty{}Exception")),
    (e.Unsupported, (1006, 405, "UnsupportedOperationException")),
    (e.ConnectionFailed, (1007, 502, "ConnectionFailedException")),
    (e.Forbidden, (1008, 403, "ForbiddenException")),
    (e.NotInUse, (1009, 409, "{}NotInUseException")),
    (e.InUse, (1010, 409, "{}InUseException")),
    (e.Unauthenticated, (1011, 401, "UnauthorizedException")),
    (e.Conflict, (1012, 409, "OptimisticLockException")),
    (e.Unavailable, (1002, 503, "ServiceUnavailableException")),
    (e.HeadgateError, (1002, 500, "RuntimeException")),
)
"""First match wins: the narrow before the wide."""

_NAMES: Final = {
    ObjectType.JOB_TEMPLATE: "JobTemplate",
    "model-version": "ModelVersion",
    "model-alias": "ModelVersionAliasesAlreadyExistException",
    "model-version-uri-name": "ModelVersionURIName",
    "location-name": "LocationName",
    "file": "NotFoundException",
    "tag-association": "TagAlreadyAssociatedException",
    "policy-association": "PolicyAlreadyAssociatedException",
    "metadata-object": "MetadataObject",
    "principal": "NotFoundException",
    "token": "NotFoundException",
}


NEXT: Final = "Headgate-Next"
"""The header with what to do next. The message says it too, for clients that know of the message only; the command line
says it once, and need not guess by the status what fits the error."""
_PLAIN: Final = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")
"""What stands in a header as it is; the rest is percent-encoded."""


def error(error: e.HeadgateError) -> Answer:
    """The answer for an error."""
    code, status, pattern = meaning(type(error))
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status == 503:
        headers["Retry-After"] = "1"
    if error.hint:
        headers[NEXT] = quote(error.hint, safe=_PLAIN)
    body = {"code": code, "type": _type(pattern, error), "message": str(error)}
    return Answer(body, status, headers)


def meaning(kind: type[e.HeadgateError]) -> tuple[int, int, str]:
    """The code, status and exception name of a kind of error; `{}` stands for the kind of object."""
    return next(means for wide, means in _MEANING if issubclass(kind, wide))


def no_route(methods: list[str]) -> Answer:
    """The answer for a path that is not there, or that has only these methods."""
    if methods:
        body = {
            "code": 1006,
            "type": "UnsupportedOperationException",
            "message": "the path has no such method",
        }
        return Answer(body, 405, {"Allow": ", ".join(methods)})
    return Answer({"code": 1003, "type": "NotFoundException", "message": "there is no such path"}, 404)


def _type(pattern: str, error: e.HeadgateError) -> str:
    if "{}" not in pattern:
        return pattern
    about = error.about
    if about is None:
        return "NotFoundException" if isinstance(error, e.NotFound) else pattern.format("")
    name = _NAMES.get(about, str(about).capitalize())
    return name if name.endswith("Exception") else pattern.format(name)
