"""Policies as Gravitino's API keeps them: a type, a content that the type prescribes, and whether it is enabled."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.decide.operations import LOADS
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType, clip
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.policies.authoring import Authoring
from headgate.steward.policies.labels import Assign, Assigned, Columns, Labels
from headgate.steward.updates import Updates
from headgate.store.policies import OWN

Content = dict[str, Any]


class _Custom(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    supportedObjectTypes: list[str]  # noqa: N815
    customRules: dict[str, Any] | None = None  # noqa: N815
    properties: dict[str, str] | None = None


class _Compaction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    minDataFileMse: int | None = None  # noqa: N815
    minDeleteFileNumber: int | None = None  # noqa: N815
    dataFileMseWeight: int | None = None  # noqa: N815
    deleteFileNumberWeight: int | None = None  # noqa: N815
    maxPartitionNum: int | None = None  # noqa: N815
    rewriteOptions: dict[str, str] | None = None  # noqa: N815


def _custom(content: Content) -> Content:
    read = msgspec.convert(content, _Custom)
    types = sorted({ObjectType.parse(type).value for type in read.supportedObjectTypes})
    if not types:
        raise IllegalArgument("supportedObjectTypes cannot be empty")
    kept = {"customRules": read.customRules, "supportedObjectTypes": types, "properties": read.properties}
    # Clients compare a content with what they sent, and tell one without properties from one with none.
    return {key: value for key, value in kept.items() if value is not None}


_OPTION: Final = re.compile(r"(?!job\.options\.)[A-Za-z0-9._-]+")


def _compaction(content: Content) -> Content:
    read = msgspec.convert(content, _Compaction)
    for field in read.__struct_fields__:
        value = getattr(read, field)
        least = 1 if field == "maxPartitionNum" else 0
        if isinstance(value, int) and value < least:
            raise IllegalArgument(f"{field} must be at least {least}")
    for option, value in (read.rewriteOptions or {}).items():
        if not _OPTION.fullmatch(option) or not value.strip():
            raise IllegalArgument(
                f"rewrite option '{clip(option)}' cannot be used",
                hint="letters, digits, '.', '_' and '-', not beginning with job.options., and a value",
            )
    return content


CONTENTS: Final[dict[str, Callable[[Content], Content]]] = {
    "custom": _custom,
    "system_iceberg_compaction": _compaction,
}
"""The types of policy; each gives the content as it is kept, or refuses it."""


def checked_content(type: str, content: Content) -> tuple[str, Content]:
    """The type and content of a policy as they are kept, or a refusal that names what is wrong."""
    check = CONTENTS.get(type.lower())
    if check is None:
        raise IllegalArgument(
            f"'{clip(type)}' is not a type of policy", hint=f"use one of {', '.join((OWN, *CONTENTS))}"
        )
    try:
        return type.lower(), check(content)
    except msgspec.ValidationError as error:
        raise IllegalArgument(f"the content of the policy cannot be read: {error}") from None


class Policies(Labels):
    """Policies, stored and attached to objects. Those of Headgate's own type go by their own rules."""

    def __init__(self, kernel: Kernel, columns: Columns, authoring: Authoring) -> None:
        super().__init__(kernel, ObjectType.POLICY, Op.LIST_POLICIES, columns)
        self.authoring = authoring

    @act(Op.CREATE_POLICY)
    def define(
        self, permit: Permit, name: str, comment: str | None, type: str, enabled: bool, content: Content
    ) -> ObjectRecord:
        if type.lower() == OWN:
            policy = self.authoring.sent(name, content, enabled, comment)
            return self._with_place(self.authoring.define(permit, policy))
        kind, kept = checked_content(type, content)
        body = {"policyType": kind, "enabled": enabled, "content": kept}
        return self.create(permit, name, comment, {}, body)

    @act(Op.ALTER_POLICY)
    def redefine(
        self, permit: Permit, updates: Updates, contents: tuple[tuple[str, Content], ...]
    ) -> ObjectRecord:
        """Change name, comment or content. The type and the types of object it is for stay what they are."""
        if self._own(permit):
            if any(type.lower() != OWN for type, _ in contents):
                raise IllegalArgument(f"the type of the policy is {OWN} and stays so")
            content = contents[-1][1] if contents else None
            return self._with_place(self.authoring.redefine(permit, updates.name, updates.comment, content))

        def replaced(body: dict[str, Any]) -> dict[str, Any]:
            for type, content in contents:
                kind, kept = checked_content(type, content)
                if kind != body["policyType"]:
                    raise IllegalArgument(f"the type of the policy is {body['policyType']} and stays so")
                before = body["content"].get("supportedObjectTypes")
                if kept.get("supportedObjectTypes") != before:
                    raise IllegalArgument(f"the policy is for {', '.join(before)} and stays so")
                body = {**body, "content": kept}
            return body

        return self.alter(permit, updates, replaced)

    @act(Op.SET_POLICY)
    def enable(self, permit: Permit, enabled: bool) -> None:
        if self._own(permit):
            self.authoring.enable(permit, enabled)
        else:
            self.alter(permit, Updates(), lambda body: {**body, "enabled": enabled})

    @act(Op.DROP_POLICY)
    def drop(self, permit: Permit) -> ObjectRecord:
        return self.authoring.drop(permit) if self._own(permit) else super().drop(permit)

    # -- as they are shown -----------------------------------------------------------------------------------------

    @act(Op.LOAD_POLICY)
    def load(self, permit: Permit) -> ObjectRecord:
        return self._with_place(super().load(permit))

    @act(Op.LIST_POLICIES)
    def whole(self, permit: Permit) -> list[ObjectRecord]:
        """Those that the caller may see, with all that they say."""
        return [self._with_place(record) for record in super().list(permit)]

    @act(*LOADS.values())
    def of(self, permit: Permit) -> list[Assigned]:
        return [msgspec.structs.replace(x, label=self._with_place(x.label)) for x in super().of(permit)]

    @act(*LOADS.values(), also=(Op.APPLY_POLICY,))
    def one_of(self, permit: Permit, label: Permit) -> Assigned:
        found = super().one_of(permit, label)
        return msgspec.structs.replace(found, label=self._with_place(found.label))

    @act(*LOADS.values(), also=(Op.APPLY_TAG, Op.APPLY_POLICY))
    def assign(self, on: Permit, add: Sequence[Assign], remove: Sequence[Assign]) -> list[Assigned]:
        for item in (*add, *remove):
            if self._own(item.permit):
                raise IllegalArgument(
                    f"policy '{clip(item.permit.ref.name)}' says itself what it is on",
                    hint="change 'on' in its content",
                )
        return super().assign(on, add, remove)

    def _own(self, permit: Permit) -> bool:
        return permit.node.id in permit.authority.policies

    def _with_place(self, record: ObjectRecord) -> ObjectRecord:
        if record.body["policyType"] != OWN:
            return record
        return self.authoring.with_place(self.kernel.authority(), record)
