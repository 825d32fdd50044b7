"""Effective access of more than fits into memory: worked out on Spark, and the same as `effective` works out."""

from typing import TYPE_CHECKING, Final

from headgate.model.errors import Unsupported
from headgate.pipelines.access_matrix import AccessMatrix
from headgate.sync.access.capabilities import Semantics
from headgate.sync.access.relations import Relations
from headgate.sync.comparing.diff import Judge, Shifts
from headgate.sync.pushing.results import Shift
from headgate.sync.snapshots.facts import Facts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST: Final = 1_000_000
"""Gains and losses that are listed one by one. For more than that, ask the matrix itself."""


def on_spark(session: "SparkSession") -> Judge:
    """The judge for what a cluster is needed for."""

    def judge(wanted: Facts, now: Facts, semantics: Semantics) -> Shifts:
        relations = Relations((wanted, semantics), (now, semantics))
        with AccessMatrix(session, relations.tables) as matrix:
            gains, loses = matrix.count_beyond(0, 1), matrix.count_beyond(1, 0)
            if gains + loses > MOST:
                raise Unsupported(
                    f"users would gain {gains:,} and lose {loses:,} actions on objects, which is too much to list",
                    hint=f"at most {MOST:,} are listed; ask the access matrix for a part of them (docs/sync/fetch-and-diff.md)",
                )
            return (
                _shifts(matrix.beyond(0, 1), relations) if gains else (),
                _shifts(matrix.beyond(1, 0), relations) if loses else (),
            )

    return judge


def _shifts(frame: "DataFrame", relations: Relations) -> tuple[Shift, ...]:
    return tuple(
        sorted(
            Shift(relations.user_of[user], relations.object_of[object], action)
            for user, object, action in frame.collect()
        )
    )
