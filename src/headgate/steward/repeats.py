"""Requests that may be sent again: what came of each is kept under its idempotency key, so that none is done twice."""

from datetime import UTC, datetime, timedelta

from headgate.model.records import KeptAnswer
from headgate.steward.kernel import Kernel
from headgate.store import answers
from headgate.store.database import stored_time


class Repeats:
    """Keys are digests of caller, route and what the client sent; whoever asks has been authenticated by a door."""

    def __init__(self, kernel: Kernel) -> None:
        self.store = kernel.store

    def find(self, key: str) -> KeptAnswer | None:
        """What came of the request with this key; None if it was never sent or its time is over."""
        return answers.find(self.store, key)

    def is_under_way(self, kept: KeptAnswer) -> bool:
        """Whether the request is being done right now, in whichever process."""
        return kept.status == answers.UNDER_WAY

    def begin(self, key: str, request: str, lifetime: timedelta) -> bool:
        """Take a key for a request that is about to be done; False if somebody else has it."""
        return answers.begin(self.store, key, request, _from_now(lifetime))

    def keep(self, key: str, answer: KeptAnswer, lifetime: timedelta) -> None:
        """Keep what came of the request that took the key."""
        answers.keep(self.store, key, answer, _from_now(lifetime))

    def give_up(self, key: str) -> None:
        """Let go of a key whose request was not done, so that it can be sent again."""
        answers.give_up(self.store, key)


def _from_now(span: timedelta) -> str:
    return stored_time(datetime.now(UTC) + span)
