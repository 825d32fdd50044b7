"""Foresight: what someone sees and why, what a change of policies would do, and what is odd about them.

For those who may ask about others: every answer here tells of policies, people and columns alike. Only one's own view is
told to everybody, and nothing of what it hides.
"""

import datetime as dt
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from headgate.decide import Authority, Node, Op
from headgate.decide.changes.effects import (
    ComparedCircumstances,
    Effect,
    LostWriting,
    WiderView,
    effects,
    losing_writers,
    widened,
)
from headgate.decide.lint import LintFinding, Survey, lint
from headgate.decide.policies.people import person
from headgate.decide.policies.reasons import LensExplanation, LensSummary, explain_lens
from headgate.decide.policies.scopes import on_of
from headgate.decide.policies.shape import Shape
from headgate.language.ast import TRUE
from headgate.language.policies.export import dump
from headgate.model.errors import IllegalArgument, NotFound
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.principals import ActiveRoles, Identity
from headgate.steward.acts import act
from headgate.steward.findings import Refused, as_known, examine
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.shapes import Shapes, tables_below
from headgate.steward.permits import Permit, nothing_here
from headgate.steward.policies.authoring import Authoring
from headgate.steward.policies.edits import Edit, PolicyFiles
from headgate.steward.reads.lenses import decide
from headgate.store import keys


class LensQuestion(msgspec.Struct, frozen=True):
    """Whose view of which table, in which circumstances."""

    table: ObjectRef
    user: str
    groups: frozenset[str] = frozenset()
    roles: ActiveRoles = ActiveRoles()
    purpose: str | None = None
    engine: str | None = None
    address: str | None = None
    at: dt.datetime | None = None


class ReadExplanation(msgspec.Struct, frozen=True):
    """The view and its reasons, and whether the table may be read at all."""

    may_load: bool
    because: str
    explanation: LensExplanation


class PolicyPlan(msgspec.Struct, frozen=True):
    """What a change of policies would do."""

    edits: tuple[Edit, ...]
    effects: tuple[Effect, ...]
    tables: int
    """How many tables were looked at."""
    wider: tuple[WiderView, ...] = ()
    """Who would see more of which tables."""
    writers: tuple[LostWriting, ...] = ()
    """Who would lose writing which tables."""
    unread: tuple[str, ...] = ()
    """Tables whose columns could not be told, so that nothing is foretold of them; they cannot be read either."""


class Inspection:
    def __init__(self, kernel: Kernel, authoring: Authoring, shapes: Shapes) -> None:
        self.kernel = kernel
        self.authoring = authoring
        self.shapes = shapes

    def explain(
        self, identity: Identity, asked: LensQuestion, files: PolicyFiles | None = None, *, at_least: int = 0
    ) -> ReadExplanation:
        """What someone sees of a table and why; under policies that are not applied yet, if files are given.

        Callers who ask about themselves, and suppose nothing but a purpose, need no right. They hear only what they see.
        """
        own = LensQuestion(asked.table, identity.user, purpose=asked.purpose)
        if files is None and asked == own and not self._may_ask(identity, asked.table, at_least):
            return self._own(replace(identity, purpose=asked.purpose or identity.purpose), asked.table)
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
        return ReadExplanation(finding.allowed, finding.explanation().summary, explained)

    def _may_ask(self, identity: Identity, table: ObjectRef, at_least: int) -> bool:
        metalake = ObjectRef(table.metalake, ObjectType.METALAKE)
        return examine(self.kernel.authority(at_least), identity, Op.ASK, metalake).allowed

    def _own(self, identity: Identity, ref: ObjectRef) -> ReadExplanation:
        """One's own view of a table.

        INVARIANT: no hidden column, no condition on rows and no policy is told: they speak of what is hidden.
        """
        try:
            permit = self.kernel.permit(identity, Op.LOAD_TABLE, ref)
        except Refused as refused:
            found = as_known(refused.finding)
            raise (
                nothing_here(found.authority, ref) if found.hidden and found.holds else Refused(found)
            ) from None
        shape = self.shapes.of(permit.authority, permit.node)
        verdict = decide(permit.authority, permit.caller, permit.node, shape, dt.datetime.now(dt.UTC))
        who, lens = person(permit.authority, permit.caller), verdict.lens
        seen = None
        if lens is not None:
            masked = (
                {} if shape is None else {".".join(shape.path(id)): "masked" for id in sorted(lens.masked)}
            )
            name = keys.lens_name(self.kernel.store, permit.node.id, lens.id)
            seen = LensSummary(name, lens.whole, None if lens.rows == TRUE else "you may see them", masked)
        explained = LensExplanation(
            who.user,
            ref.full_name,
            permit.revision,
            seen,
            tuple(str(denial.to_reader()) for denial in verdict.denials),
            groups=tuple(sorted(who.groups)),
            roles=tuple(sorted(who.roles - who.possible)),
            attributes=who.attributes,
            groups_known=who.groups_known,
        )
        finding = self.kernel.finding(permit.authority, identity, Op.LOAD_TABLE, ref)
        return ReadExplanation(True, finding.explanation().summary, explained)

    @act(Op.ASK)
    def plan(self, permit: Permit, files: PolicyFiles, circumstances: ComparedCircumstances) -> PolicyPlan:
        """Which policies would be created, changed and removed, and whose lens on which table becomes another."""
        supposed, edits = self._supposed(permit, files)
        self.authoring.check(permit.authority, permit.node, edits, permit.identity)
        tables, unread = self._concerned(permit.authority, edits)
        found = effects(permit.authority, supposed, permit.node, tables, circumstances)
        more = widened(permit.authority, supposed, permit.node, tables, circumstances)
        lost = losing_writers(permit.authority, supposed, permit.node, tables, circumstances)
        return PolicyPlan(tuple(edits), tuple(found), len(tables), tuple(more), tuple(lost), unread)

    def widened(
        self,
        identity: Identity,
        authority: Authority,
        metalake: Node,
        edits: Sequence[Edit],
        circumstances: ComparedCircumstances,
    ) -> tuple[list[WiderView], tuple[str, ...]]:
        """Who would see more of which tables, and the tables of which that cannot be told."""
        supposed = self.authoring.hypothetical(authority, metalake, edits, identity)
        tables, unread = self._concerned(authority, edits)
        return widened(authority, supposed, metalake, tables, circumstances), unread

    def below(self, authority: Authority, edits: Sequence[Edit]) -> dict[int, Node]:
        """The tables below what edited policies are or were on, by id."""
        concerned: dict[int, Node] = {}
        for edit in edits:
            targets = [] if edit.after is None else [self.authoring.target(authority, edit.after)]
            before = None if edit.id is None else on_of(authority, edit.id)
            for target in (*targets, *([] if before is None else [before])):
                concerned.update((table.id, table) for table in tables_below(authority, target))
        return concerned

    def _concerned(
        self, authority: Authority, edits: Sequence[Edit]
    ) -> tuple[list[tuple[Node, Shape]], tuple[str, ...]]:
        """The tables below what edited policies are or were on, and those of them whose columns cannot be told."""
        concerned = self.below(authority, edits)
        tables = self._shaped(authority, concerned)
        looked_at = {table.id for table, _ in tables}
        return tables, tuple(
            authority.ref(t).full_name for id, t in sorted(concerned.items()) if id not in looked_at
        )

    @act(Op.ASK)
    def lint(
        self, permit: Permit, files: PolicyFiles | None, circumstances: ComparedCircumstances
    ) -> list[LintFinding]:
        """What is odd about the policies that are there, or would be."""
        authority = permit.authority if files is None else self._supposed(permit, files)[0]
        every = {table.id: table for table in tables_below(authority, permit.node)}
        return lint(Survey(authority, permit.node, tuple(self._shaped(authority, every)), circumstances))

    @act(Op.ASK)
    def export(self, permit: Permit) -> str:
        """All policies of the metalake as documents, by name; those whose object is gone are left out."""
        stored = self.authoring.stored(permit.authority, permit.node)
        return dump(one.policy for one in stored.values() if one.policy.on)

    def _supposed(self, permit: Permit, files: PolicyFiles) -> tuple[Authority, list[Edit]]:
        wanted = self.authoring.read(permit.node, files)
        edits = self.authoring.edits(
            permit.authority, permit.node, wanted, permit.identity, whole=files.whole
        )
        supposed = self.authoring.hypothetical(permit.authority, permit.node, edits, permit.identity)
        return supposed, edits

    def _shaped(self, authority: Authority, tables: Mapping[int, Node]) -> list[tuple[Node, Shape]]:
        found = ((table, self.shapes.of(authority, table)) for _, table in sorted(tables.items()))
        return [(table, shape) for table, shape in found if shape is not None]
