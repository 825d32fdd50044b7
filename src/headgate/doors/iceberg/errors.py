"""How the Iceberg door says that something went wrong: the error body, type and status of the REST specification."""

from typing import Any, Final

from headgate.decide import Op, visible
from headgate.decide.verdict import allowed
from headgate.doors.routing import Answer
from headgate.model import errors as e
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectRef, ObjectType, clip
from headgate.steward.findings import OperationFinding, Refused


class Unprocessable(e.HeadgateError):
    """The request contradicts itself."""


_MEANING: Final[tuple[tuple[type[e.HeadgateError], tuple[int, str]], ...]] = (
    (Unprocessable, (422, "UnprocessableEntityException")),
    (e.Damaged, (422, "UnprocessableEntityException")),
    (e.IllegalArgument, (400, "IllegalArgumentException")),
    (e.Unauthenticated, (401, "NotAuthorizedException")),
    (e.Forbidden, (403, "ForbiddenException")),
    (e.NotFound, (404, "NotFoundException")),
    (e.Unsupported, (406, "UnsupportedOperationException")),
    (e.AlreadyExists, (409, "AlreadyExistsException")),
    (e.NotEmpty, (409, "NamespaceNotEmptyException")),
    (e.Conflict, (409, "CommitFailedException")),
    (e.NotInUse, (403, "ForbiddenException")),
    (e.InUse, (409, "AlreadyExistsException")),
    # INVARIANT: never an answer that clients take for "not made": they would delete the files that they wrote for it.
    (e.OutcomeUnknown, (504, "CommitStateUnknownException")),
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


_WORDS: Final = {
    ObjectType.METALAKE: "Metalake",
    ObjectType.CATALOG: "Warehouse",
    ObjectType.SCHEMA: "Namespace",
    ObjectType.TABLE: "Table",
    ObjectType.VIEW: "View",
}

_LISTS: Final = {ObjectType.TABLE: Op.LIST_TABLES, ObjectType.VIEW: Op.LIST_VIEWS}


def meaning(kind: type[e.HeadgateError]) -> tuple[int, str]:
    """The status and exception name of a kind of error."""
    return next(means for wide, means in _MEANING if issubclass(kind, wide))


def error(error: e.HeadgateError) -> Answer:
    """The answer for an error."""
    if isinstance(error, Refused) and _unknowable(error.finding):
        # INVARIANT: the very answer that a missing table gets, so nobody learns which of the two it is.
        error = e.NotFound("", about=error.finding.ref.type, ref=error.finding.ref)
    status, name = meaning(type(error))
    if isinstance(error, e.NotFound) and error.about in _MISSING:
        name = _MISSING[error.about]
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status == 503:
        headers["Retry-After"] = "2"
    return Answer(body(_message(error), name, status), status, headers)


def _unknowable(finding: OperationFinding) -> bool:
    """Whether a table or view that was refused must not be known to exist: no list would show it to the caller."""
    lists = _LISTS.get(finding.ref.type)
    if lists is None:
        return False
    if not finding.exists:
        return True
    above = finding.authority.objects[finding.node.parent]
    may_list = allowed(finding.authority, finding.caller, lists, above)
    return not may_list or not any(visible(finding.authority, finding.caller, lists, [finding.node]))


def _message(error: e.HeadgateError) -> str:
    """Clients recognise some errors by their words, which are Iceberg's own."""
    ref = error.ref
    if ref is not None and ref.type in _WORDS:
        if isinstance(error, e.NotFound):
            return f"{_WORDS[ref.type]} does not exist: {_name(ref)}"
        if isinstance(error, e.NameTaken):
            return f"{_WORDS[ref.type]} with same name already exists: {_name(ref)}"
        if isinstance(error, e.AlreadyExists):
            return f"{_WORDS[ref.type]} already exists: {_name(ref)}"
    return str(error)


def _name(ref: ObjectRef) -> str:
    parts = ref.path[1:] if len(ref.path) > 1 else ref.path or (ref.metalake,)
    return clip(".".join(part.replace(SCHEMA_SEPARATOR, ".") for part in parts), 300)


def body(message: str, type: str, code: int) -> dict[str, Any]:
    return {"error": {"message": message, "type": type, "code": code}}
