"""Lenses: what the caller of a permit sees of its table. Whoever shows anything of a table asks here."""

import datetime as dt
from typing import Any

import msgspec

from headgate.catalogs.interface import Document
from headgate.decide import Authority, Caller, Node
from headgate.decide.changes.waiting import may_come_to_bind
from headgate.decide.policies.clauses import any_on_the_way, policies_on_the_way
from headgate.decide.policies.lens import WHOLE, Denial, Lens, LensVerdict, lens, may_bind
from headgate.decide.policies.people import person
from headgate.decide.policies.shape import Shape
from headgate.language.ast import TRUE
from headgate.language.errors import LoweringError
from headgate.language.lower.iceberg import lower
from headgate.model.errors import Forbidden, HeadgateError
from headgate.model.objects import ObjectType, clip
from headgate.model.schema import Schema
from headgate.planning import Veil
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.shapes import Shapes, catalog_of, tables_below
from headgate.steward.permits import Permit

_UNKNOWN: Shape = Shape.of(Schema(()))


class ShapedLens(msgspec.Struct, frozen=True):
    """A lens with the columns that it is over."""

    lens: Lens
    shape: Shape

    def within(self, fields: frozenset[int]) -> frozenset[int]:
        """These fields with all that is inside of them."""
        every = self.shape.schema.by_id.items()
        return frozenset(id for id, located in every if not fields.isdisjoint(located.ids))


class Lenses:
    def __init__(self, kernel: Kernel, shapes: Shapes) -> None:
        self.kernel = kernel
        self.shapes = shapes

    def of(self, permit: Permit, location: str | None = None) -> ShapedLens:
        """What the caller sees of the permit's table, or a refusal that names the policy.

        `location` is where the table's document lies, if that is known already.
        """
        return self._shaped(permit, self.shapes.of(permit.authority, permit.node, location))

    def over(self, permit: Permit, document: Document | None) -> ShapedLens:
        """As `of`, for the document of the table that is at hand; None if its columns cannot be told."""
        return self._shaped(permit, None if document is None else self.shapes.read(document))

    def partly(self, authority: Authority, caller: Caller, node: Node) -> Node | None:
        """A table, this one or one below, that the caller sees only a part of or not at all; None if there is none.

        What another system holds may have tables that nobody has loaded here yet: they count as seen in part as soon as a
        policy may come to bind the caller there. Writes nothing: it is also asked inside changes.
        """
        now = dt.datetime.now(dt.UTC)
        for table in tables_below(authority, node):
            if not any_on_the_way(authority, table):
                continue
            verdict = decide(authority, caller, table, self.shapes.of(authority, table), now)
            if verdict.lens is None or not verdict.lens.whole:
                return table
        kept_outside = (each for each in self._holding(authority, node) if self._outside(authority, each))
        return next((each for each in kept_outside if may_come_to_bind(authority, caller, each, now)), None)

    def _holding(self, authority: Authority, node: Node) -> list[Node]:
        """What holds the tables of an object that may come to have more of them."""
        match node.type:
            case ObjectType.METALAKE:
                return list(authority.children_of(node.id, ObjectType.CATALOG))
            case ObjectType.CATALOG | ObjectType.SCHEMA:
                return [node]
        return []

    def _outside(self, authority: Authority, node: Node) -> bool:
        """Whether another system keeps the tables of a catalog or schema. What cannot be told counts as kept there."""
        try:
            return self.shapes.catalogs.opened(catalog_of(authority, node)).outside
        except HeadgateError:
            return True

    def _shaped(self, permit: Permit, shape: Shape | None) -> ShapedLens:
        verdict = decide(permit.authority, permit.caller, permit.node, shape, dt.datetime.now(dt.UTC))
        if verdict.lens is not None:
            return ShapedLens(verdict.lens, shape or _UNKNOWN)
        why = "; ".join(str(denial) for denial in verdict.denials)
        self.kernel.audit(
            permit.identity, permit.op, permit.ref, permit.revision, allowed=False, reason=clip(why, 2000)
        )
        raise Forbidden(
            f"User '{clip(permit.identity.user)}' may not read table '{clip(permit.ref.full_name)}'",
            hint=clip("; ".join(str(denial.to_reader()) for denial in verdict.denials), 1000),
            about=ObjectType.TABLE,
        )


def decide(
    authority: Authority, caller: Caller, table: Node, shape: Shape | None, now: dt.datetime
) -> LensVerdict:
    """What a caller sees of a table.

    INVARIANT: a table whose columns cannot be told is seen only by those whom no policy on it or above it is for.
    """
    if shape is not None:
        return lens(authority, caller, table, shape, now)
    who = person(authority, caller)
    named = tuple(
        authority.objects[id].name
        for id, policy in policies_on_the_way(authority, table)
        if may_bind(policy, who)
    )
    if not named:
        return LensVerdict(WHOLE)
    return LensVerdict(None, (), (Denial(named, "the columns of the table cannot be told"),))


def veil_of(seen: ShapedLens) -> Veil:
    """A restricted lens in the planner's terms."""
    hidden, masked = seen.within(seen.lens.hidden), seen.within(seen.lens.masked)
    if seen.lens.rows == TRUE:
        return Veil(hidden, masked)
    rows, schema = seen.lens.rows, seen.shape.schema
    try:
        exact: Any = lower(rows, schema, form="reference", mode="exact")
    except LoweringError:
        # It still prunes what it can, but no longer proves that a file holds nothing else.
        widened: Any = lower(rows, schema, form="reference", mode="widened")
        return Veil(hidden, masked, widened)
    return Veil(hidden, masked, exact, exact=True)
