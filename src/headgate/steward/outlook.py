"""Foresight: what someone sees and why, what a change of policies would do, and what is odd about them.

For those who may ask about others: every answer here tells of policies, people and columns alike.
"""

import datetime as dt
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from headgate.decide import Authority, Node, Op
from headgate.decide.foresight import Circumstances, Effect, effects
from headgate.decide.lint import Finding, Survey, lint
from headgate.decide.reasons import LensExplanation, explain_lens
from headgate.decide.shape import Shape
from headgate.language.export import dump
from headgate.model.errors import IllegalArgument, NotFound
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.principals import ActiveRoles, Identity
from headgate.steward.findings import examine
from headgate.steward.governance import Edit, Files, Governance, on_of
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.shapes import Shapes, tables_below
from headgate.store import keys


class Asked(msgspec.Struct, frozen=True):
    """Whose view of which table, in which circumstances."""

    table: ObjectRef
    user: str
    groups: frozenset[str] = frozenset()
    roles: ActiveRoles = ActiveRoles()
    purpose: str | None = None
    engine: str | None = None
    address: str | None = None
    at: dt.datetime | None = None


class Told(msgspec.Struct, frozen=True):
    """The view and its reasons, and whether the table may be read at all."""

    may_load: bool
    because: str
    explanation: LensExplanation


class Plan(msgspec.Struct, frozen=True):
    """What a change of policies would do."""

    edits: tuple[Edit, ...]
    effects: tuple[Effect, ...]
    tables: int
    """How many tables were looked at."""
    unread: tuple[str, ...] = ()
    """Tables whose columns could not be told, so that nothing is foretold of them; they cannot be read either."""


class Outlook:
    def __init__(self, kernel: Kernel, governance: Governance, shapes: Shapes) -> None:
        self.kernel = kernel
        self.governance = governance
        self.shapes = shapes

    def explain(
        self, identity: Identity, asked: Asked, files: Files | None = None, *, at_least: int = 0
    ) -> Told:
        """What someone sees of a table and why; under policies that are not applied yet, if files are given."""
        metalake = ObjectRef(asked.table.metalake, ObjectType.METALAKE)
        authority = self.kernel.authority(at_least)
        permit = self.kernel.permit(identity, Op.ASK, metalake, at=authority)
        if files is not None:
            authority = self._supposed(permit, files)[0]
        table = authority.find(asked.table)
        if table is None:
            raise NotFound(f"table '{clip(asked.table.full_name)}' does not exist", about=ObjectType.TABLE)
        shape = self.shapes.of(authority, table)
        if shape is None:
            raise IllegalArgument(f"the columns of table '{clip(asked.table.full_name)}' cannot be told")
        who = Identity(asked.user, asked.groups, asked.roles, asked.address, asked.engine, asked.purpose)
        caller = authority.caller(who, table.metalake)
        if caller.member is None:
            raise NotFound(f"user '{clip(asked.user)}' does not exist in the metalake", about="user")
        finding = examine(authority, who, Op.LOAD_TABLE, asked.table)
        now = asked.at or dt.datetime.now(dt.UTC)
        explained = explain_lens(authority, caller, table, shape, now)
        if explained.lens is not None:
            name = keys.lens_name(self.kernel.store, table.id, explained.lens.id)
            explained = replace(explained, lens=replace(explained.lens, id=name))
        return Told(finding.allowed, finding.explanation().summary, explained)

    def plan(self, permit: Permit, files: Files, circumstances: Circumstances) -> Plan:
        """Which policies would be created, changed and removed, and whose lens on which table becomes another."""
        supposed, edits = self._supposed(permit, files)
        self.governance.check(permit.authority, permit.node, edits, permit.identity)
        concerned: dict[int, Node] = {}
        for edit in edits:
            targets = [] if edit.after is None else [self.governance.target(permit.authority, edit.after)]
            before = None if edit.id is None else on_of(permit.authority, edit.id)
            for target in (*targets, *([] if before is None else [before])):
                concerned.update((table.id, table) for table in tables_below(permit.authority, target))
        tables = self._shaped(permit.authority, concerned)
        found = effects(permit.authority, supposed, permit.node, tables, circumstances)
        told = {table.id for table, _ in tables}
        unread = [permit.authority.ref(t).full_name for id, t in sorted(concerned.items()) if id not in told]
        return Plan(tuple(edits), tuple(found), len(tables), tuple(unread))

    def lint(self, permit: Permit, files: Files | None, circumstances: Circumstances) -> list[Finding]:
        """What is odd about the policies that are there, or would be."""
        authority = permit.authority if files is None else self._supposed(permit, files)[0]
        every = {table.id: table for table in tables_below(authority, permit.node)}
        return lint(Survey(authority, permit.node, tuple(self._shaped(authority, every)), circumstances))

    def export(self, permit: Permit) -> str:
        """All policies of the metalake as documents, by name; those whose object is gone are left out."""
        stored = self.governance.stored(permit.authority, permit.node)
        return dump(one.policy for one in stored.values() if one.policy.on)

    def _supposed(self, permit: Permit, files: Files) -> tuple[Authority, list[Edit]]:
        wanted = self.governance.read(permit.node, files)
        edits = self.governance.edits(permit.authority, permit.node, wanted, whole=files.whole)
        supposed = self.governance.hypothetical(permit.authority, permit.node, edits, permit.identity)
        return supposed, edits

    def _shaped(self, authority: Authority, tables: Mapping[int, Node]) -> list[tuple[Node, Shape]]:
        found = ((table, self.shapes.of(authority, table)) for _, table in sorted(tables.items()))
        return [(table, shape) for table, shape in found if shape is not None]
