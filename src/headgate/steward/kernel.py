"""What every part of the steward stands on: the current authority, permits, changes and the audit trail."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec

from headgate.decide import Authority, Caller, Node, Op
from headgate.decide.operations import OPERATIONS
from headgate.model.changes import Change, ObjectGone, ObjectPut, TableWritten
from headgate.model.errors import Conflict, Forbidden, HeadgateError, NotInUse, Unavailable
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.principals import Identity, PrincipalRef
from headgate.model.privileges import Privilege
from headgate.steward.findings import OperationFinding, Refused, Widens, as_known, examine
from headgate.steward.permits import EVEN_DISABLED, Permit, nothing_here
from headgate.store import Store, Write, snapshot
from headgate.store import audit as audit_log
from headgate.store.audit_buffer import AuditBuffer
from headgate.store.database import now
from headgate.store.metadata import writers

_WRITES: Final = frozenset({Op.ALTER_TABLE, Op.WRITE_PARTITIONS})
"""What may put values into a table that is there."""


def _unless_no_policies(authority: Authority, caller: Caller, node: Node) -> Node | None:
    """Without anybody to ask what is seen of a table, any policy counts as hiding something."""
    return node if authority.policies else None


def _no_policies(authority: Authority, identity: Identity, changes: Sequence[Change]) -> None:
    """A kernel by itself cannot read columns, so it changes nothing where policies are."""
    if authority.policies and changes:
        raise Unavailable(
            "what a change does to policies cannot be judged here", hint="use the whole steward"
        )


class NotSeenYet(Unavailable):
    """A change is to be judged by the columns of a table that another system keeps and that nobody has looked at yet.

    INVARIANT: no other system is asked inside a change: a slow one would hold up everybody's. It is asked after the change
    was taken back, and the request is made anew.
    """

    def __init__(self, catalog: int) -> None:
        super().__init__("the columns of a table in another system are not known yet", hint="ask again")
        self.catalog = catalog


class Ports(msgspec.Struct, frozen=True):
    """What the kernel asks of rooms that stand on it. By itself it knows no columns, so where policies are it refuses."""

    look_outside: Callable[[Authority, Identity, ObjectRef], bool] = lambda authority, identity, ref: False
    """Looks for an object that has no row yet in the system behind its catalog."""
    partly: Callable[[Authority, Caller, Node], Node | None] = _unless_no_policies
    """Finds a table, the object itself or one below it, that the caller sees only a part of."""
    kept_here: Callable[[Authority, Node], bool] = lambda authority, node: True
    """Whether the documents of an object's tables change in this store's transactions only."""
    see: Callable[[Authority, int], None] = lambda authority, catalog: None
    """Looks at the tables of a catalog that another system keeps, as far as nobody has yet."""
    guard: Callable[[Authority, Identity, Sequence[Change]], None] = _no_policies
    """Refuses changes that would show their actor more than they see now."""


class Kernel:
    """Knows the store and keeps the authority of its latest revision compiled."""

    def __init__(self, store: Store, service_admins: frozenset[str] = frozenset()) -> None:
        self.store = store
        self._authority = Authority(-1, service_admins)
        self._compiling = threading.Lock()
        self.reads = AuditBuffer(store)
        """Where reads are audited: together, a moment later."""
        self.ports = Ports()
        """What the rest of the house is asked; until it is wired, everything that it would judge is refused."""

    # -- state ------------------------------------------------------------------------------------------------

    def authority(self, at_least: int = 0) -> Authority:
        """The authority of the revision that the store has now.

        INVARIANT: the counter is read from the store for every question, so an answer never rests on a grant whose
        revocation was acknowledged before, by whichever process.
        """
        deadline = time.monotonic() + 2
        while (revision := self.store.revision()) < at_least:
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"the store is at revision {revision}, the request asks for {at_least}",
                    hint="retry later",
                )
            time.sleep(0.02)
        return self._at(revision)

    @property
    def reached(self) -> int:
        """A revision that is not before anything this process was asked or has changed."""
        return max(self._authority.revision, self.store.written)

    def _at(self, revision: int) -> Authority:
        """The authority of the revision that was just read."""
        current = self._authority
        return current if current.revision == revision else self._compile()

    def _compile(self) -> Authority:
        with self._compiling:
            # Read again: whoever had the lock before may have gone past the revision that was seen outside.
            revision = self.store.revision()
            current = self._authority
            if current.revision == revision:
                return current
            entries = (
                self.store.changes(current.revision, revision) if 0 <= current.revision < revision else None
            )
            if entries is None:
                # Never compiled, or the journal does not reach: take everything.
                at, changes = snapshot.everything(self.store)
                current = Authority(at, current.service_admins).applied(changes, at)
            else:
                current = current.applied((c for _, changes in entries for c in changes), revision)
            self._authority = current
            return current

    # -- permits ----------------------------------------------------------------------------------------------

    def permit(
        self,
        identity: Identity,
        op: Op,
        ref: ObjectRef,
        *,
        at_least: int = 0,
        at: Authority | None = None,
        about: PrincipalRef | None = None,
    ) -> Permit:
        """Let the caller do this on that, or refuse and say why. `about` names the user or group concerned.

        What does not exist is told as missing only to someone who would be allowed if it were there.
        """
        authority = at or self.authority(at_least)
        try:
            # It may be in a system behind a catalog, not yet seen from here. Looked for only if the caller may know.
            if (
                at is None
                and authority.find(ref) is None
                and examine(authority, identity, op, ref, about).holds
                and self.ports.look_outside(authority, identity, ref)
            ):
                authority = self.authority()
            return self.demand(authority, identity, op, ref, about)
        except Refused as refused:
            self._audit_refusal(refused)
            raise

    def demand(
        self,
        authority: Authority,
        identity: Identity,
        op: Op,
        ref: ObjectRef,
        about: PrincipalRef | None = None,
    ) -> Permit:
        """As `permit`, inside a change, which keeps the refusal in the audit trail once it let go of the store."""
        found = self.finding(authority, identity, op, ref, about)
        if not found.holds or found.partly is not None:
            raise Refused(found)
        # INVARIANT: only who may learn whether the object is there also learns that something above it is not in use.
        even_itself = found.exists and op in EVEN_DISABLED
        _check_in_use(authority, found.node.chain[:-1] if even_itself else found.node.chain)
        if not found.exists:
            raise nothing_here(authority, ref)
        return Permit(identity, op, ref, found.node, found.caller, authority, about)

    def finding(
        self,
        authority: Authority,
        identity: Identity,
        op: Op | Privilege,
        ref: ObjectRef,
        about: PrincipalRef | None = None,
    ) -> OperationFinding:
        """What is to be said of a question: the condition of the operation, and whether its tables are seen whole.

        INVARIANT: a restricted reader changes nothing of a table. Every permit is made from a finding, so no door
        and no part of the steward can forget to ask.
        """
        found = examine(authority, identity, op, ref, about)
        if not isinstance(op, Op) or not OPERATIONS[op].whole or not found.allowed:
            return found
        return msgspec.structs.replace(found, partly=self.ports.partly(authority, found.caller, found.node))

    # -- changes ----------------------------------------------------------------------------------------------

    @contextmanager
    def change(
        self,
        *permits: Permit,
        telling: Callable[[Permit], dict[str, object]] | None = None,
        last: Callable[[], None] | None = None,
    ) -> Iterator[Write]:
        """Change the store under these permits, which are decided again now that nothing else can change it.

        `telling` adds what the audit trail shall know of each. `last` is asked once the change is allowed, and may refuse it.
        """
        first = permits[0]
        try:
            with self.store.write(first.identity.user, first.op.name.lower()) as tx:
                authority = self._at(tx.base)
                for permit in permits:
                    self._still(authority, permit)
                yield tx
                # INVARIANT: whatever a change writes, it is held against its actor's view before it is committed.
                self.ports.guard(authority, first.identity, tx.changes)
                self._keep_writer(tx, authority, permits)
                if last is not None:
                    last()
                for permit in permits:
                    details = {} if telling is None else telling(permit)
                    done = _event(
                        permit.identity, permit.op, permit.ref, tx.revision, allowed=True, **details
                    )
                    # INVARIANT: no change without its line in the audit trail, and no line without the change.
                    audit_log.add(tx.connection, done)
        except Refused as refused:
            # Kept only now: the refusal stays, while what the change wrote is taken back.
            self._audit_refusal(refused)
            raise self._redact(refused, [permit.ref for permit in permits]) from None
        except Widens as refused:
            self._audit_widening(first, refused)
            raise
        except NotSeenYet as unseen:
            self.ports.see(self.authority(), unseen.catalog)
            raise

    def wrote(self, permit: Permit) -> None:
        """Keep that the permit's caller is given access to write its table, before it is given."""
        if permit.node.type is not ObjectType.TABLE or _known_writer(
            permit.authority, permit, permit.node.id
        ):
            return
        with self.store.write(permit.identity.user, permit.op.name.lower()) as tx:
            authority = self._at(tx.base)
            if not _known_writer(authority, permit, permit.node.id) and permit.node.id in authority.objects:
                writers.add(tx, permit.node.id, permit.identity.user)

    @contextmanager
    def writing(self, permit: Permit, *, outside: bool) -> Iterator[None]:
        """Write a table that another system may keep: what it was told stays there though our change fails, and so does
        who wrote it. Only then: before, it would move the revision that the change's permits are of."""
        try:
            yield
        except BaseException:
            if outside:
                self.wrote(permit)
            raise

    def _keep_writer(self, tx: Write, authority: Authority, permits: Sequence[Permit]) -> None:
        """INVARIANT: who writes or makes a table is known for good as having written it, in the same transaction.

        The first time only: what is known costs a look at the authority.
        """
        first = permits[0]
        written = {permit.node.id for permit in permits if permit.op in _WRITES}
        gone: set[int] = set()
        for change in tx.changes:
            if isinstance(change, ObjectPut) and change.type is ObjectType.TABLE:
                written |= set() if change.id in authority.objects else {change.id}
            elif isinstance(change, ObjectGone):
                gone.add(change.id)
            elif isinstance(change, TableWritten) and change.user == first.identity.user:
                gone.add(change.table)
        for table in sorted(written - gone):
            if not _known_writer(authority, first, table):
                writers.add(tx, table, first.identity.user)

    def foresee(self, permit: Permit, *changes: Change) -> None:
        """Refuse what `change` would refuse of these, before something is done that cannot be taken back."""
        try:
            self.ports.guard(self.authority(), permit.identity, changes)
        except Widens as refused:
            self._audit_widening(permit, refused)
            raise

    def _audit_widening(self, permit: Permit, refused: Widens) -> None:
        reason = refused.message
        self.audit(permit.identity, permit.op, permit.ref, permit.revision, allowed=False, reason=reason)

    def _still(self, authority: Authority, permit: Permit) -> None:
        if authority.revision == permit.authority.revision and not self._may_have_changed(permit):
            return
        again = self.demand(authority, permit.identity, permit.op, permit.ref, permit.about)
        if again.node.id != permit.node.id:
            raise Conflict(
                f"{permit.ref.type} '{clip(permit.ref.full_name)}' was replaced by somebody else",
                hint="read it again and retry",
            )

    def _may_have_changed(self, permit: Permit) -> bool:
        """Whether a table may look different without a new revision.

        A commit moves none, but it may add a column that a policy hides. Inside a change no document moves any more, so
        the question is asked of the very document that the change is made from. Another system's documents are not
        held by our transaction: asking again would prove nothing.
        """
        if not OPERATIONS[permit.op].whole or not permit.authority.policies:
            return False
        return self.ports.kept_here(permit.authority, permit.node)

    def _redact(self, refused: Refused, asked: Sequence[ObjectRef]) -> HeadgateError:
        """A refusal as its caller may hear it: of an object that they may not know and did not ask about, not by name."""
        found = refused.finding
        if found.ref in asked or as_known(found).hidden is None:
            return refused
        return Forbidden(
            "this concerns something that you may neither see nor change",
            hint="ask the owner of the metalake",
            about=found.ref.type,
        )

    def _audit_refusal(self, refused: Refused) -> None:
        found = refused.finding
        self.audit(
            found.identity, found.op, found.ref, found.authority.revision, allowed=False, reason=refused.hint
        )

    def audit(
        self,
        identity: Identity,
        op: Op | Privilege,
        ref: ObjectRef,
        revision: int,
        *,
        allowed: bool,
        **details: object,
    ) -> None:
        """Keep what was asked, by whom, and what was answered."""
        audit_log.record(self.store, _event(identity, op, ref, revision, allowed=allowed, **details))

    def audit_read(self, permit: Permit, allowed: bool = True, /, **details: object) -> None:
        """Keep that something was read, or was to be. Refuses the read if that cannot be kept."""
        event = _event(permit.identity, permit.op, permit.ref, permit.revision, allowed=allowed, **details)
        self.reads.add(msgspec.structs.replace(event, at=now()))

    def close(self) -> None:
        """Write what is still to be written."""
        self.reads.close()


def _known_writer(authority: Authority, permit: Permit, table: int) -> bool:
    return permit.identity.user in (authority.writers.get(table) or ())


def _check_in_use(authority: Authority, chain: tuple[tuple[int, int], ...]) -> None:
    for id, _ in chain:
        node = authority.objects[id]
        if not node.in_use:
            raise NotInUse(
                f"{node.type} '{clip(node.name)}' is not in use", hint="enable it first", about=node.type
            )


def _event(
    identity: Identity, op: Op | Privilege, ref: ObjectRef, revision: int, *, allowed: bool, **details: object
) -> audit_log.Event:
    event = {"address": identity.address, "engine": identity.engine, **details}
    return audit_log.Event(
        metalake=clip(ref.metalake, 500),
        user=identity.user,
        action=op.name.lower(),
        type=ref.type.value,
        object=clip(ref.full_name, 2000),
        allowed=allowed,
        revision=revision,
        details={key: value for key, value in event.items() if value is not None},
    )
