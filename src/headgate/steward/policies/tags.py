"""Tags: labels that policies ask for. One that a policy asks for stays, and stays what it is called."""

from collections.abc import Callable

from headgate.decide import Op
from headgate.decide.policies.rules import parsed
from headgate.language.errors import LanguageError
from headgate.model.errors import InUse
from headgate.model.objects import ObjectType, clip
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.kept.entries import Body
from headgate.steward.permits import Permit
from headgate.steward.policies.guard import named_policy
from headgate.steward.policies.labels import Columns, Labels
from headgate.steward.updates import Updates


class Tags(Labels):
    """Without this, somebody who may make tags could put an empty one in the place of one that policies find columns by."""

    def __init__(self, kernel: Kernel, columns: Columns) -> None:
        super().__init__(kernel, ObjectType.TAG, Op.LIST_TAGS, columns)

    @act(Op.ALTER_TAG)
    def alter(
        self,
        permit: Permit,
        updates: Updates,
        body: Callable[[Body], Body] | None = None,
        *,
        more: tuple[Permit, ...] = (),
    ) -> ObjectRecord:
        if updates.name not in (None, permit.ref.name):
            self._unused(permit)
        return super().alter(permit, updates, body, more=more)

    @act(Op.DROP_TAG)
    def drop(self, permit: Permit) -> ObjectRecord:
        self._unused(permit)
        return super().drop(permit)

    def _unused(self, permit: Permit) -> None:
        authority = self.kernel.authority()
        for rule in authority.policies.values():
            policy = authority.objects[rule.id]
            if policy.metalake != permit.node.metalake:
                continue
            try:
                used = permit.ref.name in parsed(rule.document).tags
            except LanguageError:
                used = False
            if used:
                raise InUse(
                    f"tag '{clip(permit.ref.name)}' is asked for by "
                    f"{named_policy(authority, permit.identity, rule.id)}",
                    hint="change the policy first",
                    about=ObjectType.TAG,
                )
