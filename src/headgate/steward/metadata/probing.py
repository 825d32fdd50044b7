"""Probing: before a catalog is declared, a worker's Spark tries the storage in which its tables would lie."""

import threading
import time
import uuid
from typing import Final

import msgspec

from headgate.catalogs.interface import holds_documents
from headgate.catalogs.locations import more_places
from headgate.catalogs.registry import CatalogDefinition
from headgate.decide import Op
from headgate.model.errors import ConnectionFailed
from headgate.model.objects import CatalogType
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.catalogs import Catalogs
from headgate.steward.permits import Permit
from headgate.store import probes

TAKING: Final = 3.0
"""Seconds in which a worker that has nothing to do takes a probe; it looks several times a second."""
ANSWERING: Final = 60.0
"""Seconds for the probe itself: it may be the first thing that Spark is started for."""
MOST_AT_ONCE: Final = 4
_PAUSE: Final = 0.1


class Probed(msgspec.Struct, frozen=True):
    """Whether Spark was tried, and if not, why."""

    tried: bool
    why: str | None = None


class Probing:
    def __init__(self, kernel: Kernel, catalogs: Catalogs) -> None:
        self.kernel = kernel
        self.catalogs = catalogs
        self.taking = TAKING
        self.answering = ANSWERING
        self._places = threading.Semaphore(MOST_AT_ONCE)

    @act(Op.TEST_CONNECTION)
    def probe(
        self, permit: Permit, name: str, type: CatalogType, provider: str | None, properties: dict[str, str]
    ) -> Probed:
        """Have a worker try a catalog as it would be declared; raises what Spark says if it cannot use the storage."""
        definition = self.catalogs.declared(permit, name, type, provider, properties)
        adapter = self.catalogs.registry.open(definition)
        if not holds_documents(adapter):
            return Probed(False, "its tables are no concern of Spark's")
        if not (adapter.own_places() or more_places(properties)):
            return Probed(False, "where its tables lie is not known before they are there")
        if not self._places.acquire(blocking=False):
            return Probed(False, "too many are tried at once")
        try:
            return self._asked(definition)
        finally:
            self._places.release()

    def _asked(self, definition: CatalogDefinition) -> Probed:
        store, id = self.kernel.store, uuid.uuid4().hex
        probes.ask(store, id, msgspec.json.encode(definition))
        try:
            began = time.monotonic()
            while True:
                time.sleep(_PAUSE)
                state, waited = probes.state(store, id), time.monotonic() - began
                if state.outcome is not None:
                    break
                if not state.taken and waited > self.taking:
                    return Probed(False, "no worker took it: none runs, or all are busy")
                if waited > self.taking + self.answering:
                    return Probed(
                        False, f"a worker has not answered within {self.answering:.0f} s; its log says why"
                    )
        finally:
            probes.forget(store, id)
        if state.outcome:
            raise ConnectionFailed("a worker's Spark cannot use the catalog", hint=state.outcome)
        return Probed(True)
