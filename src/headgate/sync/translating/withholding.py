"""What of a target is withheld from people because it would show them more than the table or view that the source means.

Which rows a table of the target shows, and with whose rights its views and functions read, only the target knows. INVARIANT:
where it would show somebody what the source hides from them or does not let them read, they are not let near it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from headgate.model.objects import ObjectType
from headgate.sync.access.effective import Access, Effective, covered, restricted
from headgate.sync.access.surroundings import Proxy, Surroundings
from headgate.sync.snapshots.facts import Facts, Principal, Securable
from headgate.sync.translating.dialects import shows_all
from headgate.sync.translating.losses import Cause, LossBook
from headgate.sync.translating.restrictions import Withheld, table_of

_T = ObjectType


class Withholding:
    """Adds to what is withheld, table by table and view by view."""

    def __init__(
        self,
        mapped: Facts,
        allowed: Effective,
        target: Facts,
        known: frozenset[Securable],
        withheld: Withheld,
        book: LossBook,
    ) -> None:
        self.mapped, self.allowed, self.target = mapped, allowed, target
        self.known = known
        """What the source itself has or speaks of."""
        self.withheld, self.book = withheld, book
        self.meets = {
            user: {table_of(rule) for rule in rules if not shows_all(rule)}
            for user, rules in restricted(mapped).items()
        }

    def all(self, around: Surroundings) -> None:
        self.views(around)
        self.kin(around)
        self.strangers(around)

    def _from(self, user: Principal, object: Securable, cause: Cause) -> None:
        self.withheld[user][object] = None
        self.book.note(cause, user, object)

    def views(self, around: Surroundings) -> None:
        """INVARIANT: somebody who is restricted on a table of a catalog may not read its views, nor use what runs with others' rights.

        A view may read its tables with other rights than those of its reader; so may a function, unless the system tells
        which do.
        """
        definers = None if around.proxies is None else {proxy.object for proxy in around.proxies}
        for user, tables in self.meets.items():
            catalogs = {table.path[:1] for table in tables if table in self.target.present}
            for object, action in self.allowed.get(user, frozenset()):
                if object.path[:1] not in catalogs:
                    continue
                if action == "view.read":
                    self._from(user, object, Cause.VIEW)
                elif action == "function.execute" and (definers is None or object in definers):
                    self._from(user, object, Cause.DEFINER)

    # -- tables that show the rows of others ----------------------------------------------------------------------

    def kin(self, around: Surroundings) -> None:
        if not around.parts:
            return
        pairs = list(_descent(around))
        for user, may in self.allowed.items():
            ruled = self.meets.get(user, set())
            for parent, child, partition in pairs:
                for here, there in ((parent, child), (child, parent)):
                    if there in ruled and _readable(here, may):
                        self._from(user, here, Cause.KIN)
                # The rows of a partition that the source does not know are rows of the table that it knows.
                if not (partition and child not in self.known) and self._more(parent, child, may):
                    self._from(user, parent, Cause.KIN)
                if child not in self.known and self._more(child, parent, may):
                    self._from(user, child, Cause.KIN)

    def _more(self, here: Securable, there: Securable, may: frozenset[Access]) -> bool:
        """Whether somebody who reads the one would see columns that they may not read in the other."""
        columns = [c.path[3] for c in self.target.children.get(here, ()) if c.type is _T.COLUMN]
        shown = [c for c in columns if covered((Securable(_T.COLUMN, (*here.path, c)), "column.read"), may)]
        return any(
            not covered((Securable(_T.COLUMN, (*there.path, column)), "column.read"), may) for column in shown
        )

    # -- views and functions that the source does not know -------------------------------------------------------

    def strangers(self, around: Surroundings) -> None:
        """INVARIANT: a grant that reaches what comes later reaches no view or function that shows more than its tables do."""
        for proxy in around.proxies or ():
            if proxy.object in self.known:
                continue
            for user, may in self.allowed.items():
                if (proxy.object, proxy.action) in may and not self._sees_all(user, proxy):
                    self._from(user, proxy.object, Cause.STRANGER)

    def _sees_all(self, user: Principal, proxy: Proxy) -> bool:
        may, ruled = self.allowed[user], self.meets.get(user, set())
        return proxy.reads is not None and all(
            covered(read, may) and Securable(_T.TABLE, read[0].path[:3]) not in ruled for read in proxy.reads
        )


def _readable(table: Securable, may: frozenset[Access]) -> bool:
    return any(object.path[:3] == table.path for object, action in may if action.endswith(".read"))


def _descent(around: Surroundings) -> Iterator[tuple[Securable, Securable, bool]]:
    """Every table with everything below it, and whether it is made of partitions all the way."""
    below: dict[Securable, list[tuple[Securable, bool]]] = defaultdict(list)
    for part in around.parts:
        below[part.parent].append((part.child, part.partition))

    def walk(table: Securable, seen: frozenset[Securable]) -> Iterable[tuple[Securable, bool]]:
        for child, partition in below.get(table, ()):
            if child not in seen:
                yield child, partition
                for deeper, also in walk(child, seen | {child}):
                    yield deeper, partition and also

    for parent in list(below):
        for child, partition in walk(parent, frozenset({parent})):
            yield parent, child, partition
