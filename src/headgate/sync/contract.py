"""What a connector is: it reads its system as facts, applies changes of facts, and declares what it can hold.

`fetch` and `push` are the same for all of them, built on these two. INVARIANT for implementers: `read` gives everything or
raises; `apply` answers each change in order, is idempotent, and never does more than a change says.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from headgate.model.errors import Conflict
from headgate.sync.access.capabilities import Capabilities, Natives
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.plan import PushPlan, plan
from headgate.sync.pushing.results import Applied, Change, Mode, SyncResult
from headgate.sync.pushing.run import Reading, carry_out
from headgate.sync.registry import all_capabilities
from headgate.sync.snapshots.facts import Fact, Facts, Kind, Known, Mask, RowFilter
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.snapshots.snapshot import PolicySnapshot
from headgate.sync.translating.canonical import canonical, vocabulary
from headgate.sync.translating.options import Options
from headgate.sync.translating.restrictions import Rule, native
from headgate.sync.translating.translate import Translation, translate


class Connector(ABC):
    """One system under one name, such as ``postgresql:prod``."""

    batch: int = 200
    """How many changes are made and journaled together: what a system does well within the lease of a push."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What the system can hold. May depend on its version."""

    @abstractmethod
    def read(self) -> Reading:
        """Everything the system holds, in its own words."""

    @abstractmethod
    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        """Make these changes, one after the other, and say what became of each."""

    def render(self, rule: Rule) -> Rule | None:
        """A row filter or mask as this system would write it; None if it cannot express the rule exactly."""
        return native(rule, self.capabilities.dialect)

    def takes(self, rule: Rule) -> bool:
        """Whether the system accepts a rendered row filter or mask. A push knows before it begins what would be refused."""
        return True

    def close(self) -> None:  # noqa: B027 — most connect for each call
        """Let go of what is open."""

    # -- the same for all ----------------------------------------------------------------------------------------

    def fetch(self) -> PolicySnapshot:
        """The policies of the system as a canonical snapshot."""
        reading = self.read()
        facts = canonical(self.spelled_out(reading.facts), self.capabilities)
        notes = {f"note.{n:03}": note for n, note in enumerate(reading.notes)}
        return PolicySnapshot.of(facts, self.capabilities.system, logs=reading.logs, properties=notes)

    def spelled_out(self, facts: Facts) -> Facts:
        """The facts, with grants that describe objects replaced by grants on the objects that match today."""
        return facts

    def plan(
        self,
        snapshot: PolicySnapshot,
        mode: Mode,
        names: PrincipalMap,
        journal: Journal,
        options: Options = Options(),
        managed: PolicySnapshot | None = None,
    ) -> PushPlan:
        """What a push of this snapshot would do, without doing any of it.

        The push may take away what `managed` holds as if pushes had put it there. In two-way synchronisation that is
        everything that the system itself held before.
        """
        reading = self.read()
        current, around = reading.facts, reading.around

        def translated(of: PolicySnapshot) -> Translation:
            able, words = self.capabilities, self.vocabulary()
            return translate(of.facts, current, able, names, words, options, self.takes, self.render, around)

        owned = journal.marks(self.name)
        if managed is not None:
            owned |= {fact for fact in translated(managed).facts if self._manages(fact)}
        return plan(current, translated(snapshot), owned, mode, self.capabilities, around)

    def _manages(self, fact: Fact) -> bool:
        """Whether a fact of the system's own may be taken away when two systems are kept in step."""
        if isinstance(fact, RowFilter | Mask):
            return not self.capabilities.rules_stay
        # People and groups are never taken away: they belong to the system.
        return not isinstance(fact, Known) or fact.principal.kind is Kind.ROLE

    def push(
        self,
        snapshot: PolicySnapshot,
        mode: Mode,
        names: PrincipalMap,
        journal: Journal,
        options: Options = Options(),
        managed: PolicySnapshot | None = None,
        agreed: str | None = None,
    ) -> SyncResult:
        """Plan and do it, or refuse if that is not the plan that was agreed to. Pushes to one target run in turn."""
        with journal.locked(self.name) as lock:
            journal.check_finished(self.name)
            ready = self.plan(snapshot, mode, names, journal, options, managed)
            if agreed is not None and ready.digest != agreed:
                raise Conflict(
                    f"what a push to '{self.name}' would do has changed since it was planned",
                    hint="look at the plan again",
                )
            return carry_out(self, ready, mode, f"{snapshot.system}@{snapshot.version_id}", journal, lock)

    def vocabulary(self) -> Natives:
        """The privileges that a snapshot may hold: canonical ones, and the own words of all systems known here."""
        return vocabulary([*all_capabilities(), self.capabilities])
