"""What a description of a table tells to someone who sees it through a lens: nothing of what is hidden."""

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from headgate.language.ast import TRUE, columns
from headgate.language.evaluate import keeps
from headgate.language.values import from_text
from headgate.model import tables as t
from headgate.model.schema import Type
from headgate.steward.lenses import Seen

Path = tuple[str, ...]


def table(seen: Seen, whole: t.LoadedTable) -> t.LoadedTable:
    """A table's description without its hidden columns, and without all that names them."""
    hidden = _hidden(seen)
    if not hidden:
        return whole
    gone = hides(hidden)
    definition = whole.definition
    kept = (_column(column, gone) for column in definition.columns)
    shown = msgspec.structs.replace(
        definition,
        columns=tuple(column for column in kept if column is not None),
        partitioning=tuple(p for p in definition.partitioning if not any(map(gone, _partitioned(p)))),
        sort_orders=tuple(o for o in definition.sort_orders if not any(map(gone, _named(o.sort_term)))),
        distribution=definition.distribution
        if not any(gone(path) for e in definition.distribution.func_args for path in _named(e))
        else t.Distribution(),
        indexes=tuple(i for i in definition.indexes if not any(map(gone, i.field_names))),
        properties=silent(definition.properties, (path[-1] for path in hidden)),
    )
    fields = {name: id for name, id in whole.fields.items() if id not in seen.lens.hidden}
    return msgspec.structs.replace(whole, definition=shown, fields=fields)


def hides(hidden: frozenset[Path]) -> Callable[[Path], bool]:
    """Whether a path is hidden, or lies inside of what is."""
    return lambda path: any(path[: len(outer)] == outer for outer in hidden)


def _hidden(seen: Seen) -> frozenset[Path]:
    return frozenset(seen.shape.path(id) for id in seen.lens.hidden)


def _column(column: t.Column, gone: Callable[[Path], bool]) -> t.Column | None:
    if gone((column.name,)):
        return None
    return msgspec.structs.replace(column, type=_type(column.type, (column.name,), gone))


def _type(type: t.DataType, at: Path, gone: Callable[[Path], bool]) -> t.DataType:
    match type:
        case t.StructType(fields):
            return t.StructType(
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
    return [*own, *(path for e in expression.func_args or () for path in _named(e))]


def silent(properties: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The properties that do not speak of these columns, neither in their name nor in their value."""
    speaks = re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(name) for name in sorted(names))})(?!\w)")
    return {key: value for key, value in properties.items() if not speaks.search(f"{key}\n{value}")}


Sources = dict[str, set[tuple[int, str]]]
"""By the name of a partition field, the columns it is made of and how; more than one where layouts differ."""


def partitions(seen: Seen, found: list[t.Partition], sources: Sources) -> list[t.Partition]:
    """The partitions that hold rows one may see, without the values of hidden and masked columns.

    A filter over other columns than the partitions are made by cannot be told from them, so then none is shown.
    """
    lens = seen.lens
    if lens.whole:
        return found
    shown: dict[str, t.Partition] = {}
    for partition in found:
        if lens.rows != TRUE and not _kept(seen, partition, sources):
            continue
        told = _without_blind(seen, partition, sources)
        if told is not None:
            shown.setdefault(told.name, told)
    return [shown[name] for name in sorted(shown)]


def _kept(seen: Seen, partition: t.Partition, sources: Sources) -> bool:
    row: dict[int, object] = {}
    for step, value in zip(partition.name.split("/"), partition.values, strict=True):
        made_of = sources.get(step.partition("=")[0], set())
        if len(made_of) == 1:
            source, transform = next(iter(made_of))
            located = seen.shape.schema.find(source)
            if transform == "identity" and located is not None and len(located.ids) == 1:
                row[source] = _value(located.field.type, value)
    known = {id for id, value in row.items() if value is not _UNREADABLE}
    return columns(seen.lens.rows) <= known and keeps(seen.lens.rows, row)


_UNREADABLE = object()


def _value(type: Type, value: t.Expression) -> object:
    if value.data_type == "null":
        return None
    try:
        return from_text(type, str(value.value))
    except ValueError:
        return _UNREADABLE


def _without_blind(seen: Seen, partition: t.Partition, sources: Sources) -> t.Partition | None:
    blind = seen.within(seen.lens.blind)
    steps = partition.name.split("/")
    kept = []
    for number, step in enumerate(steps):
        made_of = sources.get(step.partition("=")[0], set())
        if made_of and blind.isdisjoint(source for source, _ in made_of):
            kept.append(number)
    if len(kept) == len(steps):
        return partition
    if not kept:
        return None
    return t.Partition(
        partition.type,
        "/".join(steps[n] for n in kept),
        tuple(partition.field_names[n] for n in kept),
        tuple(partition.values[n] for n in kept),
    )
