"""What the SQL dialects have in common: a printer whose methods a dialect overrides where it differs."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn

from headgate.language import values
from headgate.language.ast import Call, Column, Expr, Literal, type_of
from headgate.language.errors import LoweringError
from headgate.model.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    DecimalType,
    FixedType,
    Schema,
    Type,
)

UPPER, LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})


class Printer:
    """Prints bound expressions as SQL; `columns` gives the text of a column where it is not the quoted path."""

    target: ClassVar[str]
    types: ClassVar[Mapping[Type, str]]
    """The dialect's names of the types it has; what is not in here is refused."""
    literal_words: ClassVar[Mapping[Type, str]] = {DATE: "DATE", TIME: "TIME", TIMESTAMP: "TIMESTAMP"}

    def __init__(self, schema: Schema, columns: Mapping[int, str] | None = None) -> None:
        self._schema = schema
        self._columns = columns or {}

    def print(self, expr: Expr) -> str:
        """The SQL text of an expression."""
        match expr:
            case Literal(value=None, type=type_):
                return f"CAST(NULL AS {self.type_name(type_)})"
            case Literal(value=value, type=type_):
                return self.literal(value, type_)
            case Column():
                return self._column(expr)
            case Call(op="and" | "or" as op, args=args):
                return "(" + f" {op.upper()} ".join(self.print(a) for a in args) + ")"
            case Call(op=op) if op in _COMPARISONS:
                return self.comparison(expr)
            case Call(op=op):
                method: Callable[[Call], str] | None = getattr(self, f"op_{_METHODS.get(op, op)}", None)
                if method is not None:
                    return method(expr)
        return self.cannot(expr, f"{type(expr).__name__} {getattr(expr, 'op', '')} is not known here")

    def cannot(
        self, expr: Expr, message: str, fix: str = "write it another way, or leave this target out"
    ) -> NoReturn:
        """Refuse an expression, with its place."""
        raise LoweringError(self.target, message, fix, expr.at)

    # -- names and constants ----------------------------------------------------------------------------------------

    def quote(self, name: str) -> str:
        """A quoted identifier."""
        if "\0" in name:
            raise LoweringError(self.target, "a name holds a NUL character", "rename the column")
        return '"' + name.replace('"', '""') + '"'

    def path(self, parts: tuple[str, ...]) -> str:
        """A quoted column, or a struct's field."""
        return ".".join(self.quote(p) for p in parts)

    def _column(self, column: Column) -> str:
        given = self._columns.get(column.field_id)
        if given is not None:
            return given
        located = self._schema.find(column.field_id)
        if located is None or located.field.type != column.type:
            self.cannot(
                column, f"field {column.field_id} is gone or changed its type", "bind the expression again"
            )
        self.check_column(column)
        return self.path(located.path)

    def check_column(self, column: Column) -> None:
        """Refuse a column of a type that the target cannot read."""

    def type_name(self, type_: Type) -> str:
        """The dialect's name of a type."""
        if isinstance(type_, DecimalType):
            return f"DECIMAL({type_.precision}, {type_.scale})"
        name = self.types.get(BINARY if isinstance(type_, FixedType) else type_)
        if name is None:
            raise LoweringError(self.target, f"there is no type {type_}", "leave this target out")
        return name

    def string(self, text: str) -> str:
        """A string constant."""
        if "\0" in text:
            raise LoweringError(self.target, "a string holds a NUL character", "change the value")
        return "'" + text.replace("'", "''") + "'"

    def binary(self, data: bytes) -> str:
        """A binary constant."""
        return f"X'{data.hex()}'"

    def double(self, value: float, type_: Type) -> str:
        """A constant of type float or double."""
        return f"CAST('{values.to_text(type_, value)}' AS {self.type_name(type_)})"

    def literal(self, value: Any, type_: Type) -> str:
        """A constant that is not NULL."""
        if type_ == STRING:
            text = str(value)
            try:
                text.encode()
            except UnicodeEncodeError as e:
                raise LoweringError(
                    self.target, "a string holds half a surrogate pair", "change the value"
                ) from e
            return self.string(text)
        if type_ == BOOLEAN:
            return "TRUE" if value else "FALSE"
        if type_ in (INT, LONG):
            plain = -(2**31) < value < 2**31
            return (
                (str(value) if value >= 0 else f"({value})")
                if plain
                else f"CAST({value} AS {self.type_name(type_)})"
            )
        if type_ in (FLOAT, DOUBLE):
            return self.double(value, type_)
        if isinstance(type_, DecimalType):
            return f"CAST('{values.to_text(type_, value)}' AS {self.type_name(type_)})"
        if type_ == BINARY or isinstance(type_, FixedType):
            return self.binary(bytes(value))
        word = self.literal_words.get(type_)
        if word is None:
            raise LoweringError(
                self.target, f"there are no constants of type {type_}", "leave this target out"
            )
        return f"{word} '{values.to_text(type_, value)}'"

    # -- operators --------------------------------------------------------------------------------------------------

    def function(self, name: str, *args: Expr) -> str:
        """A call of a function of the dialect."""
        return f"{name}({', '.join(self.print(a) for a in args)})"

    def operand(self, expr: Expr) -> str:
        """A side of a comparison; dialects make strings compare by code point here."""
        return self.print(expr)

    def comparison(self, call: Call) -> str:
        """A comparison by =, <>, <, <=, > or >=."""
        left, right = call.args
        return f"({self.operand(left)} {call.op} {self.operand(right)})"

    def op_not(self, call: Call) -> str:
        return f"(NOT {self.print(call.args[0])})"

    def op_is_null(self, call: Call) -> str:
        return f"({self.print(call.args[0])} IS NULL)"

    def op_in(self, call: Call) -> str:
        if type_of(call.args[0]) in (FLOAT, DOUBLE):
            # Hashed sets tell 0.0 from -0.0; comparisons do not.
            return (
                "(" + " OR ".join(self.comparison(_equal(call.args[0], item)) for item in call.args[1:]) + ")"
            )
        return f"({self.operand(call.args[0])} IN ({', '.join(self.operand(a) for a in call.args[1:])}))"

    def op_like(self, call: Call) -> str:
        return f"({self.print(call.args[0])} LIKE {self.print(call.args[1])})"

    def op_arithmetic(self, call: Call) -> str:
        text = f"({self.print(call.args[0])} {call.op} {self.print(call.args[1])})"
        return f"CAST({text} AS {self.type_name(call.type)})" if isinstance(call.type, DecimalType) else text

    def op_divide(self, call: Call) -> str:
        return (
            f"({self.print(call.args[0])} / NULLIF({self.print(call.args[1])}, {self.double(0.0, DOUBLE)}))"
        )

    def op_case(self, call: Call) -> str:
        pairs = zip(call.args[:-1:2], call.args[1::2], strict=True)
        whens = " ".join(f"WHEN {self.print(c)} THEN {self.print(r)}" for c, r in pairs)
        return f"(CASE {whens} ELSE {self.print(call.args[-1])} END)"

    def op_coalesce(self, call: Call) -> str:
        return self.function("COALESCE", *call.args)

    def op_cast(self, call: Call) -> str:
        return f"CAST({self.print(call.args[0])} AS {self.type_name(call.type)})"

    def op_lower(self, call: Call) -> str:
        return f"translate({self.print(call.args[0])}, '{UPPER}', '{LOWER}')"

    def op_upper(self, call: Call) -> str:
        return f"translate({self.print(call.args[0])}, '{LOWER}', '{UPPER}')"

    def op_length(self, call: Call) -> str:
        return self.function("char_length", *call.args)

    def op_concat(self, call: Call) -> str:
        return "(" + " || ".join(self.print(a) for a in call.args) + ")"

    def op_trim(self, call: Call) -> str:
        side = {"trim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[call.op]
        return f"trim({side} ' ' FROM {self.print(call.args[0])})"

    def op_starts_with(self, call: Call) -> str:
        return self.function("starts_with", *call.args)

    def op_ends_with(self, call: Call) -> str:
        return self.function("ends_with", *call.args)

    def op_contains(self, call: Call) -> str:
        return self.function("contains", *call.args)

    def op_substring(self, call: Call) -> str:
        return self.function("substring", *call.args)

    def op_date_part(self, call: Call) -> str:
        return f"CAST(EXTRACT({call.op.upper()} FROM {self.in_utc(call.args[0])}) AS {self.type_name(INT)})"

    def in_utc(self, moment: Expr) -> str:
        """A moment without zone, in UTC where it had one."""
        text = self.print(moment)
        return f"({text} AT TIME ZONE 'UTC')" if type_of(moment) == TIMESTAMPTZ else text

    def op_is_nan(self, call: Call) -> str:
        type_ = type_of(call.args[0])
        return f"({self.print(call.args[0])} = {self.double(float('nan'), type_)})"


def _equal(left: Expr, right: Expr) -> Call:
    return Call("=", (left, right), BOOLEAN)


_METHODS = {
    "+": "arithmetic",
    "-": "arithmetic",
    "*": "arithmetic",
    "%": "arithmetic",
    "/": "divide",
    "ltrim": "trim",
    "rtrim": "trim",
    "year": "date_part",
    "month": "date_part",
    "day": "date_part",
    "hour": "date_part",
}
