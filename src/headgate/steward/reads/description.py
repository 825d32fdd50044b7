"""What a description of a table tells to someone who sees it through a lens: nothing of what is hidden."""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from headgate.lenses.outline import Outline, governed_properties
from headgate.model import tables as t
from headgate.steward.reads.lenses import ShapedLens

Path = tuple[str, ...]

_LITERAL: Final = "literal"

_OF_THE_FORMAT: Final = ("provider", "format-version", "current-snapshot-id")
"""What a description says of a table besides its own properties, and the governed document too."""


def table(shaped: ShapedLens, whole: t.LoadedTable) -> t.LoadedTable:
    """A table's description without its hidden columns, its layout and properties as the governed document has them.

    INVARIANT: what is left out is left out by what it is, never by whether it mentions a hidden name: that would tell the
    name to whoever guesses it.
    """
    lens = shaped.lens
    if lens.whole:
        return whole
    gone = hidden_from(shaped)
    paths = frozenset(map(shaped.shape.path, shaped.shape.schema.by_id))
    blind = hides(frozenset(shaped.shape.path(id) for id in lens.blind))
    definition = whole.definition
    kept = (_column(column, gone) for column in definition.columns)
    layout = [path for step in definition.partitioning for path in _partitioned(step)]
    order = [path for step in definition.sort_orders for path in _named(step.sort_term)]
    spread = [path for e in definition.distribution.func_args for path in _named(e)]
    outline = Outline(lens.shown(shaped.shape.schema), shaped.within(lens.blind))
    own = {key: value for key, value in definition.properties.items() if key in _OF_THE_FORMAT}

    def is_shown(named: Iterable[Path], unseen: Callable[[Path], bool]) -> bool:
        # INVARIANT: other systems name columns in other letters, or as they were called: only what is a name of now, to the
        # letter, is known not to be a hidden column.
        return all(path in paths and not unseen(path) for path in named)

    shown = msgspec.structs.replace(
        definition,
        columns=tuple(column for column in kept if column is not None),
        partitioning=definition.partitioning if is_shown(layout, blind) else (),
        sort_orders=definition.sort_orders if is_shown(order, blind) else (),
        distribution=definition.distribution if is_shown(spread, blind) else t.Distribution(),
        indexes=tuple(i for i in definition.indexes if is_shown(i.field_names, gone)),
        properties={**governed_properties(definition.properties, outline), **own},
    )
    fields = {name: id for name, id in whole.fields.items() if id not in lens.hidden}
    return msgspec.structs.replace(whole, definition=shown, fields=fields)


def hides(hidden: frozenset[Path]) -> Callable[[Path], bool]:
    """Whether a path is hidden, or lies inside of what is."""
    return lambda path: any(path[: len(outer)] == outer for outer in hidden)


def hidden_from(shaped: ShapedLens) -> Callable[[Path], bool]:
    """Whether a column of that path is hidden by this lens."""
    return hides(frozenset(shaped.shape.path(id) for id in shaped.lens.hidden))


def _column(column: t.TableColumn, gone: Callable[[Path], bool]) -> t.TableColumn | None:
    if gone((column.name,)):
        return None
    default = column.default_value
    # INVARIANT: what a database works out may name any column; only plain values do not.
    kept = default if default is not None and default.type == _LITERAL else None
    return msgspec.structs.replace(column, type=_type(column.type, (column.name,), gone), default_value=kept)


def _type(type: t.DataType, at: Path, gone: Callable[[Path], bool]) -> t.DataType:
    match type:
        case t.StructDataType(fields):
            return t.StructDataType(
                tuple(
                    msgspec.structs.replace(f, type=_type(f.type, (*at, f.name), gone))
                    for f in fields
                    if not gone((*at, f.name))
                )
            )
    return type


def _partitioned(step: t.Partitioning) -> list[Path]:
    named = [path for e in step.func_args or () for path in _named(e)]
    return [*([step.field_name] if step.field_name else []), *(step.field_names or ()), *named]


def _named(expression: t.Expression) -> list[Path]:
    own = [expression.field_name] if expression.field_name else []
    if expression.unparsed_expression is not None:
        # It may name any column, so it counts as one that is not there.
        own.append((expression.unparsed_expression,))
    return [*own, *(path for e in expression.func_args or () for path in _named(e))]
