"""Choosing files by a caller's filter: all that it says of a table, or only what a restricted caller's filter may choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, BoundPredicate, Or
from pyiceberg.schema import Schema

from headgate.planning.filters.evaluate import column_of
from headgate.planning.filters.expression import BoundFilter, read_filter
from headgate.planning.filters.stack import Sieve, project
from headgate.planning.request import PlanRequest, Veil
from headgate.planning.table import Spec, read_table
from headgate.planning.values import FLOAT_TYPES, INT_TYPES

_MOST_COLUMNS = 5_000
"""Governed files of wider tables may lack statistics of some columns."""


@dataclass(frozen=True)
class Chooser:
    """A filter, and what it may choose files by."""

    filter: BoundFilter
    schema: Schema
    specs: frozenset[int] | None = None
    """The specs whose partition values may choose; None means all."""
    statistics: bool = True

    def sieve(self, spec: Spec) -> Sieve:
        """How files of a spec are chosen."""
        rows = self.filter.may if self.statistics else AlwaysTrue()
        if self.specs is None:
            return Sieve(rows, project(self.filter.may, self.schema, spec))
        if spec.spec_id not in self.specs:
            return Sieve(self._telling(rows), AlwaysTrue())
        return Sieve(self._telling(rows), project(self.filter.may, self.schema, spec))

    def narrows(self, metadata: dict[str, Any]) -> bool:
        """Whether it can leave out any file of a table. Depends on the filter and on the specs that may choose only."""
        if self.filter.is_true:
            return False
        if self.statistics and not isinstance(self._telling(self.filter.may), AlwaysTrue):
            return True
        specs = (spec for id, spec in read_table(metadata).specs.items() if id in (self.specs or ()))
        return any(not isinstance(project(self.filter.may, self.schema, spec), AlwaysTrue) for spec in specs)

    def _telling(self, expression: BooleanExpression) -> BooleanExpression:
        """The part of a filter for which statistics of a copy prune at least as well as those of its source.

        A copy's rows are a subset of its source's, so its bounds are at least as tight, if they are exact: those of text
        and of bytes may be cut short. Columns inside others may have no statistics at all.
        """
        if len(self.schema.field_ids) > _MOST_COLUMNS:
            return AlwaysTrue()
        top = frozenset(field.field_id for field in self.schema.fields)

        def tells(predicate: BoundPredicate) -> bool:
            column = column_of(predicate)
            return column.field_id in top and isinstance(column.field_type, (*INT_TYPES, *FLOAT_TYPES))

        return _widened(expression, tells)


def restricted_chooser(
    governed: dict[str, Any],
    request: PlanRequest,
    *,
    blind: frozenset[int],
    specs: frozenset[int],
    statistics: bool,
) -> Chooser:
    """What a restricted caller's filter may choose source files by.

    `governed` is the governed document, in whose terms the caller speaks. On `blind` columns the sources say nothing.
    INVARIANT: a source is left out only if the governed file made of it would be left out as well.
    """
    schema = read_table(governed).schema
    filter_ = read_filter(
        request.filter,
        schema,
        case_sensitive=request.case_sensitive,
        veil=Veil(masked_field_ids=blind),
        where="the filter",
    )
    return Chooser(filter_, schema, specs, statistics)


def _widened(expression: BooleanExpression, keep: Callable[[BoundPredicate], bool]) -> BooleanExpression:
    """The expression with *true* in the place of predicates that are not kept; it has no NOT."""
    if isinstance(expression, And):
        return And(_widened(expression.left, keep), _widened(expression.right, keep))
    if isinstance(expression, Or):
        return Or(_widened(expression.left, keep), _widened(expression.right, keep))
    if isinstance(expression, BoundPredicate) and not keep(expression):
        return AlwaysTrue()
    return expression
