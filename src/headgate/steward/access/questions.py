"""Questions: may someone do something, and why. Answered from the same findings that permits are made of."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from headgate.decide import Authority, Explanation, Op
from headgate.model.errors import IllegalArgument, IllegalPrivilege
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.principals import Identity
from headgate.model.privileges import Privilege
from headgate.steward.acts import act
from headgate.steward.findings import OperationFinding
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.store import audit as audit_log
from headgate.store.database import stored_time

MOST: Final = 1000
"""Questions that may be asked at once."""

_OF_ANY_TYPE: Final = frozenset({Op.SET_OWNER, Op.GRANT_PRIVILEGE, Op.REVOKE_PRIVILEGE, Op.LIST_OBJECT_ROLES})
"""Operations that are asked of an object of whichever type."""


class Question(msgspec.Struct, frozen=True):
    """May the user, being in these groups, do this there; or is this privilege effective for them there.

    Without a user it is about the caller. Groups are those a token would claim; those kept here count anyway.
    """

    ref: ObjectRef
    asks: Op | Privilege
    user: str | None = None
    groups: frozenset[str] | None = None


class Questions:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def check(
        self, identity: Identity, questions: Sequence[Question], at_least: int = 0
    ) -> list[OperationFinding]:
        """The findings, all of one revision. Whoever asks about others must be allowed to.

        A finding of an object that is not there is as if nothing were said of it, and never allowed.
        """
        if len(questions) > MOST:
            raise IllegalArgument(
                f"{len(questions)} questions were asked at once", hint=f"ask at most {MOST}"
            )
        authority = self.kernel.authority(at_least)
        asked: set[str] = set()
        for question in questions:
            _make_sense(question)
            metalake = question.ref.metalake
            if not _about_oneself(identity, question) and metalake not in asked:
                self.kernel.permit(identity, Op.ASK, ObjectRef(metalake, ObjectType.METALAKE), at=authority)
                asked.add(metalake)
        return [self._answer(authority, identity, question) for question in questions]

    def explain(
        self, identity: Identity, questions: Sequence[Question], at_least: int = 0
    ) -> list[Explanation]:
        """As `check`, with the reasons."""
        return [finding.explanation() for finding in self.check(identity, questions, at_least)]

    def _answer(self, authority: Authority, identity: Identity, question: Question) -> OperationFinding:
        if _about_oneself(identity, question):
            who = identity
        else:
            who = Identity(question.user or identity.user, question.groups or frozenset())
        return self.kernel.finding(authority, who, question.asks, question.ref)

    @act(Op.READ_AUDIT)
    def audit(
        self,
        permit: Permit,
        *,
        user: str | None = None,
        action: str | None = None,
        object: str | None = None,
        allowed: bool | None = None,
        since: datetime | None = None,
        after: int | None = None,
        limit: int = 100,
    ) -> list[audit_log.Event]:
        """What was asked and answered in the permit's metalake, oldest first."""
        # What this process itself let be read shall be found at once.
        self.kernel.reads.flush()
        return audit_log.query(
            self.kernel.store,
            metalake=permit.ref.metalake,
            user=user,
            action=action,
            object=object,
            allowed=allowed,
            since=None if since is None else stored_time(since),
            after=after,
            limit=limit,
        )


def _about_oneself(identity: Identity, question: Question) -> bool:
    """Supposing groups one did not prove to be in is not about oneself any more."""
    return question.user in (None, identity.user) and question.groups is None


def _make_sense(question: Question) -> None:
    """Refuse a question that has no answer, rather than answer another one."""
    type = ObjectType.TABLE if question.ref.type is ObjectType.COLUMN else question.ref.type
    if isinstance(question.asks, Privilege):
        if type not in question.asks.bindable:
            raise IllegalPrivilege(
                f"privilege {question.asks.wire} means nothing on a {type}",
                hint=f"ask about {', '.join(sorted(question.asks.bindable))}",
            )
        return
    nested = question.asks is Op.CREATE_SCHEMA and type is ObjectType.SCHEMA
    if question.asks not in _OF_ANY_TYPE and question.asks.on is not type and not nested:
        raise IllegalArgument(
            f"operation {question.asks.name.lower()} is not asked of a {type}",
            hint=f"ask it of a {question.asks.on}: the object itself, or for creation the one that will hold it",
        )


def asked_operation(text: str) -> Op:
    """Read an operation as a caller writes it, in any case."""
    try:
        return Op[text.upper()]
    except KeyError:
        raise IllegalArgument(
            f"'{clip(text)}' is not an operation", hint="the OpenAPI document names those of every route"
        ) from None
