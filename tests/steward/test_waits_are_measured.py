"""Promise: whoever waited for copies is counted once, by how it ended."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from headgate.model.errors import Forbidden, HeadgateError
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.reads import waiting as waits
from headgate.steward.reads.copies.governed import NotReady
from headgate.steward.reads.waiting import Waiting


class OpenHanded:
    """A kernel that permits everything."""

    def permit(self, *asked: Any) -> Any:
        return PERMIT


class Anybody:
    identity = op = ref = None


PERMIT = cast(Permit, Anybody())


@pytest.fixture
def counted() -> list[str]:
    return []


@pytest.fixture
def waiting(counted: list[str]) -> Waiting:
    made = Waiting(cast(Kernel, OpenHanded()), patience=0.01)
    made.on_waited = lambda outcome, seconds: counted.append(outcome)
    return made


def looking(*outcomes: str | HeadgateError) -> Any:
    """A look that ends so, one time after the other."""
    coming: Iterator[str | HeadgateError] = iter(outcomes)

    def look(permit: Permit) -> str:
        outcome = next(coming)
        if isinstance(outcome, HeadgateError):
            raise outcome
        return outcome

    return look


def test_who_does_not_wait_is_not_counted(waiting: Waiting, counted: list[str]) -> None:
    assert waiting.in_request(PERMIT, looking("there")) == "there"
    assert counted == []


def test_each_end_is_counted(waiting: Waiting, counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert waiting.in_request(PERMIT, looking(NotReady(1), "there")) == "there"
    with pytest.raises(NotReady):
        waiting.in_request(PERMIT, looking(NotReady(1), NotReady(1)))
    with pytest.raises(Forbidden):
        waiting.in_request(PERMIT, looking(NotReady(1), Forbidden("not any more")))
    assert counted == ["ready", "late", "refused"]
    monkeypatch.setattr(waits, "MOST_WAITING", 0)
    full = Waiting(cast(Kernel, OpenHanded()))
    full.on_waited = waiting.on_waited
    with pytest.raises(NotReady):
        full.in_request(PERMIT, looking(NotReady(1)))
    assert counted[3:] == ["crowded"]
