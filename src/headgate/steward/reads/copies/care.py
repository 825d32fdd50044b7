"""The care of governed copies: how far each lens is, making one ready before anybody waits for it, clearing away what nobody uses."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import msgspec
import structlog

from headgate.decide import Authority, Node, Op
from headgate.model.errors import HeadgateError
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.shapes import name_of, tables_below
from headgate.steward.permits import Permit
from headgate.steward.reads.copies.collecting import Collected, Collector
from headgate.steward.reads.copies.governed import Governed, NotReady, recently
from headgate.steward.reads.making import TableReads
from headgate.steward.reads.table_read import GovernedRead
from headgate.store import backlog, ledger

log = structlog.get_logger("headgate.lenses")

_MOST_WAITING: Final = 1_000


class LensStatus(msgspec.Struct, frozen=True):
    """How far a lens over a table is."""

    table: str
    progress: ledger.LensProgress


class OwnLens(msgspec.Struct, frozen=True):
    """Somebody's own lens over a table. How many copies it needs would tell of what it hides."""

    table: str
    view: str
    ready: bool


class Warmed(msgspec.Struct, frozen=True):
    """What was asked for to make a lens ready: how many copies are still missing; or why it cannot be."""

    table: str
    user: str
    view: str | None
    missing: int = 0
    problem: str | None = None


class CopyCare:
    def __init__(self, kernel: Kernel, reads: TableReads, governed: Governed) -> None:
        self.kernel = kernel
        self.reads = reads
        self.governed = governed
        self.collector = Collector(kernel, reads, governed)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="warming")
        self._waiting: set[int] = set()
        self._lock = threading.Lock()

    @act(Op.MANAGE_LENSES)
    def status(self, permit: Permit) -> list[LensStatus]:
        """The lenses over all tables in the permit's metalake."""
        return self._status(permit, tables_below(permit.authority, permit.node))

    @act(Op.READ_METRICS)
    def pending(self, permit: Permit) -> backlog.Backlog:
        """How many copies there are in each state, over all metalakes."""
        return backlog.measured(self.kernel.store)

    @act(Op.LOAD_TABLE)
    def mine(self, permit: Permit) -> list[OwnLens]:
        """The caller's own lens over the permit's table, if it is restricted."""
        read = self.reads.as_seen_by(permit.authority, permit.node, permit.identity)
        if read is None:
            return []
        current = read.metadata.get("current-snapshot-id")
        ready = current in (None, -1) or self.governed.is_ready(read, current)
        return [OwnLens(name_of(permit.authority, permit.node), read.copy_id, ready)]

    @act(Op.MANAGE_LENSES)
    def warm(self, permit: Permit, tables: list[ObjectRef], users: list[str]) -> list[Warmed]:
        """Ask for all copies that these users need of these tables; without users, those of the lenses that were used lately.

        Takes the permit for the metalake; answers at once, the copies are made by workers.
        """
        authority = permit.authority
        nodes = [self.kernel.demand(authority, permit.identity, Op.LOAD_TABLE, ref).node for ref in tables]
        warmed: list[Warmed] = []
        for node in nodes or tables_below(authority, permit.node):
            identities = [Identity(user) for user in users] or self._lately(node.id)
            warmed += [self._warm(authority, node, identity) for identity in identities]
        return warmed

    @act(Op.MANAGE_LENSES)
    def gc(self, permit: Permit, unused_days: int, *, dry_run: bool) -> list[Collected]:
        """Clear away what nobody can use any more in the permit's metalake, and what lies in no table at all."""
        return self.collector.collect(permit, unused_days, dry_run=dry_run)

    def changed(self, table: int) -> None:
        """Make the lenses that were used lately ready for a table that has changed, before anybody waits for it."""
        with self._lock:
            if table in self._waiting or len(self._waiting) >= _MOST_WAITING:
                return
            self._waiting.add(table)
        self._pool.submit(self._follow, table)

    def renew(self, table: int) -> bool:
        """As `changed`, for a table whose policies changed; False if nobody used a lens over it lately. Never waits."""
        if not ledger.views(self.kernel.store, table, recently()):
            return False
        self.changed(table)
        return True

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    # -- inside -------------------------------------------------------------------------------------------------

    def _follow(self, table: int) -> None:
        with self._lock:
            self._waiting.discard(table)
        try:
            authority = self.kernel.authority()
            node = authority.objects.get(table)
            if node is not None:
                for identity in self._lately(table):
                    self._warm(authority, node, identity)
        except HeadgateError as error:
            # Nobody waits for it: the next reader asks for the copies, and hears what is wrong.
            log.warning("views not made ready", table=table, reason=str(error))

    def _lately(self, table: int) -> list[Identity]:
        found = ledger.views(self.kernel.store, table, recently())
        return [msgspec.json.decode(view.identity, type=Identity) for view in found]

    def _warm(self, authority: Authority, node: Node, identity: Identity) -> Warmed:
        name = name_of(authority, node)
        read: GovernedRead | None = None
        try:
            read = self.reads.as_seen_by(authority, node, identity)
            if read is not None:
                self.governed.announce(read, identity)
                self.governed.document(read, None)
        except NotReady as waiting:
            return Warmed(name, identity.user, read.copy_id if read else None, waiting.missing)
        except HeadgateError as error:
            return Warmed(name, identity.user, None, problem=str(error))
        return Warmed(name, identity.user, read.copy_id if read else None)

    def _status(self, permit: Permit, nodes: list[Node]) -> list[LensStatus]:
        by_id = {node.id: node for node in nodes if node.type is ObjectType.TABLE}
        found = ledger.progress(self.kernel.store, list(by_id))
        return [LensStatus(name_of(permit.authority, by_id[one.object]), one) for one in found]
