"""What a lens shows, by construction: every policy is made together with plain Python that says the same.

Nothing here knows the policy language, lenses or engines; it is small enough to be believed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
"""A row by the columns' keys, which stay the same whatever the columns are called."""
Path = tuple[str, ...]
Check = Callable[[Row, "Person"], bool | None]
"""A condition in SQL's three values."""


@dataclass(frozen=True)
class Person:
    name: str
    groups: frozenset[str]
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class Column:
    """A column, or a field of a struct. `type` is Spark's word for it; structs have `fields`, lists of structs too."""

    key: str
    name: str
    type: str
    fields: tuple["Column", ...] = ()

    @property
    def ddl(self) -> str:
        inner = ", ".join(f"{f.name}: {f.ddl}" for f in self.fields)
        return self.type.format(inner)


@dataclass(frozen=True)
class Masking:
    """A mask: its text with `{}` for the column, and what it makes of a value."""

    text: str
    of: Callable[[Any], Any] = lambda value: value
    least: int = 0
    """Values that fewer rows have are suppressed."""


@dataclass(frozen=True)
class Policy:
    """A policy: its document, and what it does in plain Python."""

    text: str
    binds: Callable[[Person], bool]
    rows: Check | None = None
    masks: Mapping[Path, Masking] = field(default_factory=dict)
    hides: frozenset[Path] = frozenset()
    priority: int = 0


@dataclass(frozen=True)
class Seen:
    """What a person sees of a table: None stands for a refusal."""

    columns: tuple[Column, ...]
    filters: tuple[Check, ...]
    masks: Mapping[Path, Masking]
    hidden: frozenset[Path]
    person: Person

    @property
    def whole(self) -> bool:
        return not (self.filters or self.masks or self.hidden)

    def rows(self, raw: Sequence[Row]) -> list[Row]:
        """The rows by the names of the columns."""
        kept = [row for row in raw if all(check(row, self.person) is True for check in self.filters)]
        counts = {
            path: Counter(_at(row, path) for row in kept) for path, mask in self.masks.items() if mask.least
        }
        return [
            {c.name: self._cell(c, row.get(c.key), (c.key,), counts) for c in self.columns} for row in kept
        ]

    def _cell(self, column: Column, value: Any, path: Path, counts: Mapping[Path, Counter[Any]]) -> Any:
        mask = self.masks.get(path)
        if mask is not None:
            if mask.least:
                return value if counts[path][value] >= mask.least else None
            value = mask.of(value)
        if value is None or not column.fields:
            return value
        if isinstance(value, list):
            return [self._struct(column, one, (*path, "element"), counts) for one in value]
        return self._struct(column, value, path, counts)

    def _struct(self, column: Column, value: Row, path: Path, counts: Mapping[Path, Counter[Any]]) -> Any:
        return {f.name: self._cell(f, value.get(f.key), (*path, f.key), counts) for f in column.fields}


def seen(columns: Sequence[Column], policies: Sequence[Policy], person: Person) -> Seen | None:
    """All policies that bind a person together; None if they contradict each other."""
    bound = [policy for policy in policies if policy.binds(person)]
    hidden = frozenset(path for policy in bound for path in policy.hides)
    by_path: dict[Path, list[tuple[int, Masking]]] = {}
    for policy in bound:
        for path, mask in policy.masks.items():
            if not any(path[: n + 1] in hidden for n in range(len(path))):
                by_path.setdefault(path, []).append((policy.priority, mask))
    masks: dict[Path, Masking] = {}
    for path, claims in by_path.items():
        highest = max(priority for priority, _ in claims)
        texts = {mask.text for priority, mask in claims if priority == highest}
        if len(texts) > 1:
            return None
        masks[path] = next(mask for priority, mask in claims if priority == highest)
    outer = {path for path in masks if not any(path[:n] in masks for n in range(1, len(path)))}
    shown = tuple(c for c in (_without(c, (c.key,), hidden) for c in columns) if c is not None)
    return Seen(
        shown,
        tuple(policy.rows for policy in bound if policy.rows is not None),
        {path: masks[path] for path in outer},
        hidden,
        person,
    )


def _without(column: Column, path: Path, hidden: frozenset[Path]) -> Column | None:
    if path in hidden:
        return None
    if not column.fields:
        return column
    inside = (*path, "element") if column.type.startswith("array") else path
    kept = [f for f in (_without(f, (*inside, f.key), hidden) for f in column.fields) if f is not None]
    return Column(column.key, column.name, column.type, tuple(kept)) if kept else None


def names(columns: Sequence[Column]) -> Iterator[str]:
    for column in columns:
        yield column.name
        yield from names(column.fields)


def _at(row: Row, path: Path) -> Any:
    value: Any = row
    for key in path:
        value = None if value is None else value.get(key)
    return value


# -- conditions in three values ---------------------------------------------------------------------------------------


def on(path: Path, test: Callable[[Any], bool]) -> Check:
    """A test of one column, unknown where it is NULL."""

    def check(row: Row, person: Person) -> bool | None:
        value = _at(row, path)
        return None if value is None else test(value)

    return check


def is_null(path: Path) -> Check:
    return lambda row, person: _at(row, path) is None


def negated(check: Check) -> Check:
    def other(row: Row, person: Person) -> bool | None:
        said = check(row, person)
        return None if said is None else not said

    return other


def either(one: Check, two: Check) -> Check:
    def check(row: Row, person: Person) -> bool | None:
        said = (one(row, person), two(row, person))
        return True if True in said else None if None in said else False

    return check


def both(one: Check, two: Check) -> Check:
    return negated(either(negated(one), negated(two)))
