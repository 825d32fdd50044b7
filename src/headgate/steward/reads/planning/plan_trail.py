"""The audit trail of scan planning: every request about a plan leaves a line, however it ended."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

from headgate.model import errors as e
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.reads.circumstances import Circumstances
from headgate.steward.reads.copies.governed import NotReady


class PlanStep(StrEnum):
    """What was asked of a plan."""

    PLAN = "plan"
    POLL = "poll"
    CANCEL = "cancel"
    TASK = "task"
    ACCESS = "access"
    SIGN = "sign"


_OUTCOMES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (NotReady, "not-ready"),
    (e.IllegalArgument, "malformed"),
    (e.Forbidden, "refused"),
    (e.NotFound, "missing"),
)
"""First match wins; whatever else goes wrong has failed."""


class PlanTrail:
    """The one place that keeps what became of requests about plans."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def record(
        self, permit: Permit, step: PlanStep, outcome: str, circumstances: Circumstances, **details: object
    ) -> None:
        """Keep how a request about a plan ended. Refuses the answer if that cannot be kept."""
        self.kernel.audit_read(
            permit,
            outcome != "refused",
            step=str(step),
            outcome=outcome,
            **details,
            **circumstances.audited(),
        )

    def record_failure(
        self, permit: Permit, step: PlanStep, error: BaseException, circumstances: Circumstances
    ) -> None:
        """Keep that a request about a plan was not answered.

        INVARIANT: only the kind of error is kept. Its words may name columns that not everybody who reads the audit
        trail may know of.
        """
        outcome = next((word for kind, word in _OUTCOMES if isinstance(error, kind)), "failed")
        self.record(permit, step, outcome, circumstances, error=type(error).__name__)

    @contextmanager
    def failures(self, permit: Permit, step: PlanStep, circumstances: Circumstances) -> Iterator[None]:
        """Keep what goes wrong inside; what goes right is recorded where more is known of it."""
        try:
            yield
        except Exception as error:
            self.record_failure(permit, step, error, circumstances)
            raise
