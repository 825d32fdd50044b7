"""Acts: what the steward does for callers. Each declares the operations whose permit it takes, and refuses any other.

A door asks for a permit and hands it to an act. Without this, a door that asks for the wrong one would be obeyed:
dropping a table would take a permit to load it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from headgate.decide import Op
from headgate.model.objects import ObjectType
from headgate.steward.permits import Permit

_P = ParamSpec("_P")
_S = TypeVar("_S")
_T = TypeVar("_T")

_DECLARED: Final = "__operations__"


class WrongPermit(RuntimeError):
    """An act was handed the permit of an operation that it does not declare: a mistake in the program, never a caller's."""

    def __init__(self, act: str, permit: Permit, operations: Iterable[Op]) -> None:
        takes = " or ".join(sorted(op.name for op in operations))
        super().__init__(f"{act} takes a permit of {takes or 'no operation'}, not of {permit.op.name}")


def act(
    *operations: Op | str, also: tuple[Op, ...] = ()
) -> Callable[[Callable[Concatenate[_S, Permit, _P], _T]], Callable[Concatenate[_S, Permit, _P], _T]]:
    """Declare what a method's permit is of. ``"LOAD_{type}"`` means the operation of that name for the part's own type.

    `also` are the operations of further permits among the arguments.
    INVARIANT: nothing is done before every permit was held against what is declared.
    """

    def declare(
        method: Callable[Concatenate[_S, Permit, _P], _T],
    ) -> Callable[Concatenate[_S, Permit, _P], _T]:
        @wraps(method)
        def checked(self: _S, permit: Permit, /, *args: _P.args, **more: _P.kwargs) -> _T:
            wanted = _resolved(operations, getattr(self, "type", None))
            check_permit(method.__qualname__, permit, wanted)
            for further in _permits((*args, *more.values())):
                check_permit(method.__qualname__, further, also)
            return method(self, permit, *args, **more)

        setattr(checked, _DECLARED, operations)
        return checked

    return declare


def check_permit(act: str, permit: Permit, operations: Collection[Op]) -> None:
    """Refuse a permit of another operation than these."""
    if permit.op not in operations:
        raise WrongPermit(act, permit, operations)


def declared(part: object, name: str) -> frozenset[Op] | None:
    """The operations that an act of a part takes a permit of; None for what is no act."""
    method = getattr(type(part), name, None)
    operations = getattr(method, _DECLARED, None)
    return None if operations is None else _resolved(operations, getattr(part, "type", None))


@cache
def _resolved(operations: tuple[Op | str, ...], type: ObjectType | None) -> frozenset[Op]:
    """Of several names that are given for a type, those count that there are: some are created, others registered."""
    found: set[Op] = set()
    for operation in operations:
        if isinstance(operation, Op):
            found.add(operation)
        elif type is not None:
            plural = type.name.removesuffix("Y") + "IES" if type.name.endswith("Y") else type.name + "S"
            name = operation.format(type=type.name, types=plural)
            found.update(op for op in Op if op.name == name)
    return frozenset(found)


def _permits(values: Iterable[Any]) -> Iterator[Permit]:
    for value in values:
        if isinstance(value, Permit):
            yield value
        elif isinstance(value, tuple | list):
            yield from _permits(value)
        elif isinstance(found := getattr(value, "permit", None), Permit):
            yield found
