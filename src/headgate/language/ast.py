"""The expression tree: four kinds of leaves and one kind of call, all frozen.

INVARIANT: two trees are equal if they say the same in the same shape; where they stood in the text does not count.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from headgate.language.errors import NOWHERE, Position
from headgate.model.schema import BOOLEAN, UNKNOWN, Type

MAX_CHARACTERS: Final = 64 * 1024
MAX_DEPTH: Final = 64
MAX_NODES: Final = 20_000


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. Values are Python's own: see docs/language.md for the one used for each type."""

    value: Any
    type: Type
    at: Position = field(default=NOWHERE, compare=False)

    def __eq__(self, other: object) -> bool:
        # 1 = 1.0 = True in Python, 1.0 and 1.00 are equal Decimals: the type and the text must count.
        return (
            isinstance(other, Literal)
            and self.type == other.type
            and type(self.value) is type(other.value)
            and repr(self.value) == repr(other.value)
        )

    def __hash__(self) -> int:
        return hash((self.type, repr(self.value)))


@dataclass(frozen=True, slots=True)
class Name:
    """A column as written, one part per level; only before binding."""

    parts: tuple[str, ...]
    at: Position = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Column:
    """A bound column: `ids` leads from the root to the field, `nullable` counts the structs around it."""

    ids: tuple[int, ...]
    type: Type
    nullable: bool
    at: Position = field(default=NOWHERE, compare=False)

    @property
    def field_id(self) -> int:
        return self.ids[-1]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something about the request or the tagged object.

    `kind` is one of attribute, user, member, context, tag, date; `key` the attribute, group, context entry or tag,
    `value` the value asked of a tag.
    """

    kind: str
    key: str
    value: str | None
    type: Type
    at: Position = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function over arguments; `type` is UNKNOWN until bound, except for casts."""

    op: str
    args: tuple["Expr", ...]
    type: Type = UNKNOWN
    at: Position = field(default=NOWHERE, compare=False)


Expr = Literal | Name | Column | Fact | Call

TRUE: Final = Literal(True, BOOLEAN)
FALSE: Final = Literal(False, BOOLEAN)


def type_of(expr: Expr) -> Type:
    """The type of a bound expression."""
    return UNKNOWN if isinstance(expr, Name) else expr.type


def walk(expr: Expr) -> Iterator[Expr]:
    """Every node, parents first."""
    yield expr
    if isinstance(expr, Call):
        for arg in expr.args:
            yield from walk(arg)


def columns(expr: Expr) -> frozenset[int]:
    """The field ids that a bound expression reads."""
    return frozenset(node.field_id for node in walk(expr) if isinstance(node, Column))


def facts(expr: Expr) -> frozenset[Fact]:
    """What an expression asks about the request, whoever makes it."""
    return frozenset(node for node in walk(expr) if isinstance(node, Fact))
