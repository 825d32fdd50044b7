"""Tests of policies, as users write them: as this person, in these circumstances, the table shows this."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import msgspec

from headgate.decide.trials.trial import TrialOutcome, World, typed
from headgate.model.errors import HeadgateError, IllegalArgument
from headgate.model.principals import ActiveRoles, Identity
from headgate.model.schema import SchemaError


class TrialCase(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"user": "as", "same_as": "same as"}
):
    """One test. What is not said is not looked at."""

    test: str
    user: str
    table: str | None = None
    purpose: str | None = None
    engine: str | None = None
    address: str | None = None
    at: dt.datetime = dt.datetime(2026, 1, 15, 12, tzinfo=dt.UTC)
    roles: tuple[str, ...] | None = None
    """The active ones; all of them if not said."""
    rows: tuple[dict[str, Any], ...] | None = None
    """All that is seen of the sample rows, in their order; the columns not written are not looked at."""
    hidden: tuple[str, ...] | None = None
    masked: tuple[str, ...] | None = None
    whole: bool | None = None
    """Whether the table is seen as it is."""
    denied: tuple[str, ...] | None = None
    """The policies that deny the read."""
    same_as: str | None = None
    """Another user with the very same view."""


def read_cases(description: Any) -> tuple[TrialCase, ...]:
    """The tests of a file."""
    try:
        return msgspec.convert(description, tuple[TrialCase, ...], strict=False)
    except msgspec.ValidationError as error:
        raise IllegalArgument(f"the tests cannot be read: {error}") from None


def failures(world: World, case: TrialCase) -> list[str]:
    """What is otherwise than the test says; empty if it passes."""
    try:
        return list(_failures(world, case))
    except (HeadgateError, SchemaError, ValueError, KeyError) as error:
        return [str(error)]


def _failures(world: World, case: TrialCase) -> Iterator[str]:
    table = case.table or _only(world)
    found = world.outcome(_identity(case, case.user), table, case.at)
    lens = found.verdict.lens
    if case.denied is not None:
        named = {name for denial in found.verdict.denials for name in denial.policies}
        if named != set(case.denied):
            yield f"expected a denial by {sorted(case.denied)}, got {_render_outcome(found)}"
        return
    if lens is None:
        yield f"expected to read, got {_render_outcome(found)}"
        return
    for word, wanted, got in (
        ("hidden", case.hidden, found.hidden),
        ("masked", case.masked, found.masked),
    ):
        if wanted is not None and set(wanted) != set(got):
            yield f"expected {word} {sorted(wanted)}, got {sorted(got)}"
    if case.whole is not None and case.whole != lens.whole:
        yield f"expected {'the whole table' if case.whole else 'a restricted view'}, got {lens.text!r}"
    if case.rows is not None:
        yield from _rows(world, table, case.rows, found)
    if case.same_as is not None:
        other = world.outcome(_identity(case, case.same_as), table, case.at).verdict.lens
        if other is None or other.id != lens.id:
            yield f"{case.same_as} has another view"


def _rows(world: World, table: str, wanted: tuple[dict[str, Any], ...], found: TrialOutcome) -> Iterator[str]:
    lens = found.verdict.lens
    assert lens is not None
    schema = lens.shown(world.shapes[table].schema)
    expected = [typed(schema, row) for row in wanted]
    if len(expected) != len(found.rows):
        yield f"expected {len(expected)} rows, got {len(found.rows)}: {list(found.rows)}"
        return
    for want, got in zip(expected, found.rows, strict=True):
        seen = {name: got[name] for name in want}
        if repr(seen) != repr(want):
            yield f"expected the row {want}, got {got}"


def _only(world: World) -> str:
    tables = list(world.shapes)
    if len(tables) != 1:
        raise IllegalArgument("the test names no table", hint=f"add table: one of {', '.join(tables)}")
    return tables[0]


def _identity(case: TrialCase, user: str) -> Identity:
    roles = ActiveRoles() if case.roles is None else ActiveRoles(False, frozenset(case.roles))
    return Identity(user, frozenset(), roles, case.address, case.engine, case.purpose)


def _render_outcome(found: TrialOutcome) -> str:
    if found.verdict.lens is not None:
        return f"the lens {found.verdict.lens.text!r}"
    return "; ".join(str(denial) for denial in found.verdict.denials)
