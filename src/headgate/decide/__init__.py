"""The decision point: compiled state → verdict. Check, list and explain come from the same sets.

Comes in: the journal's changes (or all of the state) and questions "may this caller do this operation on this
object". Goes out: verdicts, filtered lists and explanations. Does no I/O; knows nothing of stores or doors.
"""

from headgate.decide.authority import Authority, Caller, Label, Node
from headgate.decide.explain import Explanation, explain
from headgate.decide.operations import Op, Operation
from headgate.decide.verdict import Verdict, allowed, check, visible

__all__ = [
    "Authority",
    "Caller",
    "Explanation",
    "Label",
    "Node",
    "Op",
    "Operation",
    "Verdict",
    "allowed",
    "check",
    "explain",
    "visible",
]
