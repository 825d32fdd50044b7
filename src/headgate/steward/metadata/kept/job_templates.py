"""Job templates: what could be run. Nothing here runs one yet."""

from typing import Any, Literal, NoReturn

import msgspec

from headgate.decide import Op
from headgate.model.errors import IllegalArgument, Unsupported
from headgate.model.objects import ObjectType, clip
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.kept.entries import Entries
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates


class _Template(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    executable: str
    arguments: list[str] | None = None
    environments: dict[str, str] | None = None
    custom_fields: dict[str, str] | None = None


class ShellTemplate(_Template, frozen=True, rename="camel", kw_only=True):
    """A script with its arguments."""

    job_type: Literal["shell"] = "shell"
    scripts: list[str] | None = None


class SparkTemplate(_Template, frozen=True, rename="camel", kw_only=True):
    """A Spark application."""

    job_type: Literal["spark"] = "spark"
    class_name: str | None = None
    jars: list[str] | None = None
    files: list[str] | None = None
    archives: list[str] | None = None
    configs: dict[str, str] | None = None


def checked_template(kind: str, parts: dict[str, Any]) -> dict[str, Any]:
    """A template as it is kept, or a refusal of what a job of this kind does not have."""
    types: dict[str, type[_Template]] = {"shell": ShellTemplate, "spark": SparkTemplate}
    wanted = types.get(kind.lower())
    if wanted is None:
        raise IllegalArgument(f"'{clip(kind)}' is not a kind of job", hint=f"use one of {', '.join(types)}")
    try:
        template = msgspec.convert({**parts, "jobType": kind.lower()}, wanted)
    except msgspec.ValidationError as error:
        raise IllegalArgument(f"the job template cannot be read: {error}") from None
    if not template.executable.strip():
        raise IllegalArgument("a job template needs an executable")
    kept: dict[str, Any] = msgspec.to_builtins(template)
    return kept


class JobTemplates(Entries):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel, ObjectType.JOB_TEMPLATE, Op.LIST_JOB_TEMPLATES)

    @act(Op.REGISTER_JOB_TEMPLATE)
    def register(
        self, permit: Permit, name: str, comment: str | None, kind: str, parts: dict[str, Any]
    ) -> ObjectRecord:
        return self.create(permit, name, comment, {}, checked_template(kind, parts))

    @act(Op.ALTER_JOB_TEMPLATE)
    def redefine(
        self, permit: Permit, updates: Updates, contents: tuple[tuple[str, dict[str, Any]], ...]
    ) -> ObjectRecord:
        """Change name, comment, or the parts that `contents` names; the kind of job stays what it is."""

        def after(body: dict[str, Any]) -> dict[str, Any]:
            for kind, parts in contents:
                if kind.lower() != body["jobType"]:
                    raise IllegalArgument(f"the template is for {body['jobType']} jobs and stays so")
                body = checked_template(kind, {**body, **parts})
            return body

        return self.alter(permit, updates, after)

    @act(Op.RUN_JOB)
    def run(self, permit: Permit) -> NoReturn:
        """Refuse to run a job, once the caller may."""
        raise Unsupported(
            f"job template '{clip(permit.ref.name)}' cannot be run: this server has no job executor",
            hint="run it with your own scheduler",
        )
