"""Partial evaluation: everything about the request is replaced by what it is; what remains speaks of columns only.

INVARIANT: a fact that is missing never becomes NULL by itself. It makes the whole expression deny, unless the answer
does not depend on it (FALSE AND …, TRUE OR …) or the author said what then: coalesce(principal.x, …), principal.x IS NULL.
"""

import datetime as dt
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.language.ast import FALSE, TRUE, Call, Expr, Fact, Literal, type_of
from headgate.language.evaluate import evaluate
from headgate.model.schema import STRING


@dataclass(frozen=True)
class Request:
    """Who asks, and in what circumstances; an attribute holds one string or several."""

    user: str
    groups: frozenset[str] = frozenset()
    attributes: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    purpose: str | None = None
    address: str | None = None
    hour: int | None = None
    engine: str | None = None
    date: dt.date | None = None
    groups_known: bool = True
    """Whether the user is in no other groups than these."""
    kept: frozenset[str] | None = None
    """The groups that the metalake keeps; None stands for every group."""

    def member(self, group: str) -> bool | None:
        """Whether the user is in a group; None if that is not known.

        INVARIANT: of a group that is not kept nobody is a member, and nobody is not one either.
        """
        if self.kept is not None and group not in self.kept:
            return None
        return True if group in self.groups else False if self.groups_known else None


@dataclass(frozen=True)
class Folded:
    """What is left of an expression for one request.

    `facts` are all facts asked and their answers: equal facts give an equal result, so they make a cache key. `problems`
    is empty, or says why the expression cannot be decided; the read is then denied.
    """

    expr: Expr
    facts: tuple[tuple[Fact, Any], ...]
    problems: tuple[str, ...] = ()

    @property
    def denied(self) -> bool:
        return bool(self.problems)


class _Undecidable(Exception):
    def __init__(self, problem: str) -> None:
        self.problem = problem


def fold(expr: Expr, request: Request, tags: Mapping[str, str] | None = None) -> Folded:
    """Replace what a bound expression asks about the request and about the tags of the object at hand."""
    folder = _Folder(request, tags or {})
    outcome = folder.fold(expr)
    answers = tuple(
        sorted(folder.answers.items(), key=lambda item: (item[0].kind, item[0].key, item[0].value or ""))
    )
    if isinstance(outcome, _Undecidable):
        return Folded(FALSE, answers, (outcome.problem,))
    return Folded(outcome, answers)


class _Folder:
    def __init__(self, request: Request, tags: Mapping[str, str]) -> None:
        self._request = request
        self._tags = tags
        self.answers: dict[Fact, Any] = {}

    def fold(self, expr: Expr) -> Expr | _Undecidable:
        match expr:
            case Fact():
                return self._single(expr)
            case Call(op="and" | "or" as op, args=args):
                return self._logic(op, [self.fold(a) for a in args], expr)
            case Call(op="case"):
                return self._case(expr)
            case Call(op="coalesce" | "is_null"):
                folded = [self._optional(a) for a in expr.args]
            case Call(op="in"):
                folded = [
                    self.fold(expr.args[0]),
                    *(part for a in expr.args[1:] for part in self._several(a)),
                ]
            case Call(args=args):
                folded = [self.fold(a) for a in args]
            case _:
                return expr
        return self._rebuild(expr, folded)

    def _rebuild(self, call: Call, folded: list[Expr | _Undecidable]) -> Expr | _Undecidable:
        for part in folded:
            if isinstance(part, _Undecidable):
                return part
        args = tuple(part for part in folded if not isinstance(part, _Undecidable))
        if call.op == "in" and len(args) == 1:
            return FALSE
        if call.op in ("and", "or") and len(args) == 1:
            return args[0]
        rebuilt = Call(call.op, args, call.type, call.at)
        if not all(isinstance(a, Literal) for a in args):
            return rebuilt
        try:
            if call.op == "in_network":
                return TRUE if _in_network(args) else FALSE
            return Literal(evaluate(rebuilt, {}), call.type, call.at)
        except (ValueError, OverflowError) as e:
            return _Undecidable(str(e))

    def _logic(self, op: str, folded: list[Expr | _Undecidable], call: Call) -> Expr | _Undecidable:
        decisive = TRUE if op == "or" else FALSE
        if decisive in folded:
            return decisive
        return self._rebuild(
            call, [part for part in folded if part != (FALSE if op == "or" else TRUE)] or [folded[0]]
        )

    def _case(self, call: Call) -> Expr | _Undecidable:
        kept: list[Expr] = []
        default = self.fold(call.args[-1])
        pairs = [(self.fold(c), self.fold(r)) for c, r in zip(call.args[:-1:2], call.args[1::2], strict=True)]
        for condition, result in pairs:
            if isinstance(condition, _Undecidable):
                return condition
            if isinstance(condition, Literal):
                if condition.value is not True:
                    continue
                default = result
                break
            if isinstance(result, _Undecidable):
                return result
            kept += [condition, result]
        if isinstance(default, _Undecidable) or not kept:
            return default
        return Call("case", (*kept, default), call.type, call.at)

    def _optional(self, expr: Expr) -> Expr | _Undecidable:
        folded = self.fold(expr)
        if not isinstance(folded, _Undecidable) or not isinstance(expr, Fact):
            return folded
        # INVARIANT: an attribute may be missing, and the author may say what then. Membership is a yes or a no; where it
        # is not known which, no answer is the safe one.
        if expr.kind == "member" or self.answers[expr] is not None:
            return folded
        return Literal(None, expr.type, expr.at)

    def _several(self, expr: Expr) -> list[Expr | _Undecidable]:
        if isinstance(expr, Fact) and isinstance(answer := self._answer(expr), tuple):
            return [Literal(value, STRING, expr.at) for value in sorted(set(answer))]
        return [self.fold(expr)]

    def _single(self, fact: Fact) -> Expr | _Undecidable:
        answer = self._answer(fact)
        if answer is None:
            return _Undecidable(f"{_shown(fact)} is not known for {self._request.user!r}")
        if isinstance(answer, tuple):
            return _Undecidable(
                f"{_shown(fact)} has {len(answer)} values for {self._request.user!r}; use it in an IN list"
            )
        return Literal(answer, type_of(fact), fact.at)

    def _answer(self, fact: Fact) -> Any:
        request = self._request
        answer: Any
        match fact.kind:
            case "attribute":
                answer = request.attributes.get(fact.key)
            case "user":
                answer = request.user
            case "member":
                answer = request.member(fact.key)
            case "context":
                answer = getattr(request, fact.key)
            case "tag":
                held = self._tags.get(fact.key)
                answer = held is not None and fact.value in (None, held)
            case _:
                answer = request.date
        self.answers[fact] = answer
        return answer


def _in_network(args: tuple[Expr, ...]) -> bool:
    address, network = (a.value for a in args if isinstance(a, Literal))
    return ipaddress.ip_address(address) in ipaddress.ip_network(network)


def _shown(fact: Fact) -> str:
    match fact.kind:
        case "attribute":
            return f"principal.{fact.key}"
        case "context":
            return f"context.{fact.key}"
        case "member":
            return f"is_member('{fact.key}')"
        case _:
            return "current_date" if fact.kind == "date" else fact.kind
