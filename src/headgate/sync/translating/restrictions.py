"""Row filters and masks on their way to a target: as it can hold them, or else what must be withheld and from whom.

INVARIANT: a rule of the source is in force in the target for everybody whom it meets there, or they are not let near what it
restricts: not the table, or of a mask not the column where the target grants columns.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import msgspec

from headgate.model.objects import ObjectType
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.access.effective import Access, Effective, Shared, restricted
from headgate.sync.snapshots.facts import Facts, Kind, Mask, Principal, RowFilter, Securable
from headgate.sync.translating.dialects import render_in, shows_all
from headgate.sync.translating.losses import Cause, LossBook
from headgate.sync.translating.policy_text import NOTHING

Rule: TypeAlias = RowFilter | Mask
Takes: TypeAlias = Callable[[Rule], bool]
"""Whether a system can write a rule as it is."""
Render: TypeAlias = Callable[[Rule], Rule | None]
"""A rule as a system would write it, or None where it cannot say the same."""
Withheld: TypeAlias = dict[Principal, dict[Securable, frozenset[str] | None]]
"""By user and table the columns that they must not be let read; None for all of the table."""

_LEAVES = (ObjectType.TABLE, ObjectType.VIEW, ObjectType.COLUMN, ObjectType.FUNCTION)
_T = ObjectType


def renamed(rule: Rule, source: Facts, target: Facts, keep: Mapping[Principal, Principal]) -> Rule | None:
    """A rule under the target's names, for the users it meets; None if it can meet nobody.

    INVARIANT: one that is for a group or role meets whoever is not known yet, because who will be in it is not known either.
    """
    same = _as_it_is(rule, keep)
    if same is not None and same in target:
        return same
    to = () if any(who in source.everyone for who in rule.to) else rule.to
    users = [user for user in sorted(source.users) if user in keep]
    met = {user for user in users if not to or source.closure(user) & set(to)}
    spared = {user for user in users if source.closure(user) & set(rule.exempt)}
    if to and all(who.kind is Kind.USER for who in to):
        named = tuple(sorted(keep[user] for user in met - spared))
        return msgspec.structs.replace(rule, to=named, exempt=()) if named else None
    free = tuple(sorted(keep[user] for user in spared | (set(users) - met)))
    return msgspec.structs.replace(rule, to=(), exempt=free)


def _as_it_is(rule: Rule, keep: Mapping[Principal, Principal]) -> Rule | None:
    """The rule for the same people by their names in the target, groups and roles included."""
    if not all(who in keep for who in (*rule.to, *rule.exempt)):
        return None
    to, exempt = (tuple(keep[who] for who in people) for people in (rule.to, rule.exempt))
    return msgspec.structs.replace(rule, to=to, exempt=exempt)


class Restrictions(NamedTuple):
    """What the target is to hold of the source's rules, and what it must withhold for those it cannot hold."""

    rules: frozenset[Rule]
    withheld: Withheld
    closed: bool
    """Whether something is withheld from whoever is not known yet."""


def restrictions(
    mapped: Facts, target: Facts, able: Capabilities, render: Render, takes: Takes, book: LossBook
) -> Restrictions:
    """The rules under the target's names, rendered in its dialect."""
    mapped = _with_separate_masks(mapped)
    rendered: dict[Rule, Rule] = {}
    unsaid: set[Rule] = set(_contradicting(mapped))
    for rule in frozenset(mapped.restrictions) - unsaid:
        if shows_all(rule) or not _concerns(rule, target, able):
            continue
        native = rule if rule in target else render(rule) if _sayable(rule, target, able) else None
        # Where filters add up, what is written is made of them, and asked about then.
        later = able.rows_add_up and isinstance(rule, RowFilter)
        if native is not None and (later or takes(native)):
            rendered[rule] = native
        else:
            unsaid.add(rule)
    held = _Withheld(mapped, target, able, book, rendered)
    held.withhold(unsaid)
    rules = held.one_for_each(takes) if able.rows_add_up else frozenset(rendered.values())
    return Restrictions(rules, held.withheld, any(not rule.to for rule in unsaid))


def _by_column(rules: Iterable[Rule]) -> list[list[Mask]]:
    """The masks of each column that has several."""
    found: dict[Securable, list[Mask]] = defaultdict(list)
    for rule in rules:
        if isinstance(rule, Mask):
            found[rule.object].append(rule)
    return [masks for masks in found.values() if len(masks) > 1]


def _with_separate_masks(mapped: Facts) -> Facts:
    """Different masks of a column that both meet whoever is not known yet become masks of users; to others nothing is shown."""
    gone: set[Rule] = set()
    made: set[Rule] = set()
    meets = restricted(mapped)
    everybody = tuple(sorted(mapped.users))
    for masks in _by_column(mapped.restrictions):
        general = [mask for mask in masks if not mask.to]
        if len({mask.sql for mask in general}) > 1:
            gone.update(general)
            for mask in general:
                to = tuple(user for user in everybody if mask in meets.get(user, ()))
                made.update([msgspec.structs.replace(mask, to=to, exempt=())] if to else [])
            made.add(Mask(general[0].object, "others", NOTHING, (), everybody))
    return mapped.changed(made, gone)


def _contradicting(mapped: Facts) -> Iterable[Mask]:
    """Different masks of a column that bind the same user: together they mean nothing that anybody wrote."""
    meets = restricted(mapped)
    for masks in _by_column(mapped.restrictions):
        for met in meets.values():
            both = [mask for mask in masks if mask in met]
            if len({mask.sql for mask in both}) > 1:
                yield from both


def _concerns(rule: Rule, target: Facts, able: Capabilities) -> bool:
    """Whether anything granted in the target can show the table: one that is missing may yet come into a container."""
    table = table_of(rule)
    if table in target.present:
        return True
    return bool(able.semantics.inherits) and any(above in target.present for above in (*table.chain(),)[1:-1])


def _sayable(rule: Rule, target: Facts, able: Capabilities) -> bool:
    can = able.rows if isinstance(rule, RowFilter) else able.masks
    return can and table_of(rule) in target.present


def native(rule: Rule, dialect: str | None) -> Rule | None:
    """A rule in the words of a system of that dialect, which go without saying there; None where there are none."""
    sql = render_in(rule, dialect)
    if sql is None:
        return None
    # A rule that was written in the same dialect is the same rule, and keeps its name.
    name = rule.name if rule.dialect == dialect else rule_name(rule.name)
    return msgspec.structs.replace(rule, name=name, sql=sql, dialect="", columns=())


_LONGEST: Final = 40


def rule_name(name: str) -> str:
    """A name that every system takes: of small letters, digits and underscores, and not long. One that was made so stays."""
    if re.fullmatch(rf"[a-z0-9_]{{1,{_LONGEST}}}(_[0-9a-f]{{8}})?", name):
        return name
    plain = re.sub(r"[^a-z0-9_]", "_", name.lower())[:_LONGEST]
    return f"{plain}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def table_of(rule: Rule) -> Securable:
    """The table that a filter or mask is about."""
    return Securable(_T.TABLE, rule.object.path[:3]) if isinstance(rule, Mask) else rule.object


class _Withheld:
    """What is withheld, as it comes to light."""

    def __init__(
        self, mapped: Facts, target: Facts, able: Capabilities, book: LossBook, rendered: dict[Rule, Rule]
    ) -> None:
        self.mapped, self.target, self.able, self.book, self.rendered = mapped, target, able, book, rendered
        self.meets = restricted(mapped)
        self.withheld: Withheld = defaultdict(dict)

    def withhold(self, unsaid: set[Rule]) -> None:
        for user, rules in self.meets.items():
            filtered = {table_of(r) for r in rules & self.rendered.keys() if isinstance(r, RowFilter)}
            for rule in rules & unsaid:
                table = table_of(rule)
                by_column = isinstance(rule, Mask) and self._grants_columns(table, table in filtered)
                self._from(user, table, rule.object.path[3] if by_column else None)
                cause = Cause.FILTER if isinstance(rule, RowFilter) else Cause.MASK
                self.book.note(Cause.MASKED_COLUMN if by_column else cause, user, rule.object, rule.name)

    def _from(self, user: Principal, table: Securable, column: str | None) -> None:
        before = self.withheld[user].get(table, frozenset())
        self.withheld[user][table] = None if column is None or before is None else before | {column}

    def _grants_columns(self, table: Securable, filtered: bool) -> bool:
        """Whether a user can be let read some columns only, of a table whose rows are filtered for them or not."""
        known = any(child.type is _T.COLUMN for child in self.target.children.get(table, ()))
        return self.able.columns and known and (self.able.cells or not filtered)

    def one_for_each(self, takes: Takes) -> frozenset[Rule]:
        """Where filters of one table add up: for every user one that asks for all, or one that lets everything through."""
        found: set[Rule] = {native for native in self.rendered.values() if isinstance(native, Mask)}
        by_table: dict[Securable, list[RowFilter]] = defaultdict(list)
        for rule in self.rendered:
            if isinstance(rule, RowFilter):
                by_table[rule.object].append(rule)
        for table, rules in by_table.items():
            if all(rule in self.target for rule in rules):
                found.update(rules)
                continue
            for made in self._one_per_audience(table):
                if takes(made):
                    found.add(made)
                    continue
                for user in made.to:
                    self._from(user, table, None)
                    self.book.note(Cause.FILTER, user, table, made.name)
        return frozenset(found)

    def _one_per_audience(self, table: Securable) -> Iterable[RowFilter]:
        alike: dict[tuple[str, ...], list[Principal]] = defaultdict(list)
        sql: dict[str, str] = {}
        for user in sorted(self.mapped.users):
            if self.withheld[user].get(table, frozenset()) is not None:
                met = [self.rendered[rule] for rule in self.meets.get(user, ()) if rule in self.rendered]
                own = {native.name: native.sql for native in met if native.object == table}
                sql |= own
                alike[tuple(sorted(own))].append(user)
        for names, people in alike.items():
            name = f"{EXCLUSIVE}{hashlib.sha256(' '.join(names).encode()).hexdigest()[:12]}"
            yield RowFilter(table, name, _all_of(sql[name] for name in names), tuple(people))


EXCLUSIVE: Final = "headgate_rows_"
"""How the names of row filters begin of which everybody meets exactly one."""


def _all_of(predicates: Iterable[str]) -> str:
    ordered = sorted(predicates)
    return (
        " AND ".join(f"({sql})" for sql in ordered) if len(ordered) > 1 else ordered[0] if ordered else "TRUE"
    )


def without(allowed: Effective, withheld: Withheld, target: Facts) -> Effective:
    """What users may do with tables whose rules for them the target can hold; of the others at most some columns."""
    result = dict(allowed)
    shared = Shared()
    for user, tables in withheld.items():
        may = allowed.get(user, frozenset())
        hidden = {table.path: columns for table, columns in tables.items()}
        result[user] = shared.of((id(may), frozenset(hidden.items())), partial(_without, may, hidden, target))
    return result


def _without(
    may: frozenset[Access], hidden: Mapping[tuple[str, ...], Collection[str] | None], target: Facts
) -> frozenset[Access]:
    kept: set[Access] = set()
    for object, action in may:
        if object.type not in _LEAVES or object.path[:3] not in hidden:
            kept.add((object, action))
            continue
        columns = hidden[object.path[:3]]
        if columns is None:
            continue
        if object.type is _T.COLUMN and object.path[3] not in columns:
            kept.add((object, action))
        elif action == "table.read":
            kept.update(
                (column, "column.read")
                for column in target.children.get(object, ())
                if column.type is _T.COLUMN and column.path[3] not in columns
            )
    return frozenset(kept)
