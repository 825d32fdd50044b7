"""What every part of the steward stands on: the current authority, permits, changes and the audit trail."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from headgate.decide import Authority, Caller, Node, Op, explain
from headgate.decide.authority import depth
from headgate.decide.operations import OPERATIONS, OUTSIDE
from headgate.decide.verdict import facts, satisfied
from headgate.model.errors import Conflict, Forbidden, NotFound, NotInUse, Unavailable
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.principals import Identity
from headgate.steward.permits import EVEN_DISABLED, Permit, nothing_here
from headgate.store import Store, Write, snapshot
from headgate.store import audit as audit_log


class Kernel:
    """Knows the store and keeps the authority of its latest revision compiled."""

    def __init__(self, store: Store, service_admins: frozenset[str] = frozenset()) -> None:
        self.store = store
        self._authority = Authority(-1, service_admins)
        self._compiling = threading.Lock()

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
        current = self._authority
        return current if current.revision == revision else self._compile(revision)

    def _compile(self, revision: int) -> Authority:
        with self._compiling:
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
        self, identity: Identity, op: Op, ref: ObjectRef, *, at_least: int = 0, extra: int = 0
    ) -> Permit:
        """Let the caller do this on that, or refuse and say why.

        What does not exist is told as missing only to someone who would be allowed if it were there.
        """
        authority = self.authority(at_least)
        permit = self._decide(authority, identity, op, ref, extra)
        if permit.op not in EVEN_DISABLED:
            self._in_use(permit)
        return permit

    def _decide(self, authority: Authority, identity: Identity, op: Op, ref: ObjectRef, extra: int) -> Permit:
        way = authority.nearest(ref)
        if op in OUTSIDE:
            return self._outside(authority, identity, op, ref)
        if not way:
            raise self._refused(identity, op, ref, authority, _stranger(identity, ref))
        node = way[-1]
        caller = authority.caller(identity, node.metalake)
        missing = depth(ref) - len(way)
        known = facts(authority, caller, node) | extra
        if not satisfied(OPERATIONS[op].alternatives, known):
            if caller.member is None:
                raise self._refused(identity, op, ref, authority, _stranger(identity, ref))
            reason = explain(authority, caller, op, node, extra).summary
            raise self._refused(identity, op, ref, authority, reason)
        if missing:
            raise nothing_here(authority, ref, way)
        return Permit(identity, op, ref, node, caller, authority, extra)

    def _outside(self, authority: Authority, identity: Identity, op: Op, ref: ObjectRef) -> Permit:
        """Operations that are asked of the server itself, not of a metalake."""
        nowhere = Node(0, ObjectType.METALAKE, "", 0, ())
        caller = authority.caller(identity, 0)
        if not satisfied(OPERATIONS[op].alternatives, caller.facts):
            raise self._refused(
                identity, op, ref, authority, "only service admins may, as the server is configured"
            )
        return Permit(identity, op, ref, nowhere, caller, authority, 0)

    def _refused(
        self, identity: Identity, op: Op, ref: ObjectRef, authority: Authority, reason: str
    ) -> Forbidden:
        self.audit(identity, op, ref, authority.revision, allowed=False, reason=reason)
        what = op.name.lower().replace("_", " ")
        return Forbidden(
            f"User '{clip(identity.user)}' is not authorized to perform operation '{what}' on metadata "
            f"'{clip(ref.full_name)}'",
            hint=reason,
            about=ref.type,
        )

    def _in_use(self, permit: Permit) -> None:
        for id, _ in permit.node.chain:
            node = permit.authority.objects[id]
            if not node.in_use:
                raise NotInUse(
                    f"{node.type} '{clip(node.name)}' is not in use", hint="enable it first", about=node.type
                )

    # -- changes ----------------------------------------------------------------------------------------------

    @contextmanager
    def change(self, *permits: Permit) -> Iterator[Write]:
        """Change the store under these permits, which are decided again now that nothing else can change it."""
        first = permits[0]
        with self.store.write(first.identity.user, first.op.name.lower()) as tx:
            authority = self.authority()
            for permit in permits:
                self._still(authority, permit)
            yield tx
        for permit in permits:
            self.audit(
                permit.identity, permit.op, permit.ref, tx.revision or authority.revision, allowed=True
            )

    def _still(self, authority: Authority, permit: Permit) -> None:
        if authority.revision == permit.authority.revision:
            return
        again = self._decide(authority, permit.identity, permit.op, permit.ref, permit.extra)
        if again.node.id != permit.node.id:
            raise Conflict(
                f"{permit.ref.type} '{clip(permit.ref.full_name)}' was replaced by somebody else",
                hint="read it again and retry",
            )

    def audit(
        self, identity: Identity, op: Op, ref: ObjectRef, revision: int, *, allowed: bool, **details: object
    ) -> None:
        """Keep what was asked, by whom, and what was answered."""
        audit_log.record(self.store, _event(identity, op, ref, revision, allowed=allowed, **details))

    def caller(self, authority: Authority, identity: Identity, metalake: str) -> Caller:
        """The identity as a member of a metalake of that name."""
        node = authority.metalake(metalake)
        if node is None:
            raise NotFound(f"metalake '{clip(metalake)}' does not exist", about=ObjectType.METALAKE)
        return authority.caller(identity, node.id)


def _event(
    identity: Identity, op: Op, ref: ObjectRef, revision: int, *, allowed: bool, **details: object
) -> audit_log.Event:
    told = {"address": identity.address, "engine": identity.engine, **details}
    return audit_log.Event(
        metalake=ref.metalake,
        user=identity.user,
        action=op.name.lower(),
        type=ref.type.value,
        object=ref.full_name,
        allowed=allowed,
        revision=revision,
        details={key: value for key, value in told.items() if value is not None},
    )


def _stranger(identity: Identity, ref: ObjectRef) -> str:
    return (
        f"Current user {clip(identity.user)} doesn't exist in the metalake {clip(ref.metalake)}, "
        "you should add the user to the metalake first"
    )
