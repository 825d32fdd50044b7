"""Job templates and jobs: ``/api/metalakes/{metalake}/jobs``."""

from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes, read_body
from headgate.model.errors import IllegalArgument, Unsupported
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.records import ObjectRecord
from headgate.model.secrets import without_secrets

routes = Routes("/api/metalakes/{metalake}/jobs")

_template = wire.beside(ObjectType.JOB_TEMPLATE)
_job = wire.beside(ObjectType.JOB)

_MAY_HOLD_SECRETS: Final = ("environments", "customFields", "configs")


class RegisterJobTemplate(msgspec.Struct, frozen=True):
    jobTemplate: dict[str, Any]  # noqa: N815


class UpdateTemplate(msgspec.Struct, frozen=True, tag_field="@type", tag="updateTemplate"):
    newTemplate: dict[str, Any]  # noqa: N815


class AlterJobTemplate(msgspec.Struct, frozen=True):
    updates: list[wire.Rename | wire.UpdateComment | UpdateTemplate]


class Run(msgspec.Struct, frozen=True):
    jobTemplateName: str  # noqa: N815
    jobConf: dict[str, str] | None = None  # noqa: N815


def shown(record: ObjectRecord) -> dict[str, Any]:
    """A template on the wire, without the secrets in its settings."""
    body = dict(record.body)
    for part in _MAY_HOLD_SECRETS:
        if body.get(part):
            body[part] = without_secrets(body[part])
    members = {"name": record.name, "comment": record.comment, **body, "audit": wire.audit(record.audit)}
    return wire.present(members)


@routes.on("GET", "/templates", Op.LIST_JOB_TEMPLATES, wire.metalake, query=("details", *wire.PAGE))
def list_templates(call: DoorCall) -> Any:
    """List the job templates that the caller may use."""
    templates = call.steward.job_templates
    if not call.flag("details"):
        nodes, token = wire.page(call, templates.nodes(call.permit), lambda node: node.name)
        return wire.ok(names=[node.name for node in nodes], nextPageToken=token)
    found, token = wire.page(call, templates.list(call.permit), lambda record: record.name)
    return wire.ok(jobTemplates=[shown(record) for record in found], nextPageToken=token)


@routes.on("POST", "/templates", Op.REGISTER_JOB_TEMPLATE, wire.metalake, body=RegisterJobTemplate)
def register_template(call: DoorCall) -> Any:
    """Register a job template."""
    sent: dict[str, Any] = call.body.jobTemplate
    comment = sent.get("comment")
    call.steward.job_templates.register(
        call.permit,
        _text(sent, "name"),
        None if comment is None else _text(sent, "comment"),
        _text(sent, "jobType"),
        sent,
    )
    return wire.ok()


@routes.on("GET", "/templates/{job_template}", Op.LOAD_JOB_TEMPLATE, _template)
def load_template(call: DoorCall) -> Any:
    """Load a job template."""
    return wire.ok(jobTemplate=shown(call.steward.job_templates.load(call.permit)))


@routes.on("PUT", "/templates/{job_template}", Op.ALTER_JOB_TEMPLATE, _template, body=AlterJobTemplate)
def alter_template(call: DoorCall) -> Any:
    """Rename a job template, change its comment or its parts."""
    items = call.body.updates
    contents = tuple(_parts(item.newTemplate) for item in items if isinstance(item, UpdateTemplate))
    altered = call.steward.job_templates.redefine(call.permit, wire.updates(items), contents)
    return wire.ok(jobTemplate=shown(altered))


def _parts(sent: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of a template and its new parts: ``newJars`` is what ``jars`` will be, null leaves a part as it is."""
    parts = {}
    for key, value in sent.items():
        if key != "@type" and value is not None:
            name = key.removeprefix("new")
            parts[name[:1].lower() + name[1:]] = value
    return _text(sent, "@type"), parts


def _text(sent: dict[str, Any], key: str) -> str:
    value = sent.get(key)
    if not isinstance(value, str):
        raise IllegalArgument(f"'{key}' of a job template must be a text")
    return value


@routes.on(
    "DELETE", "/templates/{job_template}", Op.DROP_JOB_TEMPLATE, _template, absent=wire.ok(dropped=False)
)
def drop_template(call: DoorCall) -> Any:
    """Drop a job template."""
    call.steward.job_templates.drop(call.permit)
    return wire.ok(dropped=True)


def _wanted(call: DoorCall) -> ObjectRef:
    """The template to run, which only the body tells; one that cannot be read is refused afterwards."""
    try:
        body: Run = read_body(call.raw, Run)
    except IllegalArgument:
        return wire.metalake(call)
    return ObjectRef(call.params["metalake"], ObjectType.JOB_TEMPLATE, (body.jobTemplateName,))


@routes.on("GET", "/runs", Op.LIST_JOBS, wire.metalake, query=("jobTemplateName", *wire.PAGE))
def list_jobs(call: DoorCall) -> Any:
    """List the jobs: none, for this server runs none."""
    return wire.ok(jobs=[])


@routes.on("POST", "/runs", Op.RUN_JOB, _wanted, body=Run)
def run_job(call: DoorCall) -> Any:
    """Run a job of a template: refused, for this server has no job executor."""
    call.steward.job_templates.run(call.permit)


@routes.on("GET", "/runs/{job}", Op.GET_JOB, _job)
@routes.on("POST", "/runs/{job}", Op.CANCEL_JOB, _job)
def get_or_cancel_job(call: DoorCall) -> Any:
    """Load or cancel a job: there is none, so nobody gets past the permit."""
    raise Unsupported("this server has no job executor")
