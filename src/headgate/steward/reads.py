"""Reads of tables: what the caller sees of one, told the same way to whoever loads, plans or writes."""

import re
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from headgate.catalogs.iceberg.storage import MissingDocument
from headgate.catalogs.interface import Document, IcebergCatalog
from headgate.decide.clauses import any_on_the_way
from headgate.model.errors import Forbidden
from headgate.model.objects import ObjectType, clip
from headgate.steward import restrictions
from headgate.steward.enforcement import Enforcement, How
from headgate.steward.governed import Governed, NotReady
from headgate.steward.kernel import Kernel
from headgate.steward.lenses import Lenses
from headgate.steward.modes import REFUSE
from headgate.steward.permits import Permit
from headgate.steward.sights import Sight, Sights
from headgate.steward.tables import place_of

Json = dict[str, Any]
T = TypeVar("T")

SERVER_PLANNING: Final = {"scan-planning-mode": "server"}

PATIENCE: Final = 20.0
"""Seconds that a client waits for a table to be made ready before it is told to come back. DuckDB hangs up after 30."""
MOST_WAITING: Final = 16
"""How many may wait so at a time; a server whose threads all wait answers nobody."""
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

    def told(self) -> dict[str, object]:
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


class Loaded(msgspec.Struct, frozen=True):
    """A table or view as the caller may see it, and how its client has to read it."""

    document: Document
    config: dict[str, str] = {}
    view: str | None = None
    """Names the view if it is restricted."""
    restrictions: Json | None = None
    """What a trusted engine has to enforce by itself."""
    folders: tuple[str, ...] = ()
    """Where the table's own files may lie."""

    @property
    def governed(self) -> bool:
        """Whether the document is a governed one, over what the view lets through."""
        return self.view is not None and self.restrictions is None


class Reads:
    """The one place that is asked what a caller sees of a table; loading, planning, tasks and writing all come here."""

    def __init__(
        self,
        kernel: Kernel,
        lenses: Lenses,
        sights: Sights,
        governed: Governed,
        enforcement: Enforcement,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self.kernel = kernel
        self.lenses = lenses
        self.governed = governed
        self.enforcement = enforcement
        self.sights = sights
        self.patience = patience
        self._waiting = threading.Semaphore(MOST_WAITING)

    def sight(self, permit: Permit, document: Document, adapter: IcebergCatalog) -> Sight | None:
        """What the caller sees of a table if that is only a part; None if it is all. Refuses one not to be seen at all."""
        if permit.ref.type is not ObjectType.TABLE:
            return None
        seen = self.lenses.over(permit, document.metadata)
        return None if seen.lens.whole else self.sights.of(permit.node, seen, document, adapter)

    def load(self, permit: Permit, adapter: IcebergCatalog, circumstances: Circumstances) -> Loaded:
        """A table or view as the caller may see it; waits a while for one that is not ready."""
        return self.waited_in_request(permit, lambda again: self._load(again, adapter, circumstances))

    def waited_in_request(self, permit: Permit, look: Callable[[Permit], T]) -> T:
        """What `look` answers once copies are ready, as long as a client waits for it."""
        return self.waited(permit, look, self.patience, self._waiting)

    def waited(
        self,
        permit: Permit,
        look: Callable[[Permit], T],
        patience: float,
        places: threading.Semaphore | None = None,
    ) -> T:
        """What `look` answers once copies are ready.

        INVARIANT: every look is under a permit of that moment, so who lost a right while waiting gets nothing.
        """
        try:
            return look(permit)
        except NotReady:
            if places is not None and not places.acquire(blocking=False):
                raise
        try:
            ends, pause = time.monotonic() + patience, 0.05
            while True:
                time.sleep(pause)
                pause = min(pause * 1.5, 1.0)
                permit = self.kernel.permit(permit.identity, permit.op, permit.ref)
                try:
                    return look(permit)
                except NotReady:
                    if time.monotonic() > ends:
                        raise
        finally:
            if places is not None:
                places.release()

    def _load(self, permit: Permit, adapter: IcebergCatalog, circumstances: Circumstances) -> Loaded:
        document = self._document(permit, adapter)
        sight = self.sight(permit, document, adapter)
        folders = adapter.own_folders(document) if permit.ref.type is ObjectType.TABLE else ()
        if sight is None:
            return Loaded(document, folders=folders)
        told = self.delegated(permit, sight)
        if told is not None:
            return Loaded(
                Document(document.location, told.metadata),
                SERVER_PLANNING,
                sight.view,
                told.restrictions,
                folders,
            )
        try:
            found = self.governed.document(sight, permit.identity)
        except NotReady:
            if not circumstances.plans_on_server:
                raise
            found = self.governed.withheld(sight, permit.identity)
        return Loaded(found, SERVER_PLANNING, sight.view, folders=folders)

    def _document(self, permit: Permit, adapter: IcebergCatalog) -> Document:
        try:
            return adapter.document(place_of(permit))
        except MissingDocument as missing:
            # Without the document nobody knows what a policy would leave of the table, such as its folder.
            raise MissingDocument(
                missing.location, named=not any_on_the_way(permit.authority, permit.node)
            ) from None

    def delegated(self, permit: Permit, sight: Sight) -> restrictions.Told | None:
        """What a trusted engine is told instead of being given copies; None for everybody else.

        Refuses where restricted reads are refused.
        """
        return restrictions.told(sight.seen, sight.metadata) if self.check_readable(permit).trusted else None

    def check_readable(self, permit: Permit) -> How:
        """How restricted reads of a table are enforced; refuses where they are refused."""
        how = self.enforcement.of(permit)
        if how.mode == REFUSE:
            raise Forbidden(
                f"table '{clip(permit.ref.full_name)}' is not read by someone who may see only a part of it",
                hint="its catalog says so (headgate.enforce = refuse); ask its owner for all of it",
                about=ObjectType.TABLE,
            )
        return how
