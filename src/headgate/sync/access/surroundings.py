"""What only a target knows and no push manages, as far as it decides who sees what there.

A target that people have used holds more than policies: members of login roles, views and functions that read with the rights
of their owners, tables whose rows other tables show, privileges on what will be created. None of it is carried anywhere; all
of it counts when a push is judged.
"""

import msgspec

from headgate.sync.access.effective import Access
from headgate.sync.snapshots.facts import Facts, MemberFact, Principal, Securable


class Proxy(msgspec.Struct, frozen=True):
    """Whoever may do `action` to `object` reads with the rights of `owner`: a view, or a function of its definer."""

    object: Securable
    action: str
    owner: Principal | None
    """None for somebody above all grants."""
    reads: frozenset[Access] | None = None
    """What is read; None where that is not known and may be anything."""


class Part(msgspec.Struct, frozen=True):
    """Whoever reads `parent` reads the rows of `child` too, whatever is granted or filtered on the child."""

    parent: Securable
    child: Securable
    partition: bool
    """Whether the rows of the child belong to the parent by its definition."""


class Surroundings(msgspec.Struct, frozen=True):
    """What counts beside the facts of a target. A system that declares none is judged by its facts alone."""

    facts: Facts = Facts()
    """Memberships that give what they are of, and grants on what is not managed or not there yet."""
    acts: frozenset[MemberFact] = frozenset()
    """Memberships by which one can act as another, with the other's rights instead of one's own."""
    above: frozenset[Principal] = frozenset()
    """Whom no row filter binds: a push grants them nothing."""
    closed: frozenset[Principal] = frozenset()
    """Roles to which a push leads nobody, because of what they may do beside their grants."""
    unbound: frozenset[Principal] = frozenset()
    """Whom nothing binds: they see everything before a push and after it."""
    proxies: tuple[Proxy, ...] | None = None
    """None where the system does not tell with whose rights its views and functions read."""
    parts: tuple[Part, ...] = ()

    @property
    def to_come(self) -> frozenset[Securable]:
        """Stand for objects that are not there yet."""
        return self.facts.present
