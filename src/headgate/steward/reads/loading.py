"""Loading of tables and views: the document as the caller may see it, and how their client has to read it."""

from typing import Any, Final

import msgspec

from headgate.catalogs.interface import Document
from headgate.catalogs.locations import normal
from headgate.decide import Op
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.reads.circumstances import Circumstances
from headgate.steward.reads.copies.governed import Governed, NotReady
from headgate.steward.reads.making import TableReads
from headgate.steward.reads.table_read import GovernedRead, TableRead
from headgate.steward.reads.waiting import Waiting

Json = dict[str, Any]

SERVER_PLANNING: Final = {"scan-planning-mode": "server"}


class Loaded(msgspec.Struct, frozen=True):
    """A table or view as the caller may see it, and how its client has to read it."""

    document: Document
    read: TableRead
    permit: Permit
    """The permit of the moment at which it was ready."""
    config: dict[str, str] = {}
    restrictions: Json | None = None
    """What a trusted engine has to enforce by itself."""

    @property
    def governed(self) -> bool:
        """Whether the document is a governed one, over what the lens lets through."""
        return isinstance(self.read, GovernedRead) and self.restrictions is None


class Loading:
    def __init__(self, kernel: Kernel, reads: TableReads, governed: Governed, waiting: Waiting) -> None:
        self.kernel = kernel
        self.reads = reads
        self.governed = governed
        self.waiting = waiting

    @act(Op.LOAD_TABLE, Op.LOAD_VIEW)
    def load(self, permit: Permit, circumstances: Circumstances) -> Loaded:
        """A table or view as the caller may see it; waits a while for one that is not ready."""
        loaded = self.waiting.in_request(permit, lambda again: self._load(again, circumstances))
        metadata = loaded.document.metadata
        self.kernel.audit_read(
            permit,
            snapshot=metadata.get("current-snapshot-id"),
            folders=list(loaded.read.folders) or None,
            given=[normal(metadata["location"])] if loaded.governed else None,
            view=loaded.read.copy_id,
            delegated=True if loaded.restrictions is not None else None,
            **circumstances.audited(),
        )
        return loaded

    @act(Op.LOAD_TABLE)
    def taken_over(self, permit: Permit, document: Document) -> Document:
        """The document of a table that the caller has just registered, as far as they may see it; waits for no copies.

        INVARIANT: whoever registers a table wrote nothing of what its document says.
        """
        read = self.reads.of(permit)
        return self.governed.withheld(read, permit.identity) if isinstance(read, GovernedRead) else document

    def _load(self, permit: Permit, circumstances: Circumstances) -> Loaded:
        read = self.reads.of(permit)
        if not isinstance(read, GovernedRead):
            return Loaded(read.document, read, permit)
        if read.delegated is not None:
            document = Document(read.document.location, read.delegated.metadata)
            return Loaded(document, read, permit, SERVER_PLANNING, read.delegated.restrictions)
        try:
            document = self.governed.document(read, permit.identity)
        except NotReady:
            if not circumstances.plans_on_server:
                raise
            document = self.governed.withheld(read, permit.identity)
        return Loaded(document, read, permit, SERVER_PLANNING)
