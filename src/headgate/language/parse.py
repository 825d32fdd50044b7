"""Tokens to the expression tree. The grammar below is the allow-list: what it does not name is refused with the place."""

import decimal
from collections.abc import Callable
from typing import NoReturn

from headgate.language import values
from headgate.language.ast import FALSE, MAX_DEPTH, MAX_NODES, Call, Expr, Fact, Literal, Name
from headgate.language.errors import ExpressionSyntaxError, Position, UnknownNameError
from headgate.language.tokens import Token, tokenize
from headgate.language.vocabulary import (
    CHANGING,
    CHANGING_WORDS,
    COMPARISONS,
    CONTEXT_KEYS,
    FUNCTIONS,
    MANY_ROWS,
    QUERY_WORDS,
    RESERVED,
    TYPE_WORDS,
)
from headgate.model.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    UNKNOWN,
    DecimalType,
    Type,
)


def parse(text: str, *, masks: frozenset[str] = frozenset()) -> Expr:
    """The expression that `text` writes; `masks` are names that may be called as the outermost function."""
    parser = _Parser(tokenize(text), masks)
    expr = parser.whole()
    _check_depth(expr)
    return expr


def _check_depth(expr: Expr) -> None:
    nodes, stack = 0, [(expr, 1)]
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if depth > MAX_DEPTH:
            raise ExpressionSyntaxError(
                f"nested deeper than {MAX_DEPTH} levels", "use IN, or split the policy", node.at
            )
        if nodes > MAX_NODES:
            raise ExpressionSyntaxError(f"more than {MAX_NODES} parts", "split the policy", node.at)
        if isinstance(node, Call):
            stack.extend((arg, depth + 1) for arg in node.args)


class _Parser:
    def __init__(self, tokens: list[Token], masks: frozenset[str]) -> None:
        self._tokens = tokens
        self._next = 0
        self._open = 0
        self._masks = masks

    def whole(self) -> Expr:
        if self._peek().kind == "end":
            self._refuse("an empty expression", "write a condition, or TRUE")
        expr = self._mask() or self._or()
        if self._peek().kind != "end":
            self._unexpected()
        return expr

    # -- tokens ---------------------------------------------------------------------------------------------------

    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def _take(self) -> Token:
        token = self._peek()
        self._next += 1
        return token

    def _is(self, *what: str) -> bool:
        token = self._peek()
        return token.word in what if token.kind == "word" else token.kind == "symbol" and token.text in what

    def _accept(self, *what: str) -> Token | None:
        return self._take() if self._is(*what) else None

    def _expect(self, what: str, fix: str) -> Token:
        return self._accept(what) or self._unexpected(f"expected {what}; {fix}")

    def _refuse(self, message: str, fix: str, at: Position | None = None) -> NoReturn:
        raise ExpressionSyntaxError(message, fix, at or self._peek().at)

    def _unexpected(self, fix: str = "") -> NoReturn:
        token = self._peek()
        if token.word in QUERY_WORDS:
            self._refuse(
                "queries, joins and sub-queries are not allowed", "an expression sees its own row only"
            )
        if token.word == "OVER" or token.word in ("FILTER", "WITHIN"):
            self._refuse(
                "window functions and aggregates are not allowed", "an expression sees its own row only"
            )
        shown = "the end of the text" if token.kind == "end" else repr(token.text[:40])
        if token.word in RESERVED and not fix:
            fix = f'a column of that name is written "{token.text}"'
        self._refuse(f"unexpected {shown}", fix or "an operator, or the end of the expression, belongs here")

    # -- operators, loosest first -----------------------------------------------------------------------------------

    def _or(self) -> Expr:
        return self._chain("OR", self._and)

    def _and(self) -> Expr:
        return self._chain("AND", self._not)

    def _chain(self, word: str, part: Callable[[], Expr]) -> Expr:
        at = self._peek().at
        parts: list[Expr] = [part()]
        while self._accept(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Call(word.lower(), tuple(parts), BOOLEAN, at)

    def _not(self) -> Expr:
        token = self._accept("NOT")
        if not token:
            return self._comparison()
        self._enter(token.at)
        out = Call("not", (self._not(),), BOOLEAN, token.at)
        self._open -= 1
        return out

    def _enter(self, at: Position) -> None:
        self._open += 1
        if self._open > MAX_DEPTH:
            self._refuse(f"nested deeper than {MAX_DEPTH} levels", "use IN, or split the policy", at)

    def _comparison(self) -> Expr:
        left = self._concat()
        token = self._peek()
        if token.kind == "symbol" and token.text in COMPARISONS:
            self._take()
            left = Call(token.text, (left, self._concat()), BOOLEAN, token.at)
        elif self._is("IS"):
            left = self._is_test(left)
        elif self._is("IN", "BETWEEN", "LIKE") or (
            self._is("NOT") and self._peek(1).word in ("IN", "BETWEEN", "LIKE")
        ):
            negated = self._accept("NOT")
            found = self._in_between_like(left)
            left = Call("not", (found,), BOOLEAN, token.at) if negated else found
        else:
            return left
        after = self._peek()
        if (after.kind == "symbol" and after.text in COMPARISONS) or self._is("IS", "IN", "BETWEEN", "LIKE"):
            self._refuse("comparisons cannot be chained", "join them by AND, or set parentheses")
        return left

    def _is_test(self, operand: Expr) -> Expr:
        at = self._take().at
        negated = self._accept("NOT")
        word = self._take()
        test: Expr
        match word.word:
            case "NULL":
                test = Call("is_null", (operand,), BOOLEAN, at)
            case "TRUE":
                test = Call("coalesce", (operand, FALSE), BOOLEAN, at)
            case "FALSE":
                test = Call("coalesce", (Call("not", (operand,), BOOLEAN, at), FALSE), BOOLEAN, at)
            case _:
                self._refuse("IS tests NULL, TRUE or FALSE", "write IS NULL, or = for values", word.at)
        return Call("not", (test,), BOOLEAN, at) if negated else test

    def _in_between_like(self, operand: Expr) -> Expr:
        token = self._take()
        if token.word == "BETWEEN":
            low = self._concat()
            self._expect("AND", "BETWEEN low AND high")
            bounds = (
                Call(">=", (operand, low), BOOLEAN, token.at),
                Call("<=", (operand, self._concat()), BOOLEAN, token.at),
            )
            return Call("and", bounds, BOOLEAN, token.at)
        if token.word == "LIKE":
            pattern = self._concat()
            if self._is("ESCAPE"):
                self._refuse(
                    "LIKE has no ESCAPE", "use starts_with, ends_with or contains for % and _ themselves"
                )
            return Call("like", (operand, pattern), BOOLEAN, token.at)
        self._expect("(", "IN takes a list in parentheses")
        items = self._arguments(token.at)
        if not items:
            self._refuse("an empty list", "name at least one value", token.at)
        return Call("in", (operand, *items), BOOLEAN, token.at)

    def _concat(self) -> Expr:
        at = self._peek().at
        parts = [self._sum()]
        while self._accept("||"):
            parts.append(self._sum())
        return parts[0] if len(parts) == 1 else Call("concat", tuple(parts), STRING, at)

    def _sum(self) -> Expr:
        left = self._product()
        while token := self._accept("+", "-"):
            left = Call(token.text, (left, self._product()), UNKNOWN, token.at)
        return left

    def _product(self) -> Expr:
        left = self._unary()
        while token := self._accept("*", "/", "%"):
            left = Call(token.text, (left, self._unary()), UNKNOWN, token.at)
        return left

    def _unary(self) -> Expr:
        token = self._accept("-", "+")
        if not token:
            return self._primary()
        if self._peek().kind == "number":
            return self._number(self._take(), token.text)
        if token.text == "+":
            self._unexpected("leave the plus sign out")
        self._enter(token.at)
        out = Call("neg", (self._unary(),), UNKNOWN, token.at)
        self._open -= 1
        return out

    # -- primaries --------------------------------------------------------------------------------------------------

    def _primary(self) -> Expr:
        token = self._peek()
        match token.kind:
            case "number":
                return self._number(self._take(), "")
            case "string":
                self._take()
                return Literal(token.text, STRING, token.at)
            case "quoted":
                return self._name()
            case "word":
                return self._word()
        if not self._accept("("):
            self._unexpected("a column, a constant, a function or ( belongs here")
        self._enter(token.at)
        inner = self._or()
        if self._is(","):
            self._refuse("tuples are not allowed", "compare one value at a time")
        self._expect(")", "close the parenthesis")
        self._open -= 1
        return inner

    def _number(self, token: Token, sign: str) -> Literal:
        text = ("-" if sign == "-" else "") + token.text
        if "e" in text.lower():
            return Literal(float(text), DOUBLE, token.at)
        if "." not in text:
            value = int(text)
            for type_, (low, high) in ((INT, values.INT_RANGE), (LONG, values.LONG_RANGE)):
                if low <= value <= high:
                    return Literal(value, type_, token.at)
        number = decimal.Decimal(text)
        scale = -int(number.as_tuple().exponent)
        precision = max(len(number.as_tuple().digits), scale, 1)
        if precision > 38:
            self._refuse(
                f"{text[:50]} has more than 38 digits", "write it with an exponent for a double", token.at
            )
        return Literal(
            values.to_decimal(number, DecimalType(precision, scale)), DecimalType(precision, scale), token.at
        )

    def _word(self) -> Expr:
        token, after = self._peek(), self._peek(1)
        if token.word in ("TRUE", "FALSE"):
            self._take()
            return Literal(token.word == "TRUE", BOOLEAN, token.at)
        if token.word == "NULL":
            self._take()
            return Literal(None, UNKNOWN, token.at)
        if token.word == "CASE":
            return self._case()
        if token.word == "INTERVAL" and after.kind in ("string", "number"):
            return self._interval()
        if after.kind == "string":
            return self._typed_literal()
        if token.word in ("DECIMAL", "NUMERIC") and after.text == "(" and self._peek(6).kind == "string":
            return self._typed_literal()
        if token.word == "CURRENT_DATE" and after.text != "(":
            self._take()
            return Fact("date", "", None, DATE, token.at)
        if token.word in RESERVED:
            self._unexpected()
        if after.kind == "symbol" and after.text == "(":
            return self._call()
        if token.word in CHANGING_WORDS and not (after.kind == "symbol" and after.text == "."):
            self._refuse_changing(token)
        return self._name()

    def _name(self) -> Expr:
        first = self._take()
        parts = [first.text]
        while self._accept("."):
            if self._peek().kind not in ("word", "quoted"):
                self._unexpected("a name belongs after the point")
            parts.append(self._take().text)
        if self._is("("):
            self._refuse(
                "functions of schemas or catalogs are not allowed",
                "docs/language.md lists the functions",
                first.at,
            )
        if first.word in ("PRINCIPAL", "CONTEXT"):
            return self._request_fact(first, parts)
        return Name(tuple(parts), first.at)

    def _request_fact(self, first: Token, parts: list[str]) -> Fact:
        kind = first.word.lower()
        if len(parts) != 2:
            self._refuse(
                f"{kind} takes one name",
                f'write {kind}.name; a column of that name is written "{kind}"',
                first.at,
            )
        if kind == "principal":
            return Fact("attribute", parts[1], None, STRING, first.at)
        if parts[1] not in CONTEXT_KEYS:
            fix = "there are " + ", ".join(f"context.{key}" for key in CONTEXT_KEYS)
            raise UnknownNameError(f"unknown context.{parts[1]}", fix, first.at)
        return Fact("context", parts[1], None, CONTEXT_KEYS[parts[1]], first.at)

    def _typed_literal(self) -> Literal:
        token = self._peek()
        if token.word == "X":
            type_: Type = BINARY
            self._take()
        else:
            type_ = self._type()
        text = self._take()
        try:
            return Literal(values.from_text(type_, text.text), type_, token.at)
        except ValueError as e:
            self._refuse(str(e), f"write {token.word} '…' in that form", text.at)

    def _type(self) -> Type:
        token = self._take()
        if token.word in ("DECIMAL", "NUMERIC"):
            self._expect("(", "write DECIMAL(precision, scale)")
            precision = self._whole_number()
            self._expect(",", "write DECIMAL(precision, scale)")
            scale = self._whole_number()
            self._expect(")", "write DECIMAL(precision, scale)")
            if not 1 <= precision <= 38 or scale > precision:
                self._refuse("precision is 1 to 38, scale at most the precision", "narrow the type", token.at)
            return DecimalType(precision, scale)
        if token.word not in TYPE_WORDS:
            self._refuse(
                f"unknown type {token.text!r}",
                "types are " + ", ".join(TYPE_WORDS) + ", DECIMAL(p, s)",
                token.at,
            )
        return TYPE_WORDS[token.word]

    def _whole_number(self) -> int:
        token = self._take()
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 9:
            self._refuse("a whole number belongs here", "write digits only", token.at)
        return int(token.text)

    def _interval(self) -> Expr:
        at = self._take().at
        amount, unit = self._take(), self._take()
        days = {"DAY": 1, "DAYS": 1, "WEEK": 7, "WEEKS": 7}.get(unit.word)
        if days is None or not amount.text.isdigit() or len(amount.text) > 6:
            self._refuse("intervals are whole days or weeks", "write INTERVAL 30 DAY", at)
        return Call("interval", (Literal(int(amount.text) * days, INT, amount.at),), UNKNOWN, at)

    def _case(self) -> Expr:
        at = self._take().at
        self._enter(at)
        operand = None if self._is("WHEN") else self._or()
        args: list[Expr] = []
        while when := self._accept("WHEN"):
            condition = self._or()
            args.append(condition if operand is None else Call("=", (operand, condition), BOOLEAN, when.at))
            self._expect("THEN", "CASE WHEN condition THEN value ELSE value END")
            args.append(self._or())
        if not args:
            self._unexpected("CASE needs WHEN … THEN …")
        args.append(self._or() if self._accept("ELSE") else Literal(None, UNKNOWN, at))
        self._expect("END", "CASE ends with END")
        self._open -= 1
        return Call("case", tuple(args), UNKNOWN, at)

    # -- functions --------------------------------------------------------------------------------------------------

    def _mask(self) -> Expr | None:
        token = self._peek()
        if token.kind != "word" or token.text.lower() not in self._masks or self._peek(1).text != "(":
            return None
        self._take()
        self._take()
        return Call(f"mask:{token.text.lower()}", self._arguments(token.at), UNKNOWN, token.at)

    def _call(self) -> Expr:
        token = self._take()
        self._take()
        if token.word == "CAST":
            return self._cast(token.at)
        if token.word == "EXTRACT":
            return self._extract(token.at)
        function = FUNCTIONS.get(token.word)
        if function is None:
            self._refuse_function(token)
        args = self._arguments(token.at)
        if not function.low <= len(args) <= function.high:
            count = (
                str(function.low) if function.low == function.high else f"{function.low} to {function.high}"
            )
            self._refuse(
                f"{token.text} takes {count} arguments, not {len(args)}", "see docs/language.md", token.at
            )
        if self._is("OVER", "FILTER", "WITHIN"):
            self._unexpected()
        return self._build(function.op, args, token.at)

    def _refuse_changing(self, token: Token) -> NoReturn:
        self._refuse(
            f"{token.text} changes from call to call and is not allowed",
            "use current_date or context.hour, or a literal",
            token.at,
        )

    def _refuse_function(self, token: Token) -> NoReturn:
        if token.word in CHANGING:
            self._refuse_changing(token)
        if token.word in MANY_ROWS:
            self._refuse(f"{token.text} looks at many rows", "an expression sees its own row only", token.at)
        if token.text.lower() in self._masks:
            self._refuse(
                f"{token.text} is a mask", "a mask stands alone, as the outermost function", token.at
            )
        known = ", ".join(sorted(name.lower() for name in FUNCTIONS))
        raise UnknownNameError(
            f"unknown function {token.text}", f"functions are {known}, cast, extract", token.at
        )

    def _arguments(self, at: Position) -> tuple[Expr, ...]:
        self._enter(at)
        args: list[Expr] = []
        if not self._is(")"):
            args.append(self._or())
            while self._accept(","):
                args.append(self._or())
        self._expect(")", "close the parenthesis")
        self._open -= 1
        return tuple(args)

    def _cast(self, at: Position) -> Expr:
        self._enter(at)
        operand = self._or()
        self._expect("AS", "CAST(value AS type)")
        type_ = self._type()
        self._expect(")", "close the parenthesis")
        self._open -= 1
        return Call("cast", (operand,), type_, at)

    def _extract(self, at: Position) -> Expr:
        part = self._take()
        if part.word not in ("YEAR", "MONTH", "DAY", "HOUR"):
            self._refuse(
                "EXTRACT knows YEAR, MONTH, DAY and HOUR", "write EXTRACT(YEAR FROM column)", part.at
            )
        self._expect("FROM", "EXTRACT(part FROM value)")
        self._enter(at)
        operand = self._or()
        self._expect(")", "close the parenthesis")
        self._open -= 1
        return Call(part.word.lower(), (operand,), INT, at)

    def _build(self, op: str, args: tuple[Expr, ...], at: Position) -> Expr:
        match op:
            case "session_user":
                return Fact("user", "", None, STRING, at)
            case "current_date":
                return Fact("date", "", None, DATE, at)
            case "is_member" | "has_tag":
                texts = [arg.value for arg in args if isinstance(arg, Literal) and arg.type == STRING]
                if len(texts) != len(args):
                    self._refuse(f"{op} takes names as plain strings", f"write {op}('name')", at)
                kind = "member" if op == "is_member" else "tag"
                return Fact(kind, texts[0], texts[1] if len(texts) > 1 else None, BOOLEAN, at)
            case "left":
                return Call("substring", (args[0], Literal(1, INT, at), args[1]), STRING, at)
            case "if":
                return Call("case", args, UNKNOWN, at)
            case "nullif":
                equal = Call("=", args, BOOLEAN, at)
                return Call("case", (equal, Literal(None, UNKNOWN, at), args[0]), UNKNOWN, at)
        return Call(op, args, UNKNOWN, at)
