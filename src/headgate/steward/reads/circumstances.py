"""What a request says of itself besides what it asks for: the client, and the ways of access that it can use."""

import re
from typing import Final

import msgspec

from headgate.model.objects import clip

_NUMBER: Final = re.compile(r"[0-9]{1,6}")
_WAYS: Final = frozenset({"vended-credentials", "remote-signing"})


class Circumstances(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a request says of itself besides what it asks for; kept for the audit."""

    delegation: str | None = None
    referenced_by: str | None = None
    client: str | None = None
    """The client's own name and version."""

    @property
    def delegations(self) -> frozenset[str]:
        """The ways of access to files that the client can use besides its own."""
        return _WAYS.intersection(way.strip().lower() for way in (self.delegation or "").split(","))

    def audited(self) -> dict[str, object]:
        return {key: clip(value, 500) for key, value in msgspec.to_builtins(self).items()}

    @property
    def polls(self) -> bool:
        """Whether the client comes back for a plan that is not there at once; pyiceberg fails instead."""
        return not (self.client or "").startswith("PyIceberg")

    @property
    def plans_on_server(self) -> bool:
        """Whether the client surely lets the server plan where a table asks for it.

        One that wrongly says so finds no manifest and reads nothing.
        """
        name, _, version = (self.client or "").removeprefix("Apache ").partition(" ")
        parts = version.split(" ")[0].split(".")
        if name != "Iceberg" or len(parts) < 2 or not all(_NUMBER.fullmatch(part) for part in parts[:2]):
            return False
        return (int(parts[0]), int(parts[1])) >= (1, 11)
