"""Row filters as data cells filters.

Lake Formation shows rows to principals with SELECT on a filter; filters of one person add up, and whoever holds SELECT on the table
besides sees everything. So a rule is written down in filters that nobody is granted — ``rule|who``, ``rule|*`` for everyone,
``rule|!who`` for the exempt — and everybody whom rules are for reads through one filter of their own, ``|who``, that asks for all
of them. INVARIANT: nobody whom a rule is for holds anything else that shows the rows of the table.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import sqlglot
from sqlglot import exp

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.sync.connectors.lakeformation.words import Words
from headgate.sync.snapshots.facts import GrantFact, Kind, Principal, RowFilter, Securable

_T = ObjectType

SECURITY: Final = "row-level security"
"""Names the filter that stands for policies of row-level security, which are left alone."""
_NAME: Final = re.compile(r"^(?P<rule>[^|]*)\|(?P<lifted>!)?(?P<who>\*|[^|!*][^|]*)$")
SHOWS_ROWS: Final = frozenset(
    {w + on for w in ("SELECT", "INSERT", "DELETE", "ALL") for on in ("", " ON ALL TABLES")}
)
"""The words that show rows of a table, on it, on its columns or on all tables of its database."""

_PLAIN: Final = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ,
    exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Like, exp.Is, exp.Neg,
)  # fmt: skip


class CellsFilter(msgspec.Struct, frozen=True, order=True):
    """One data cells filter of ours: for one principal, for everyone, or lifting a rule from one principal."""

    table: Securable
    rule: str
    who: str = ""
    """The principal's identifier; empty for everyone."""
    lifted: bool = False
    sql: str = msgspec.field(default="")

    @property
    def name(self) -> str:
        return f"{self.rule}|{'!' if self.lifted else ''}{self.who or '*'}"

    @classmethod
    def parse(cls, words: Words, entry: dict[str, Any]) -> "CellsFilter | None":
        """A filter from the wire; None if it is not one that a push made."""
        match = _NAME.match(entry["Name"])
        rows, columns = entry.get("RowFilter") or {}, entry.get("ColumnWildcard")
        if match is None or columns is None or columns.get("ExcludedColumnNames"):
            return None
        lifted, sql = bool(match["lifted"]), rows.get("FilterExpression") or ""
        if lifted is not (not sql):
            return None
        who = "" if match["who"] == "*" else match["who"]
        return cls(words.table(entry["DatabaseName"], entry["TableName"]), match["rule"], who, lifted, sql)

    def wire(self, account: str) -> dict[str, Any]:
        rows: dict[str, Any] = {"AllRowsWildcard": {}} if self.lifted else {"FilterExpression": self.sql}
        return {**self.place(account), "RowFilter": rows, "ColumnWildcard": {}}

    def place(self, account: str) -> dict[str, Any]:
        path = self.table.path[1:]
        place = {"TableCatalogId": account, "DatabaseName": path[0], "TableName": path[1]}
        return {**place, "Name": self.name}


def filters_of(rule: RowFilter) -> list[CellsFilter]:
    """The data cells filters that a row filter comes to."""
    checked(rule.sql)
    to = [who.name for who in rule.to] or [""]
    found = [CellsFilter(rule.object, rule.name, who, False, rule.sql) for who in to]
    found += [CellsFilter(rule.object, rule.name, who.name, True) for who in rule.exempt]
    if too_long := next((f for f in found if len(f.name) > 255), None):
        raise IllegalArgument(
            f"the name of a filter would be too long: '{too_long.name[:40]}…'", about="sync"
        )
    return found


class Filters:
    """The data cells filters of a data catalog that pushes made."""

    def __init__(self, found: Iterable[CellsFilter]) -> None:
        self.all = frozenset(found)
        self.records = frozenset(f for f in self.all if f.rule)
        self.names = {(f.table, f.name): f for f in self.all}
        self.lifted = {(f.table, f.rule, f.who) for f in self.records if f.lifted}

    def way(self, table: Securable, holder: str) -> CellsFilter | None:
        """The filter through which a holder has to read a table, if any rule is for them."""
        rules = sorted(
            (f.rule, f.sql)
            for f in self.records
            if f.table == table
            and not f.lifted
            and f.who in ("", holder)
            and (table, f.rule, holder) not in self.lifted
        )
        if not rules:
            return None
        return CellsFilter(
            table, "", holder, False, " AND ".join(f"({sql})" for _, sql in dict(rules).items())
        )

    def stale(self, table: Securable) -> list[CellsFilter]:
        """Filters of people for whom no rule is any more."""
        own = (f for f in self.all if f.table == table and not f.rule)
        return sorted(f for f in own if self.way(table, f.who) is None)

    def rules(self, passing: dict[Securable, set[str]]) -> Iterator[RowFilter]:
        """The row filters that hold; `passing` are those who see all rows of a table whatever filters it has."""
        by_rule: dict[tuple[Securable, str, str], set[str]] = defaultdict(set)
        for f in self.records:
            if not f.lifted:
                by_rule[f.table, f.rule, f.sql].add(f.who)
        for (table, rule, sql), to in by_rule.items():
            past = passing.get(table, set())
            exempt = {who for t, r, who in self.lifted if (t, r) == (table, rule)}
            if "" in to:
                yield RowFilter(table, rule, sql, (), _people(exempt | past))
            elif to - past:
                yield RowFilter(table, rule, sql, _people(to - past), _people(exempt))


def _people(names: set[str]) -> tuple[Principal, ...]:
    return tuple(sorted(Principal(Kind.USER, name) for name in names))


def shows_rows(grant: GrantFact) -> bool:
    """Whether a grant other than through the holder's own filter shows rows of a table: what one holds adds up."""
    word = grant.privilege
    written = word.startswith(tuple(f"{w} ON {{" for w in ("SELECT", "INSERT", "DELETE", "ALL")))
    if grant.object.type is _T.CATALOG:
        return written and '"LFTagPolicy"' in word
    return grant.object.type in (_T.SCHEMA, _T.TABLE, _T.COLUMN) and (written or word in SHOWS_ROWS)


def reached(grant: GrantFact, table: Securable) -> bool:
    """Whether a grant on a table, its columns, its database, or on tags that it may have, is about this table."""
    path = grant.object.path
    return path[:3] == table.path or (grant.object.type is not _T.TABLE and path == table.path[: len(path)])


def checked(text: str) -> None:
    """A row filter is a predicate of columns and constants: no functions, no queries, no column against another."""
    try:
        parsed = [tree for tree in sqlglot.parse(text, dialect="redshift") if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        raise IllegalArgument("a row filter cannot be read", hint=str(error)[:200]) from error
    if len(parsed) != 1 or len(text) >= 2048:
        raise IllegalArgument("a row filter must be one expression of less than 2048 characters")
    for node in parsed[0].walk():
        if not isinstance(node, _PLAIN):
            raise IllegalArgument(
                f"a row filter cannot hold {type(node).__name__}", hint="compare columns with constants"
            )
        sides = (node.args.get("this"), node.args.get("expression"))
        if isinstance(node, exp.Binary) and all(isinstance(side, exp.Column) for side in sides):
            raise IllegalArgument("a row filter cannot compare one column with another")
