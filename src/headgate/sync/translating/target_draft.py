"""The state that the steps of one translation share."""

from headgate.model.privileges import Condition
from headgate.sync.access.capabilities import Capabilities, Semantics
from headgate.sync.access.surroundings import Surroundings
from headgate.sync.snapshots.facts import Fact, Facts, GrantFact, Kind, Known, MemberFact, Principal
from headgate.sync.translating.canonical import direct_role
from headgate.sync.translating.losses import Cause, LossBook
from headgate.sync.translating.options import Options
from headgate.sync.translating.restrictions import Withheld


class TargetDraft:
    """What the target is to hold, while the steps of a translation add to it."""

    def __init__(
        self,
        mapped: Facts,
        target: Facts,
        capabilities: Capabilities,
        semantics: Semantics,
        options: Options,
        book: LossBook,
        around: Surroundings,
        withheld: Withheld,
        closed: bool,
    ) -> None:
        self.mapped = mapped
        self.around = around
        self.target = target
        self.able = capabilities
        self.semantics = semantics
        self.options = options
        self.book = book
        self.out: set[Fact] = set()
        self.hidden = {user for user, tables in withheld.items() if tables}
        """Users from whom something is withheld."""
        self.closed = closed
        """Whether something is withheld from whoever is not known yet."""
        self.kept: set[Principal] = set()
        """Principals that the target holds as they are."""
        self.apart: set[Principal] = set()
        """Users for whom a group or role gives too much: they get their own grants only."""
        self.deny_sayable = self._sayable_denials()

    def _sayable_denials(self) -> bool:
        """Whether the target has the same privilege for every denial, with the same meaning and the same effect as in the source."""
        denials = self.denials()
        taken = {a for g in denials for a in self.semantics.given(g.object.type, g.privilege)}
        # A word that the target does not have is written as others, and a denial of those would meet it there.
        return self.able.deny and not any(
            self.able.semantics.given(g.object.type, g.privilege) != gives
            for g in self.mapped.grants
            if (gives := self.semantics.given(g.object.type, g.privilege)) & taken
        )

    def denials(self) -> list[GrantFact]:
        """The denials that take something away; one of a privilege that nobody knows takes nothing."""
        return [
            g
            for g in self.mapped.grants
            if g.decision is Condition.DENY and self.semantics.given(g.object.type, g.privilege)
        ]

    def receiver(self, holder: Principal) -> Principal:
        """The principal that grants go to in the holder's place: a role of its own, where only roles can have grants."""
        if holder.kind is Kind.ROLE or holder.kind in self.able.direct:
            return holder
        role = direct_role(holder)
        self.book.note(Cause.DIRECT, holder)
        self.out.update((Known(role), MemberFact(role, holder)))
        return role
