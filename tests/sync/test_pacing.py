"""What a service asks us to wait is waited, and no longer than anybody has patience for."""

import pytest

from headgate.model.errors import ConnectionFailed
from headgate.sync.transport.pacing import Busy, Pacing
from tests.sync.cloud_stands import Clock


def busy_for(times: int, after: float | None = None) -> object:
    left = [times]

    def ask() -> str:
        if left[0]:
            left[0] -= 1
            raise Busy("busy", after)
        return "done"

    return ask


def test_the_wait_that_is_asked_for_is_the_wait() -> None:
    clock = Clock()
    assert clock.pacing()(busy_for(2, 7.0)) == "done"  # type: ignore[arg-type]
    assert clock.waits == [7.0, 7.0]


def test_without_one_the_wait_doubles_up_to_a_bound() -> None:
    clock = Clock()
    pacing = Pacing(clock.sleep, first=1, longest=5)
    assert pacing(busy_for(5)) == "done"  # type: ignore[arg-type]
    assert clock.waits == [1, 2, 4, 5, 5]


@pytest.mark.parametrize("after", [None, 0.0, 40.0, 1e9])
def test_patience_ends(after: float | None) -> None:
    clock = Clock()
    with pytest.raises(ConnectionFailed, match="busy"):
        clock.pacing()(busy_for(100_000, after))  # type: ignore[arg-type]
    assert sum(clock.waits) <= 300


def test_a_wait_is_told_in_seconds_or_as_a_date() -> None:
    clock = Clock()
    pacing = clock.pacing()
    assert pacing.retry_after("12") == 12
    assert pacing.retry_after("Tue, 14 Nov 2023 22:13:30 GMT") == 10
    assert pacing.retry_after("Tue, 14 Nov 2023 22:13:00 GMT") == 0
    assert pacing.retry_after("soon") is None
    assert pacing.retry_after(None) is None
