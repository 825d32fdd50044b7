"""A cache of evaluated plans: who asks the same of the same state of a table again is not planned for again."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from headgate.catalogs.interface import Document
from headgate.planning import PlanRequest
from headgate.steward.permits import Permit

MOST_BYTES: Final = 64 << 20
LARGEST: Final = 4 << 20
"""Bytes that one answer may have; longer ones are evaluated each time."""


class Evaluated(msgspec.Struct, frozen=True):
    """The members of a plan's answer, and what the audit shall know of it."""

    members: bytes
    audited: dict[str, object]
    signer: str | None = None
    """The token that stands for the plan where its files are signed for; None where it cannot be made again."""

    @property
    def size(self) -> int:
        return len(self.members) + len(self.signer or "") + _OVERHEAD


class Evaluations:
    """Answers of one process, the least used forgotten first.

    INVARIANT: an answer is found again only under the same caller with all that the request said of them, the same object
    and document, the same revision of the authority and the same view, all of which are asked afresh for every
    request. So what was revoked or changed is never answered from here. Credentials are no part of what is kept.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self.on_lookup: Callable[[bool], object] = lambda hit: None
        """Is told of every lookup whether it was a hit."""
        self._kept: OrderedDict[bytes, Evaluated] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Memory held by answers."""
        return self._bytes

    def answer(self, key: bytes | None, make: Callable[[], Evaluated]) -> Evaluated:
        """What was evaluated under the key, or what `make` evaluates now. Errors are not kept."""
        if key is None:
            return make()
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
        self.on_lookup(found is not None)
        if found is not None:
            return found
        made = make()
        self._keep(key, made)
        return made

    def _keep(self, key: bytes, made: Evaluated) -> None:
        if len(made.members) > min(LARGEST, self.most_bytes):
            return
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = made
            self._bytes += made.size
            while self._bytes > self.most_bytes:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= gone.size


_OVERHEAD: Final = 2048
"""What an answer takes besides its bytes, roughly."""


def fingerprint(
    permit: Permit, document: Document, shown: str | None, view: bytes, request: PlanRequest
) -> bytes | None:
    """Stands for a question and everything that its answer depends on; None where nothing can.

    Every commit changes where the table's document lies. For restricted readers, `shown` is where the governed manifest
    list lies that they plan over.
    """
    if document.location is None:
        return None
    identity = permit.identity
    who = [
        identity.user,
        sorted(identity.groups),
        identity.active_roles.all,
        sorted(identity.active_roles.names),
        identity.address,
        identity.engine,
        identity.purpose,
        identity.groups_known,
        identity.made,
    ]
    state = [permit.revision, document.location, document.metadata.get("current-snapshot-id"), shown]
    asked = [who, permit.node.id, permit.op.name, state, view.hex(), request]
    return hashlib.sha256(msgspec.json.encode(asked)).digest()
