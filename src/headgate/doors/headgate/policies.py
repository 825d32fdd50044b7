"""Policies as code, and what one sees: plan, apply, export, lint, explain and simulate, under ``/api/headgate``."""

import datetime as dt
from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.decide.changes.effects import ComparedCircumstances
from headgate.doors.gravitino import wire
from headgate.doors.headgate.audit import metalake_of
from headgate.doors.routing import DoorCall, Open, Routes, at_least
from headgate.language.policies.export import dump
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import ActiveRoles
from headgate.steward.policies.applying import digest
from headgate.steward.policies.edits import Edit, PolicyFiles
from headgate.steward.policies.inspection import LensQuestion

routes = Routes("/api/headgate")

MAX_FILES: Final = 5_000


class File(msgspec.Struct, frozen=True):
    """A file of policy documents; its name is for messages only."""

    file: str
    text: str


class PolicyDocuments(msgspec.Struct, frozen=True):
    """Policy documents; with `whole`, policies that they do not hold go."""

    files: list[File]
    whole: bool = False
    purpose: str | None = None
    engine: str | None = None
    address: str | None = None


class AppliedDocuments(PolicyDocuments, frozen=True):
    """Documents to be made the policies; what removes one, or shows somebody more, takes the digest of its plan."""

    plan: str | None = None
    """The digest that a plan or a dry run of the same documents answered with."""
    allowEmpty: bool = False  # noqa: N815
    dryRun: bool = False  # noqa: N815


class AskedLens(msgspec.Struct, frozen=True):
    """Whose view of which table; with `policies`, as it would be under them."""

    metalake: str
    table: str
    user: str
    groups: list[str] = []
    activeRoles: list[str] | None = None  # noqa: N815
    purpose: str | None = None
    engine: str | None = None
    address: str | None = None
    at: dt.datetime | None = None
    policies: PolicyDocuments | None = None


@routes.on("POST", "/lens", Open.AUTHENTICATED, body=AskedLens)
def explain_lens(call: DoorCall) -> Any:
    """Say what someone sees of a table and why; of others to those who may ask about them, of oneself to anybody."""
    body: AskedLens = call.body
    if body.at is not None and body.at.tzinfo is None:
        raise IllegalArgument("'at' must be a time with an offset, such as 2026-01-31T12:00:00Z")
    asked = LensQuestion(
        ObjectRef.parse(body.metalake, ObjectType.TABLE, body.table),
        body.user,
        frozenset(body.groups),
        ActiveRoles() if body.activeRoles is None else ActiveRoles(False, frozenset(body.activeRoles)),
        body.purpose,
        body.engine,
        body.address,
        body.at,
    )
    files = None if body.policies is None else _files(body.policies)
    found = call.steward.inspection.explain(call.caller, asked, files, at_least=at_least(call.headers))
    return {
        "code": 0,
        "mayLoad": found.may_load,
        "because": found.because,
        "explanation": found.explanation,
    }


@routes.on("POST", "/policies/plan", Op.ASK, metalake_of, body=PolicyDocuments, query=("metalake",))
def plan_policies(call: DoorCall) -> Any:
    """Say what documents would change: which policies, and whose lens on which table from what to what."""
    plan = call.steward.inspection.plan(call.permit, _files(call.body), _circumstances(call.body))
    return {
        "code": 0,
        "changes": [_edit(edit) for edit in plan.edits],
        "digest": digest(plan.edits),
        "lenses": plan.effects,
        "wider": plan.wider,
        "writers": plan.writers,
        "asks": call.steward.applying.asks(call.permit, plan),
        "tables": plan.tables,
        "unread": plan.unread,
        "revision": call.permit.revision,
    }


@routes.on(
    "POST", "/policies/apply", Op.LOAD_METALAKE, metalake_of, body=AppliedDocuments, query=("metalake",)
)
def apply_policies(call: DoorCall) -> Any:
    """Make the policies those of the documents, all or nothing; each change takes the right to make it.

    A dry run says what would change, what of it must be agreed to, and the digest that says that it was.
    """
    body: AppliedDocuments = call.body
    if body.dryRun:
        proposal = call.steward.applying.propose(
            call.caller, call.permit.ref, _files(body), at_least=at_least(call.headers)
        )
        changes = [_edit(edit) for edit in proposal.edits]
        return {"code": 0, "changes": changes, "digest": proposal.digest, "asks": list(proposal.asks)}
    applied = call.steward.applying.apply(
        call.caller,
        call.permit.ref,
        _files(body),
        agreed=body.plan,
        allow_empty=body.allowEmpty,
        at_least=at_least(call.headers),
    )
    return wire.present(
        {
            "code": 0,
            "changes": [_edit(edit) for edit in applied.edits],
            "since": applied.since,
            "warming": applied.warming,
        }
    )


@routes.on("GET", "/policies/past", Op.READ_AUDIT, metalake_of, query=("metalake", "revision"))
def past_policies(call: DoorCall) -> Any:
    """All policies as documents, as they were at a revision."""
    text = call.query.get("revision") or ""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise IllegalArgument("'revision' says at which revision", hint="add &revision=NUMBER")
    return {"code": 0, "text": call.steward.rewinding.at(call.permit, int(text))}


@routes.on("GET", "/policies/export", Op.ASK, metalake_of, query=("metalake",))
def export_policies(call: DoorCall) -> Any:
    """All policies as documents in their one normal form."""
    return {"code": 0, "text": call.steward.inspection.export(call.permit)}


@routes.on("POST", "/policies/lint", Op.ASK, metalake_of, body=PolicyDocuments, query=("metalake",))
def lint_policies(call: DoorCall) -> Any:
    """Say what is odd about the policies that are there, or would be with the documents."""
    body: PolicyDocuments = call.body
    files = _files(body) if body.files else None
    return {"code": 0, "findings": call.steward.inspection.lint(call.permit, files, _circumstances(body))}


@routes.on(
    "GET",
    "/metalakes/{metalake}/policies/{policy}/history",
    Op.LOAD_POLICY,
    wire.beside(ObjectType.POLICY),
)
def policy_history(call: DoorCall) -> Any:
    """All that a policy ever said, and who made it so."""
    return {"code": 0, "history": call.steward.authoring.history(call.permit)}


def _files(body: PolicyDocuments) -> PolicyFiles:
    if len(body.files) > MAX_FILES:
        raise IllegalArgument(f"{len(body.files)} files were sent", hint=f"send at most {MAX_FILES}")
    return PolicyFiles(tuple((file.file, file.text) for file in body.files), body.whole)


def _circumstances(body: PolicyDocuments) -> ComparedCircumstances:
    return ComparedCircumstances(dt.datetime.now(dt.UTC), body.purpose, body.engine, body.address)


def _edit(edit: Edit) -> dict[str, Any]:
    return wire.present(
        {
            "change": edit.kind,
            "policy": edit.name,
            "before": None if edit.before is None else dump([edit.before.policy]),
            "after": None if edit.after is None else dump([edit.after]),
        }
    )
