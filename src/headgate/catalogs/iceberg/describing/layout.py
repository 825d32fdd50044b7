"""How a table's rows lie in files: partitioning and sort order, in Gravitino's words and in Iceberg's."""

from typing import Final

from pyiceberg import transforms as tr
from pyiceberg.exceptions import ValidationError
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import sorting

from headgate.catalogs.iceberg.paths import field_at, path_of
from headgate.model import tables as t
from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

_PLAIN: Final[dict[str, tr.Transform]] = {  # type: ignore[type-arg]
    "identity": tr.IdentityTransform(),
    "year": tr.YearTransform(),
    "month": tr.MonthTransform(),
    "day": tr.DayTransform(),
    "hour": tr.HourTransform(),
}

_HINT: Final = "use identity, year, month, day, hour, bucket or truncate"

_TIED: Final = {"asc": "nulls_first", "desc": "nulls_last"}
"""Where nulls go when nobody says."""


def to_spec(steps: tuple[t.Partitioning, ...], schema: Schema) -> PartitionSpec:
    """The partition spec of a new table."""
    fields: list[PartitionField] = []
    for number, step in enumerate(steps):
        transform, path = _transform(step)
        source = field_at(schema, path)
        if not transform.can_transform(source.field_type):
            raise IllegalArgument(
                f"column '{clip('.'.join(path))}' of type {source.field_type} cannot be partitioned by {transform}",
                hint=_HINT,
            )
        name = _field_name(".".join(path), transform)
        if any(field.name == name for field in fields):
            raise IllegalArgument(
                f"the table is partitioned twice by {name}", hint="name each partition once"
            )
        fields.append(PartitionField(source.field_id, PARTITION_FIELD_ID_START + number, transform, name))
    return PartitionSpec(*fields)


def _transform(step: t.Partitioning) -> tuple["tr.Transform", tuple[str, ...]]:  # type: ignore[type-arg]
    strategy = step.strategy.lower()
    if strategy == "bucket":
        names = step.field_names or ()
        if len(names) != 1 or step.num_buckets is None or not 0 < step.num_buckets < 2**31:
            raise IllegalArgument(
                "a bucket partitioning takes one column and a number of buckets",
                hint="set fieldNames and numBuckets",
            )
        return tr.BucketTransform(step.num_buckets), names[0]
    if not step.field_name:
        raise IllegalArgument(f"partitioning '{clip(strategy)}' names no column", hint="set fieldName")
    if strategy == "truncate":
        if step.width is None or not 0 < step.width < 2**31:
            raise IllegalArgument("a truncate partitioning takes a width", hint="set width")
        return tr.TruncateTransform(step.width), step.field_name
    if strategy not in _PLAIN:
        raise IllegalArgument(f"Iceberg tables cannot be partitioned by '{clip(strategy)}'", hint=_HINT)
    return _PLAIN[strategy], step.field_name


def _field_name(column: str, transform: "tr.Transform") -> str:  # type: ignore[type-arg]
    match transform:
        case tr.IdentityTransform():
            return column
        case tr.BucketTransform():
            return f"{column}_bucket"
        case tr.TruncateTransform():
            return f"{column}_trunc"
    return f"{column}_{transform}"


def from_spec(spec: PartitionSpec, schema: Schema) -> tuple[t.Partitioning, ...]:
    """The partitioning of a table. A transform that Gravitino has no word for is told as a function of its name."""
    steps: list[t.Partitioning] = []
    for field in spec.fields:
        path = path_of(schema, field.source_id)
        match field.transform:
            case tr.VoidTransform():
                continue
            case tr.BucketTransform():
                steps.append(
                    t.Partitioning("bucket", field_names=(path,), num_buckets=field.transform.num_buckets)
                )
            case tr.TruncateTransform():
                steps.append(t.Partitioning("truncate", field_name=path, width=field.transform.width))
            case tr.UnknownTransform():
                term = t.Expression("field", field_name=path)
                steps.append(t.Partitioning("function", func_name=str(field.transform), func_args=(term,)))
            case _:
                steps.append(t.Partitioning(str(field.transform), field_name=path))
    return tuple(steps)


def to_sort_order(orders: tuple[t.SortOrder, ...], schema: Schema) -> sorting.SortOrder:
    """The sort order of a new table."""
    if not orders:
        return sorting.UNSORTED_SORT_ORDER
    fields = []
    for order in orders:
        transform, path = _sort_term(order.sort_term)
        source = field_at(schema, path)
        if not transform.can_transform(source.field_type):
            raise IllegalArgument(
                f"column '{clip('.'.join(path))}' of type {source.field_type} cannot be sorted by {transform}",
                hint="sort by the column itself",
            )
        direction = order.direction.lower() or "asc"
        nulls = order.null_ordering.lower() or _TIED.get(direction, "")
        if direction not in _TIED or nulls not in _TIED.values():
            raise IllegalArgument(
                "a sort order goes 'asc' or 'desc', with 'nulls_first' or 'nulls_last'",
                hint=f"'{clip(order.direction)}' and '{clip(order.null_ordering)}' were given",
            )
        fields.append(
            sorting.SortField(
                source_id=source.field_id,
                transform=transform,
                direction=sorting.SortDirection(direction),
                null_order=sorting.NullOrder(nulls.replace("_", "-")),
            )
        )
    return sorting.SortOrder(*fields)


def _sort_term(term: t.Expression) -> tuple["tr.Transform", tuple[str, ...]]:  # type: ignore[type-arg]
    kind = term.type.lower()
    if kind == "field" and term.field_name:
        return tr.IdentityTransform(), term.field_name
    if kind == "function" and term.function_name and term.func_args:
        name, args = term.function_name.lower(), term.func_args
        column = next((arg.field_name for arg in args if arg.field_name), None)
        numbers = [arg.value for arg in args if arg.type.lower() == "literal"]
        if column is not None and name in _PLAIN and not numbers:
            return _PLAIN[name], column
        if column is not None and name in ("bucket", "truncate") and len(numbers) == 1:
            try:
                size = int(numbers[0])
            except (TypeError, ValueError):
                size = 0
            if 0 < size < 2**31:
                return (tr.BucketTransform(size) if name == "bucket" else tr.TruncateTransform(size)), column
    raise IllegalArgument(
        "a table is sorted by columns, or by year, month, day, hour, bucket or truncate of one",
        hint="give a field, or such a function with a field (and a number for bucket and truncate)",
    )


def from_sort_order(order: sorting.SortOrder, schema: Schema) -> tuple[t.SortOrder, ...]:
    return tuple(
        t.SortOrder(
            _term(field.transform, path_of(schema, field.source_id)),
            str(field.direction.value),
            str(field.null_order.value).replace("-", "_"),
        )
        for field in order.fields
    )


def _term(transform: "tr.Transform", path: tuple[str, ...]) -> t.Expression:  # type: ignore[type-arg]
    column = t.Expression("field", field_name=path)
    match transform:
        case tr.IdentityTransform():
            return column
        case tr.BucketTransform():
            number = t.Expression("literal", data_type="integer", value=str(transform.num_buckets))
            return t.Expression("function", function_name="bucket", func_args=(number, column))
        case tr.TruncateTransform():
            number = t.Expression("literal", data_type="integer", value=str(transform.width))
            return t.Expression("function", function_name="truncate", func_args=(number, column))
    return t.Expression("function", function_name=str(transform), func_args=(column,))


def checked_compatible(spec: PartitionSpec, order: sorting.SortOrder, schema: Schema) -> None:
    """Refuse a layout that the format itself does not take."""
    try:
        spec.check_compatible(schema)
        order.check_compatible(schema)
    except (ValidationError, ValueError) as error:
        raise IllegalArgument(f"the layout does not fit the columns: {clip(str(error), 200)}") from None
