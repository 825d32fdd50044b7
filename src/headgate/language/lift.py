"""SQL of other systems read back into the policy language: lowering the other way round, and proven by it.

INVARIANT: a reading stands only if lowering it gives the text again: letter for letter, or, where the text is made of plain
comparisons alone, the same but for parentheses, quotes and order. So the lowering has the last word, not the parser.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NoReturn

import sqlglot
from sqlglot import exp

from headgate.language.ast import MAX_CHARACTERS, Expr
from headgate.language.bind import bind, shown
from headgate.language.canonical import canonical
from headgate.language.errors import LanguageError
from headgate.language.lower import bigquery, hive, partiql, postgres
from headgate.language.masks.hive import lower_mask as hive_mask
from headgate.language.masks.kind import DIALECTS, Dialect, Refusal
from headgate.language.masks.kinds import NAMED
from headgate.language.masks.mask import ColumnMask, bind_mask, parse_mask
from headgate.language.parse import parse
from headgate.model.schema import Schema

ROWS: Final[Mapping[str, Callable[[Expr, Schema], str]]] = {
    "postgres": postgres.lower,
    "hive": hive.lower,
    "bigquery": bigquery.lower,
    "redshift": partiql.lower,
}
"""How conditions are lowered to each dialect that rules of other systems are written in."""
MASKS: Final[Mapping[str, Callable[[ColumnMask, Schema], str]]] = {"hive": hive_mask}
"""The same for masks."""

_PLAIN: Final = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ,
    exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Like, exp.Is, exp.Neg,
)  # fmt: skip
_FOLDS: Final = frozenset({"hive", "bigquery", "redshift"})
"""Dialects to which the case of a column's name means nothing."""


def lift(sql: str, dialect: str, schema: Schema) -> Expr:
    """The condition that a text is, over the columns of a table and in canonical form; refused where that is not exact."""
    lower = ROWS.get(dialect)
    if lower is None:
        _cannot(dialect, "the dialect is not known here")
    tree = _tree(sql, dialect)
    bound = bind(parse(_spelled(tree, dialect, schema)), schema)
    found = canonical(bound)
    for candidate in (bound, found):
        try:
            again = lower(candidate, schema)
        except LanguageError:
            continue
        if again == sql or _alike(sql, tree, _tree(again, dialect)):
            return found
    return _cannot(dialect, "it might mean something else there")


def lift_mask(sql: str, dialect: str, schema: Schema, field_id: int) -> ColumnMask:
    """The mask of a column that a text is; refused where that is not exact."""
    lower = MASKS.get(dialect)
    known = next((known for known in DIALECTS if known == dialect), None)
    if lower is None or known is None:
        _cannot(dialect, "masks of the dialect are not known here")
    for source in _masks(sql, known, schema, shown(schema.by_id[field_id].path)):
        try:
            mask = bind_mask(parse_mask(source), schema, field_id)
            if lower(mask, schema) == sql:
                return mask
        except LanguageError:
            continue
    return _cannot(dialect, "no mask of the language does the same")


def compared(sql: str, dialect: str) -> dict[str, str]:
    """The columns that a text compares with constants, each with the type that these have; none if it cannot be read."""
    try:
        tree = _tree(sql, dialect)
    except LanguageError:
        return {}
    found: dict[str, str] = {}
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Like):
        constants = list(node.find_all(exp.Literal))
        if constants:
            text = any(constant.is_string for constant in constants)
            dates = any(cast.is_type("date") for cast in node.find_all(exp.Cast))
            type = "date" if dates else "string" if text else "long"
            found |= dict.fromkeys((_identifier(c.this, dialect) for c in node.find_all(exp.Column)), type)
    return found


def _masks(sql: str, dialect: Dialect, schema: Schema, column: str) -> Iterator[str]:
    """Masks that a text might be: a constant, or one of those that have a name."""
    tree = _tree(sql, dialect)
    if tree.find(exp.Column) is None:
        yield _spelled(tree, dialect, schema)
    numbers = sorted(set(re.findall(r"\b[1-9]\d{0,8}\b", sql)))
    for kind in NAMED.values():
        if isinstance(kind.dialects[dialect], Refusal) or kind.shows_nothing:
            continue
        if not kind.arguments:
            yield f"{kind.name}({column})"
        elif len(kind.arguments) == 1 and kind.arguments[0].whole_number:
            yield from (f"{kind.name}({column}, {number})" for number in numbers)


def _cannot(dialect: str, message: str) -> NoReturn:
    raise LanguageError(f"{dialect}: {message}", "say it in the policy language")


def _tree(sql: str, dialect: str) -> exp.Expr:
    """The one expression of a text that hides nothing."""
    if len(sql) > MAX_CHARACTERS:
        _cannot(dialect, f"the text has more than {MAX_CHARACTERS} characters")
    try:
        hidden = any(token.comments for token in sqlglot.tokenize(sql, dialect))
        found = sqlglot.parse(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        _cannot(dialect, "the text cannot be read")
    if hidden or len(found) != 1 or not isinstance(found[0], exp.Condition):
        _cannot(dialect, "the text is not one expression")
    return found[0].transform(_without_between)


def _without_between(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"])
        return exp.paren(exp.and_(low, exp.LTE(this=node.this, expression=node.args["high"])))
    return node


def _spelled(tree: exp.Expr, dialect: str, schema: Schema) -> str:
    """The text in the words of the language, its columns by the names that the table has."""

    def plain(node: exp.Expr) -> exp.Expr:
        for inner in list(node.iter_expressions()):
            inner.replace(plain(inner))
        match node:
            case exp.Collate(args={"this": exp.Expr() as inner}):
                return inner
            case exp.ByteString():
                _cannot(dialect, "a string holds a backslash")
            case exp.Cast():
                return _cast(node)
            case exp.Column() if node.table:
                _cannot(dialect, "a column is named with its table")
            case exp.Column():
                return exp.column(_column(node.this, dialect, schema), quoted=True)
        return node

    return str(plain(tree.copy()).sql())


def _cast(node: exp.Cast) -> exp.Expr:
    """A cast as the language has it: a constant is what it is compared with, and needs none for its own type."""
    inner: exp.Expr = node.this
    to = node.to
    constant = isinstance(inner, exp.Literal)
    if constant and inner.is_string and to.is_type("decimal") and not to.expressions:
        return exp.Literal.number(inner.name)
    own = exp.DataType.TEXT_TYPES if constant and inner.is_string else exp.DataType.INTEGER_TYPES
    return inner if constant and to.this in own else exp.Cast(this=inner, to=to)


def _identifier(name: exp.Identifier, dialect: str) -> str:
    """A name as its dialect takes it."""
    folded = dialect == "postgres" and not name.args.get("quoted")
    return str(name.name).lower() if folded else str(name.name)


def _column(name: exp.Identifier, dialect: str, schema: Schema) -> str:
    named = _identifier(name, dialect)
    alike = [field.name for field in schema.fields if field.name.lower() == named.lower()]
    if dialect in _FOLDS and len(alike) == 1:
        return alike[0]
    # INVARIANT: where two names differ by case alone, none is chosen unless the dialect tells them apart.
    if dialect in _FOLDS or named not in alike:
        _cannot(dialect, f"the table has no column {named!r}, or several")
    return named


def _alike(sql: str, one: exp.Expr, other: exp.Expr) -> bool:
    """Whether two texts are the same plain comparisons. What a backslash means is left to whoever wrote it."""
    return (
        "\\" not in sql
        and all(isinstance(node, _PLAIN) for node in one.walk())
        and _order(one) == _order(other)
    )


def _order(tree: exp.Expr) -> str:
    """A text that is the same whatever the order of conditions, the parentheses and the quotes of names."""
    match tree:
        case exp.Paren():
            return _order(tree.this)
        case exp.And() | exp.Or():
            parts = sorted(_order(part) for part in tree.flatten())
            return f"({type(tree).__name__} {' '.join(parts)})"
        case exp.Column():
            return f"[{str(tree.name).lower()}]"
        case exp.Literal() | exp.Boolean() | exp.Null():
            return str(tree.sql())
    inner = (_order(node) for node in tree.iter_expressions())
    return f"({type(tree).__name__} {' '.join(inner)})"
