"""A server that decides nothing, to tell what deciding costs: for the benchmark only, and part of no installation.

    python -m bench.unchecked serve …

The same server with its decision taken out of every request: the revision is not read, no condition is looked at and no
lens is made. What is left finds the object by its name, as any catalog must.
"""

from __future__ import annotations

from typing import Any

from headgate.cli import main
from headgate.decide import Authority, Op
from headgate.decide.operations import OUTSIDE
from headgate.decide.policies.lens import WHOLE, LensVerdict
from headgate.model.objects import ObjectRef
from headgate.model.principals import Identity, PrincipalRef
from headgate.model.privileges import Privilege
from headgate.steward import findings, kernel
from headgate.steward.findings import OperationFinding
from headgate.steward.reads import lenses

_decided = findings.examine
_current = kernel.Kernel.authority


def _granted(
    authority: Authority,
    identity: Identity,
    op: Op | Privilege,
    ref: ObjectRef,
    about: PrincipalRef | None = None,
) -> OperationFinding:
    if op in OUTSIDE:
        return _decided(authority, identity, op, ref, about)
    node, exists = findings.stand_in(authority, ref)
    caller = authority.caller(identity, node.metalake if node.chain else 0)
    return OperationFinding(identity, op, ref, node, caller, authority, 0, exists, True)


def _as_compiled(self: Any, at_least: int = 0) -> Authority:
    known: Authority = self._authority
    return known if known.revision >= max(at_least, 0) else _current(self, at_least)


def _everything(*_: Any) -> LensVerdict:
    return LensVerdict(WHOLE)


def _replace(owner: Any, name: str, by: Any) -> None:
    assert hasattr(owner, name), f"{owner} has no {name} any more: the benchmark would measure nothing"
    setattr(owner, name, by)


def bypass() -> None:
    """Take the decision out. What is made after the first request is not found: prepare the lake with a real server."""
    _replace(kernel, "examine", _granted)
    _replace(kernel.Kernel, "authority", _as_compiled)
    _replace(lenses, "decide", _everything)


bypass()

if __name__ == "__main__":
    main()
