"""People whose tokens say their groups: an issuer in small, which says what a test has it say."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from headgate.doors.authentication.schemes import Proven
from headgate.steward import Steward
from tests.conftest import Api, in_process

NONE, UNKNOWN = "-", "?"


class Claims:
    """The password is what the token says: groups, that there are none, or nothing of groups."""

    def identify(self, scheme: str, credentials: str, address: str | None) -> Proven | None:
        user, _, groups = base64.b64decode(credentials).decode().partition(":")
        told = frozenset() if groups == NONE else frozenset(groups.split(","))
        return Proven(user, None if groups == UNKNOWN else told)


@pytest.fixture
def claimed(steward: Steward) -> Iterator[Api]:
    """`claimed("bob", …, groups="staff")`: the token says the groups."""
    with in_process(steward, Claims()) as api:

        def call(
            user: str, method: str, path: str, json: Any = None, *, groups: str = NONE, **more: Any
        ) -> Any:
            return api(user, method, path, json, password=groups, **more)

        yield call
