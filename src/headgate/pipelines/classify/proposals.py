"""From counts to proposals: how much speaks for each kind, and which one is proposed for a column."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from headgate.pipelines.classify.kinds import KINDS, DataKind
from headgate.pipelines.classify.names import denies, says

FEW: Final = 5
"""Fewer values than this say nothing by themselves, only together with the column's name."""


class Counts(msgspec.Struct, frozen=True):
    """What was counted of a column: its values, and by kind and signal how many of them count for it."""

    values: int
    passed: Mapping[str, Mapping[str, int]]


class Proposal(msgspec.Struct, frozen=True, rename="camel"):
    """A tag for a column. `passed` says by signal how many of the sampled `values` count for it."""

    column: str
    value: str
    confidence: float
    values: int
    passed: dict[str, int]
    named: bool
    """Whether the column's name says so as well."""


def propose(
    counted: Sequence[tuple[tuple[str, ...], tuple[str, ...], Counts]], table: str, least: float
) -> list[Proposal]:
    """The most likely kind of each column, if it is likely enough. Comes in: path, column and counts of each leaf.

    Of several fields inside one list or map, the most likely one speaks for the column.
    """
    best: dict[tuple[str, ...], Proposal] = {}
    for path, column, counts in counted:
        for kind in KINDS:
            made = _judge(kind, path, column, table, counts)
            if made is None or made.confidence < least:
                continue
            if column not in best or made.confidence > best[column].confidence:
                best[column] = made
    return [best[column] for column in sorted(best)]


def _judge(
    kind: DataKind, path: tuple[str, ...], column: tuple[str, ...], table: str, counts: Counts
) -> Proposal | None:
    """Confidence is the share of the values that pass, each as strong as its signal."""
    passed = {name: count for name, count in counts.passed[kind.value].items() if count}
    if not passed or denies(kind.value, path):
        return None
    named = says(kind.value, path, table)
    if not named and counts.values < FEW:
        return None
    strengths = {signal.name: signal.named if named else signal.alone for signal in kind.signals}
    weight = sum(count * strengths[name] for name, count in passed.items())
    return Proposal(
        ".".join(column), kind.value, round(weight / counts.values, 3), counts.values, passed, named
    )
