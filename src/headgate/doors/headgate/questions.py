"""Questions: may someone do something, and why. One as an object, many as a list."""

from typing import Any

import msgspec

from headgate.doors.routing import DoorCall, Open, Routes, at_least
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.privileges import Privilege
from headgate.steward.access.questions import Question, asked_operation
from headgate.steward.findings import OperationFinding

routes = Routes("/api/headgate")


class AskedQuestion(msgspec.Struct, frozen=True):
    """A question: an operation or a privilege, on an object, for the caller or somebody else."""

    metalake: str
    type: str
    fullName: str  # noqa: N815
    operation: str | None = None
    privilege: str | None = None
    user: str | None = None
    groups: list[str] | None = None


@routes.on("POST", "/check", Open.AUTHENTICATED, body=AskedQuestion | list[AskedQuestion])
def check(call: DoorCall) -> Any:
    """Say whether someone may do something; about oneself anyone may ask."""
    questions = _questions(call.body)
    found = call.steward.questions.check(call.caller, questions, at_least(call.headers))
    verdicts = [_verdict(finding) for finding in found]
    if isinstance(call.body, AskedQuestion):
        return {"code": 0, "verdict": verdicts[0]}
    return {"code": 0, "verdicts": verdicts}


@routes.on("POST", "/explain", Open.AUTHENTICATED, body=AskedQuestion | list[AskedQuestion])
def explain(call: DoorCall) -> Any:
    """Say why someone may or may not do something: the role, grant, level or owner, or the privilege missing."""
    questions = _questions(call.body)
    found = call.steward.questions.explain(call.caller, questions, at_least(call.headers))
    if isinstance(call.body, AskedQuestion):
        return {"code": 0, "explanation": found[0]}
    return {"code": 0, "explanations": found}


def _questions(body: AskedQuestion | list[AskedQuestion]) -> list[Question]:
    return [_question(asked) for asked in ([body] if isinstance(body, AskedQuestion) else body)]


def _question(asked: AskedQuestion) -> Question:
    ref = ObjectRef.parse(asked.metalake, ObjectType.parse(asked.type), asked.fullName)
    if (asked.operation is None) == (asked.privilege is None):
        raise IllegalArgument("a question asks for an operation or for a privilege", hint="name one of them")
    asks = Privilege.parse(asked.privilege) if asked.privilege else asked_operation(asked.operation or "")
    groups = None if asked.groups is None else frozenset(asked.groups)
    return Question(ref, asks, asked.user, groups)


def _verdict(finding: OperationFinding) -> dict[str, Any]:
    asked = "privilege" if isinstance(finding.op, Privilege) else "operation"
    return {
        "allowed": finding.allowed,
        "user": finding.identity.user,
        asked: finding.op.name.lower(),
        "metalake": finding.ref.metalake,
        "type": finding.ref.type,
        "fullName": finding.ref.full_name,
        "revision": finding.authority.revision,
        **({} if finding.identity.groups_known else {"groupsKnown": False}),
    }
