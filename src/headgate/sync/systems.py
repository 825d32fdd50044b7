"""What is known of a system before anything is opened: one record per package of `connectors`.

INVARIANT: a record is complete or it is not made. A part that was forgotten is named when the record is made, which is when a
server starts.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from headgate.sync.access.capabilities import Capabilities

if TYPE_CHECKING:
    from headgate.sync.connections import Connection
    from headgate.sync.contract import Connector

Open = Callable[[str, "Connection"], "Connector"]
"""Makes the connector of a named connection. INVARIANT: only this imports the libraries of the system."""


class IncompleteRecord(ValueError):
    """A system is not described in full."""


class SystemKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of connection to a system, as people write it: ``hive-acl``."""

    kind: str
    capabilities: Capabilities
    """What it can hold, its privileges and its SQL dialect included. The server's version may add to it."""
    open: Open | None
    """None only for metalakes of this server, which the steward opens under a permit."""

    def gaps(self, local: bool) -> Iterator[str]:
        able = self.capabilities
        if not self.kind:
            yield "kind"
        if able.system != self.kind:
            yield f"capabilities (they are those of '{able.system}')"
        if not any(able.semantics.natives.values()):
            yield "capabilities.semantics.natives"
        if (able.rows or able.masks) and not able.dialect:
            yield "capabilities.dialect"
        if (self.open is None) is not local:
            yield "open"


class SystemRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A system that policies are synchronised with: how it is called, opened and documented, and what it can hold."""

    title: str
    """What people call it: the heading of its section in docs/sync/systems.md."""
    kinds: tuple[SystemKind, ...]
    address: str
    """An address as it stands in ``headgate.toml``, for the documents and for hints."""
    options: tuple[str, ...]
    """The options that a connection must have."""
    local: bool = False
    """Whether it is this server itself, which needs no connection."""

    def __post_init__(self) -> None:
        gaps = list(self.gaps())
        if gaps:
            raise IncompleteRecord(f"the record of {self.title or 'a system'} lacks {', '.join(gaps)}")

    def gaps(self) -> Iterator[str]:
        """The parts that are missing or contradict each other, by name."""
        if not self.title:
            yield "title"
        if not self.kinds:
            yield "kinds"
        if not self.address:
            yield "address"
        for kind in self.kinds:
            yield from (f"{kind.kind or 'kind'}: {gap}" for gap in kind.gaps(self.local))
