"""Compares routes with the acts that their handlers perform: a door that asks for the wrong permit does not start."""

import dis
from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any, Final

from headgate.decide import Op
from headgate.doors.routing import Handler, Open, Route
from headgate.steward import Steward
from headgate.steward.acts import declared

_LOADS: Final = ("LOAD_ATTR", "LOAD_METHOD")


def check_acts(steward: Steward, routes: Iterable[Route]) -> None:
    """Refuse to start if a handler hands its route's permit to what does not take it.

    Read off the handlers' code: `call.steward.<part>.<act>(call.permit, …)`, also in functions of the door that are
    given the call. A permit that a handler asks for by itself is held against the act when it is used.
    """
    for route in routes:
        for part, name in _performed(route.handler):
            takes = declared(getattr(steward, part), name)
            if takes is None:
                raise TypeError(
                    f"{route.method} {route.path} hands its permit to {part}.{name}, which declares no operation: "
                    "refusing to start"
                )
            wrong = _required(route) - takes
            if wrong:
                raise TypeError(
                    f"{route.method} {route.path} asks for {', '.join(sorted(op.name for op in wrong))}, but {part}.{name} "
                    f"takes a permit of {', '.join(sorted(op.name for op in takes))}: refusing to start"
                )


def _required(route: Route) -> frozenset[Op]:
    match route.requires:
        case Open():
            return frozenset()
        case dict() as by_type:
            return frozenset(by_type.values())
        case op:
            return frozenset({op})


@cache
def _performed(handler: Handler) -> tuple[tuple[str, str], ...]:
    """Part and name of everything that a handler hands the permit of its call to."""
    return tuple(dict.fromkeys(_walk(handler, set())))


def _walk(function: Any, seen: set[Any]) -> Iterator[tuple[str, str]]:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if function in seen:
        return
    seen.add(function)
    names = list(_names(function.__code__))
    for at, name in enumerate(names):
        if name == "steward" and names[at + 3 : at + 4] == ["permit"]:
            yield names[at + 1], names[at + 2]
        found = function.__globals__.get(name[1:]) if name.startswith("@") else None
        if isinstance(found, FunctionType) and found.__code__.co_varnames[:1] == ("call",):
            yield from _walk(found, seen)


def _names(code: CodeType) -> Iterator[str]:
    """Attributes and, with an @, globals in the order in which the code uses them."""
    for step in dis.get_instructions(code):
        if step.opname in _LOADS:
            yield str(step.argval)
        elif step.opname == "LOAD_GLOBAL":
            yield f"@{step.argval}"
        elif isinstance(step.argval, CodeType):
            yield from _names(step.argval)
