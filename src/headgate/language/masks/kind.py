"""What a mask is: one record per mask, and the mask of one column that is made from it.

A record says everything about a mask: the columns it takes, its arguments, the secret it needs, what becomes of NULL,
Iceberg's word for it, how Python, Spark and each SQL dialect compute it, and its line in the documentation. Whoever needs
one of these reads the record, so a new mask is written in one place. What a target cannot do is a `Refusal` with its reason.
"""

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from headgate.language import ast
from headgate.language.canonical import text
from headgate.model.schema import Type

if TYPE_CHECKING:
    from headgate.language.lower.spark import SparkPrinter
    from headgate.language.lower.sql import Printer
    from headgate.language.masks.python import Secrets
    from headgate.language.masks.spark import SparkSecrets

Dialect = Literal["hive", "postgres", "bigquery", "redshift"]
DIALECTS: Final[tuple[Dialect, ...]] = get_args(Dialect)
"""The dialects in which other systems keep rules. Every record says of each what it does there."""
Secret = Literal["key", "salt", "noise"]
"""A key that the policy names, the salt of a read or lens, the table's secret of noise."""


class Nulls(enum.Enum):
    """What a mask does with NULL."""

    KEEPS = "NULL stays NULL, and nothing else becomes NULL"
    REPLACES = "NULL is masked like any other value"
    MAKES = "values become NULL, so a required column cannot be masked by it"
    LOOSENS = "values may become NULL, so a required column is shown as an optional one"


@dataclass(frozen=True)
class Refusal:
    """What a target cannot do, and why."""

    why: str


@dataclass(frozen=True)
class Columns:
    """The columns that a mask takes, by their type."""

    words: str
    """As errors and the documentation name them."""
    holds: Callable[[Type], bool]
    instead: str = "use another mask, or hide the column"
    refusal: str = "{name} is for {words}, not {type}"

    @classmethod
    def of(cls, *types: Type) -> "Columns":
        return cls(", ".join(str(type_) for type_ in types), lambda type_: type_ in types)


@dataclass(frozen=True)
class Argument:
    """A constant that a mask takes after the column."""

    form: str
    """As the documentation writes it."""
    fix: str
    """What to write if it does not fit."""
    read: Callable[[ast.Literal, Type], Any]
    """Its value, given the column's type; None if it does not fit."""
    whole_number: bool = False


PythonMask = Callable[["ColumnMask", Any, "Secrets"], Any]
SparkMask = Callable[["ColumnMask", "SparkPrinter", "SparkSecrets"], str]
DialectMask = Callable[["ColumnMask", "Printer"], str]


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskKind:
    """Everything about one mask. No part has a default: whoever writes a record decides about each."""

    name: str
    columns: Columns
    arguments: tuple[Argument, ...]
    keyed_by: Secret | None
    needs_other_rows: bool
    """Only a pipeline can make it, over the whole table."""
    shows_nothing: bool
    """Whether nothing of the value is left."""
    nulls: Nulls
    iceberg_action: str | None
    """The action of Iceberg's read restrictions that does the same, if there is one."""
    python: PythonMask | Refusal
    """The reference: the masked value of one cell, which is not NULL unless `nulls` is REPLACES."""
    spark: SparkMask | Refusal
    """Spark SQL of the column's type, equal to the reference byte for byte."""
    dialects: Mapping[Dialect, DialectMask | Refusal]
    result: str
    """What comes out, for the documentation."""

    def __repr__(self) -> str:
        return f"<mask {self.name}>"

    @property
    def call(self) -> str:
        """How it is written in a policy."""
        return f"{self.name}({', '.join(('c', *(argument.form for argument in self.arguments)))})"


NO_MASKS: Final[Mapping[Dialect, DialectMask | Refusal]] = {
    "postgres": Refusal("PostgreSQL has no column masks"),
    "bigquery": Refusal("BigQuery masks by data policies, not by SQL"),
    "redshift": Refusal("Lake Formation has no column masks"),
}
"""Of the dialects of systems that no mask can be written for."""


@dataclass(frozen=True)
class ColumnMask:
    """What becomes of one column: a named mask with constants, or an expression over the column."""

    column: ast.Column
    kind: MaskKind
    args: tuple[Any, ...] = ()
    expr: ast.Expr | None = None

    @property
    def name(self) -> str:
        """The mask's name, `expression` for an expression."""
        return self.kind.name

    @property
    def key(self) -> str | None:
        """The name of the key that it is made with, if a policy names one."""
        return str(self.args[0]) if self.kind.keyed_by == "key" else None

    @property
    def needs_other_rows(self) -> bool:
        """Whether the result depends on other rows: only a pipeline can make it."""
        return self.kind.needs_other_rows

    @property
    def iceberg_action(self) -> str | None:
        """The action of Iceberg's read restrictions that does the same, if there is one."""
        return self.kind.iceberg_action

    @property
    def text(self) -> str:
        """The canonical text: equal for masks that do the same to the same column."""
        if self.expr is not None:
            return f"#{self.column.field_id} := {text(self.expr)}"
        return f"#{self.column.field_id} := {self.name}({', '.join(repr(a) for a in self.args)})"


_MAY_BE_NONE: Final = frozenset({"keyed_by", "iceberg_action"})


def missing(kind: MaskKind) -> Iterator[str]:
    """The parts that a record lacks, each as a sentence about what to write."""
    for part in fields(kind):
        value = getattr(kind, part.name)
        if value == "" or (value is None and part.name not in _MAY_BE_NONE):
            yield f"the mask '{kind.name}' has no '{part.name}'"
    for target in ("python", "spark"):
        yield from _unsaid(kind, target, getattr(kind, target))
    for dialect in DIALECTS:
        yield from _unsaid(kind, dialect, (kind.dialects or {}).get(dialect))


def _unsaid(kind: MaskKind, target: str, way: object) -> Iterator[str]:
    if isinstance(way, Refusal):
        if not way.why:
            yield f"the mask '{kind.name}' refuses {target} without a reason"
    elif not callable(way):
        yield f"the mask '{kind.name}' says nothing about {target}: give the function, or Refusal('why not')"
