"""Plans in files: what `headgate plan --out` showed, for somebody to look at, and for `headgate apply` to do exactly that.

INVARIANT: a saved plan is a wish and no right. It is applied only if it still comes to the same changes of the same policies, and
if nothing has to be agreed to that it did not show.
"""

from pathlib import Path
from typing import Any, Final

import msgspec

from headgate.cli.failure import Failure, Usage

_KIND: Final = "headgate policy plan"
_VERSION: Final = 1
_AGAIN: Final = "make a new plan with 'headgate plan -f FOLDER --out FILE' and look at it"


class SavedPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan, with the documents that it was made of."""

    kind: str = _KIND
    version: int = _VERSION
    metalake: str
    revision: int
    digest: str
    """Stands for the changes, from what policies say now to what they would say."""
    asks: list[str]
    """What had to be agreed to."""
    files: list[dict[str, str]]
    whole: bool
    shown: dict[str, Any]
    """What the plan showed, for whoever looks at it."""


def save(file: Path, metalake: str, sent: dict[str, Any], answer: dict[str, Any]) -> None:
    """Keep a plan."""
    plan = SavedPlan(
        metalake=metalake,
        revision=answer["revision"],
        digest=answer["digest"],
        asks=answer["asks"],
        files=sent["files"],
        whole=sent["whole"],
        shown={key: answer[key] for key in ("changes", "lenses", "wider", "writers", "unread")},
    )
    try:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(plan)) + b"\n")
    except OSError as error:
        raise Failure(f"{file} cannot be written ({error.strerror})", "choose another --out") from None


def load(file: Path) -> SavedPlan:
    """Read a plan."""
    try:
        plan = msgspec.json.decode(file.read_bytes(), type=SavedPlan)
    except OSError as error:
        raise Usage(
            f"{file} cannot be read ({error.strerror})", "name a file that 'headgate plan' wrote"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Usage(f"{file} is no saved plan ({error})", "to apply documents, name them with -f") from None
    if (plan.kind, plan.version) != (_KIND, _VERSION):
        raise Usage(f"{file} is no saved plan of this version", _AGAIN)
    return plan


def hold_against(plan: SavedPlan, proposed: dict[str, Any]) -> None:
    """Refuse a plan that would not do any more what it showed."""
    if proposed["digest"] != plan.digest:
        raise Failure(f"policies have changed since revision {plan.revision}, of which the plan is", _AGAIN)
    new = [ask for ask in proposed["asks"] if ask not in plan.asks]
    if new:
        raise Failure(f"the plan of revision {plan.revision} did not show this: {'; '.join(new)}", _AGAIN)
