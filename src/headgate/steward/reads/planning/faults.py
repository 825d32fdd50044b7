"""What goes wrong while planning, in the words of the rest of the house."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from headgate import planning
from headgate.model import errors as e
from headgate.model.objects import clip

_MEANING: Final[tuple[tuple[type[planning.PlanningError], Callable[[str], e.HeadgateError]], ...]] = (
    (planning.InvalidPlanTaskError, lambda why: e.NotFound(why, about="plan-task")),
    (planning.StalePlanTaskError, lambda why: e.NotFound(why, about="plan-task")),
    (planning.ForeignFileError, e.Forbidden),
    (planning.UnreadableManifestError, e.ConnectionFailed),
    (planning.CorruptManifestError, e.Damaged),
    (planning.MissingManifestError, e.Damaged),
    (planning.InvalidTableMetadataError, e.Damaged),
    (planning.PlanningError, e.IllegalArgument),
)
"""First match wins: the narrow before the wide."""


@contextmanager
def translated() -> Iterator[None]:
    """Translate what goes wrong inside from the planner's errors into those of the doors."""
    try:
        yield
    except planning.PlanningError as error:
        meaning = next(make for kind, make in _MEANING if isinstance(error, kind))
        raise meaning(clip(str(error), 500)) from error
