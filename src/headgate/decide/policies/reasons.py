"""Why someone sees what they see of a table: every policy on the way, what it did or why it did nothing."""

import datetime as dt

import msgspec

from headgate.decide.authority import Authority, Caller, Node
from headgate.decide.policies.clauses import Clause, rules_of
from headgate.decide.policies.lens import (
    Lens,
    LensPart,
    LensVerdict,
    apply_clause,
    binding,
    decide,
    doubtful,
    why_not,
)
from headgate.decide.policies.people import Person, person, request_of
from headgate.decide.policies.shape import Shape
from headgate.language.ast import TRUE
from headgate.language.bind import shown
from headgate.language.canonical import canonical
from headgate.language.fold import Request
from headgate.language.masks.mask import ColumnMask
from headgate.language.spell import spell
from headgate.model.schema import Schema


class PolicyStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One policy on the way to the table."""

    policy: str
    on: str
    effect: str
    applies: bool
    why: str | None = None
    """Why it does nothing, or why it denies."""
    rows: str | None = None
    masks: dict[str, str] = {}
    hides: tuple[str, ...] = ()
    overruled: tuple[str, ...] = ()
    """Columns whose mask gave way to a hidden column or to a mask of higher priority."""


class LensSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """A lens in the table's own words."""

    id: str
    whole: bool
    rows: str | None = None
    masks: dict[str, str] = {}
    hidden: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.whole:
            return "the whole table"
        effects = [f"hides {name}" for name in self.hidden]
        effects += [f"{name} = {mask}" for name, mask in self.masks.items()]
        return "; ".join([*effects, *([f"rows where {self.rows}"] if self.rows else [])])


class LensExplanation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What someone sees of a table, and why."""

    user: str
    table: str
    revision: int
    lens: LensSummary | None
    denials: tuple[str, ...] = ()
    policies: tuple[PolicyStep, ...] = ()
    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    attributes: dict[str, str | tuple[str, ...]] = {}
    groups_known: bool = True
    """Whether they are in no other groups than these; if not, policies for any group bind and none exempts."""


def explain_lens(
    authority: Authority, caller: Caller, table: Node, shape: Shape, now: dt.datetime
) -> LensExplanation:
    """The verdict of `lens` with all its reasons, from the same clauses."""
    rules = rules_of(authority, table, shape)
    who = person(authority, caller)
    request = request_of(who, caller.identity, now)
    bits = binding(rules, who, caller.identity.purpose, now)
    verdict = decide(rules, bits, request, doubtful(rules, who))
    parts = {part.id: part for part in verdict.parts}
    steps = [_step(authority, clause, who, request, now, parts, shape.schema) for clause in rules.clauses]
    steps += [PolicyStep(s.name, _on(authority, s.on), "none", False, s.why) for s in rules.skipped]
    return LensExplanation(
        user=who.user,
        table=authority.ref(table).full_name,
        revision=authority.revision,
        lens=None if verdict.lens is None else summary_of(verdict.lens, shape.schema),
        denials=tuple(str(denial) for denial in verdict.denials),
        policies=tuple(steps),
        groups=tuple(sorted(who.groups)),
        roles=tuple(sorted(who.roles - who.possible)),
        attributes=who.attributes,
        groups_known=who.groups_known,
    )


def _step(
    authority: Authority,
    clause: Clause,
    who: Person,
    request: Request,
    now: dt.datetime,
    parts: dict[int, LensPart],
    schema: Schema,
) -> PolicyStep:
    on, effect = _on(authority, clause.on), clause.parsed.policy.effect
    why = why_not(clause, who, request.purpose, now)
    if why is not None:
        return PolicyStep(clause.name, on, effect, False, why)
    applied = apply_clause(clause, request)
    if applied.nothing is not None:
        return PolicyStep(clause.name, on, effect, False, applied.nothing)
    part = parts.get(clause.id)
    if part is None:
        return PolicyStep(clause.name, on, effect, True, applied.deny)
    return PolicyStep(
        clause.name,
        on,
        effect,
        True,
        None,
        " AND ".join(spell(canonical(rows), schema) for rows in part.rows) or None,
        {_name(mask.column.field_id, schema): mask_text(mask, schema) for mask in part.masks},
        tuple(_name(id, schema) for id in part.hidden),
        tuple(_name(id, schema) for id in part.overruled),
    )


def summary_of(lens: Lens, schema: Schema) -> LensSummary:
    """A lens in the table's own words."""
    return LensSummary(
        lens.id,
        lens.whole,
        None if lens.rows == TRUE else spell(lens.rows, schema),
        {_name(mask.column.field_id, schema): mask_text(mask, schema) for mask in lens.masks},
        tuple(_name(id, schema) for id in sorted(lens.hidden)),
    )


def summary(verdict: LensVerdict, schema: Schema) -> str:
    """A verdict in one line."""
    if verdict.lens is None:
        return "denied: " + "; ".join(str(denial) for denial in verdict.denials)
    return str(summary_of(verdict.lens, schema))


def mask_text(mask: ColumnMask, schema: Schema) -> str:
    """A mask for people to read."""
    if mask.expr is not None:
        return spell(mask.expr, schema)
    column = _name(mask.column.field_id, schema)
    return f"{mask.name}({', '.join([column, *(repr(a) for a in mask.args)])})"


def _name(id: int, schema: Schema) -> str:
    return shown(schema.by_id[id].path)


def _on(authority: Authority, id: int) -> str:
    node = authority.objects[id]
    return f"{node.type} {authority.ref(node).full_name}"
