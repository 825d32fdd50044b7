"""Row filters as row-level security, written and read.

A filter is a restrictive policy for PUBLIC that asks who the session belongs to, so it holds whatever role is set, through
views and through functions of other definers. Roles stand in it by their oid, so a rename changes nothing. INVARIANT: a table
with any policy that is not of this form, still as it was written, or without the one that opens it to the restrictive ones, is
read as showing nobody a row.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import sqlglot
from psycopg import sql
from sqlglot import exp

from headgate.model.errors import IllegalArgument
from headgate.sync.snapshots.facts import Kind, Principal, RowFilter, Securable
from headgate.sync.translating.policy_text import NO_ROW

PUBLIC: Final = Principal(Kind.GROUP, "PUBLIC")
OPEN: Final = "headgate_all_rows"
"""The permissive policy without which restrictive ones would hide every row from everyone."""
FOREIGN: Final = "row level security"
"""Names the filter that stands for policies of others."""
POLICIES: Final = """
SELECT c.oid, p.polpermissive, obj_description(p.oid, 'pg_policy'), p.polname, p.polcmd::text,
  pg_get_expr(p.polqual, p.polrelid), p.polroles = '{{0}}', c.relforcerowsecurity
FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid WHERE c.relrowsecurity AND {kinds}"""
"""A row for each policy of each table under row-level security, and one for a table that has none."""


class _RowPolicy(NamedTuple):
    """A policy as the server has it."""

    name: str | None
    command: str | None
    qual: str | None
    public: bool | None


_OPENING: Final = _RowPolicy(OPEN, "*", "true", True)


def row_filters(
    rows: Iterable[tuple[Any, ...]], relations: Mapping[int, Securable], roles: Mapping[int, Principal]
) -> tuple[list[RowFilter], list[str]]:
    """The filters of the tables, and notes on what was read as hiding everything."""
    rules: dict[Securable, list[RowFilter]] = defaultdict(list)
    others: dict[Securable, set[str]] = defaultdict(set)
    opened: set[Securable] = set()
    for oid, permissive, comment, name, command, qual, public, forced in rows:
        if oid not in relations:
            continue
        table, policy = relations[oid], _RowPolicy(name, command, qual, public)
        found = None if permissive or comment is None else _rule(table, policy, comment, roles)
        rules[table] += [found] if found is not None else []
        if permissive and policy == _OPENING and forced:
            opened.add(table)
        elif found is None:
            others[table] |= {name} if name else set()
    notes = []
    for table, own in rules.items():
        if others[table] or table not in opened:
            own.append(RowFilter(table, FOREIGN, NO_ROW))
            named = ", ".join(f"'{name}'" for name in sorted(others[table])) or "nothing opens it"
            notes.append(f"{table} has row-level security of its own ({named})")
    return [rule for own in rules.values() for rule in own], notes


def _rule(
    table: Securable, policy: _RowPolicy, comment: str, roles: Mapping[int, Principal]
) -> RowFilter | None:
    """The filter that a comment tells of, if the policy is still the one that was written."""
    try:
        written = json.loads(comment)["headgate"]
        if written["form"] != _FORM or policy[1:] != ("*", written["qual"], True):
            return None
        to, exempt = (tuple(_principal(n, roles) for n in written[part]) for part in ("to", "exempt"))
        expression(written["sql"])
        return RowFilter(table, str(policy.name), written["sql"], to, exempt)
    except (ValueError, KeyError, TypeError, IllegalArgument):
        return None


def _principal(oid: int, roles: Mapping[int, Principal]) -> Principal:
    return PUBLIC if oid == 0 else roles[oid]


# -- writing -----------------------------------------------------------------------------------------------------

_FORM: Final = 2
"""Of policies of an older form, which a role that is set could pass, nothing is believed."""


def condition(rule: RowFilter, oids: Mapping[Principal, int]) -> sql.Composed:
    """What a row must fulfil to be seen: who asks is asked once, by the user of the session and by the role that is set."""
    rows = sql.SQL("({})").format(sql.SQL(expression(rule.sql)))
    ways: list[sql.Composable] = [rows]
    if rule.to and PUBLIC not in rule.to:
        met = [
            sql.SQL("pg_has_role({}, {}::oid, 'MEMBER')").format(sql.SQL(user), sql.Literal(oids[who]))
            for who in rule.to
            for user in ("session_user", "current_user")
        ]
        ways.append(sql.SQL("(SELECT NOT ({}))").format(sql.SQL(" OR ").join(met)))
    if rule.exempt:
        spared = [_spared(who, oids[who]) for who in rule.exempt]
        ways.append(sql.SQL("(SELECT {})").format(sql.SQL(" OR ").join(spared)))
    return sql.SQL(" OR ").join(ways)


def _spared(who: Principal, oid: int) -> sql.Composable:
    if who.kind is Kind.ROLE:
        return sql.SQL("pg_has_role(session_user, {}::oid, 'USAGE')").format(sql.Literal(oid))
    return sql.SQL("quote_ident(session_user::text)::regrole::oid = {}::oid").format(sql.Literal(oid))


def comment(rule: RowFilter, oids: Mapping[Principal, int], qual: str) -> str:
    """What is written beside a policy, so that it can be read back."""
    document = {
        "form": _FORM,
        "sql": rule.sql,
        "to": [oids[who] for who in rule.to],
        "exempt": [oids[who] for who in rule.exempt],
        "qual": qual,
    }
    return json.dumps({"headgate": document})


# -- texts -------------------------------------------------------------------------------------------------------

_NODES: Final = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Tuple, exp.And, exp.Or, exp.Not,
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Escape,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.DPipe, exp.Concat,
    exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Abs, exp.Round, exp.Floor, exp.Ceil,
    exp.Lower, exp.Upper, exp.Length, exp.Trim, exp.Substring, exp.Left, exp.Right, exp.StrPosition, exp.StartsWith,
    exp.Translate, exp.Decode, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Collate, exp.Extract, exp.Var,
    exp.DateTrunc, exp.TimestampTrunc, exp.AtTimeZone, exp.ByteString, exp.Interval, exp.DateAdd,
)  # fmt: skip
"""What a filter may be made of: nothing that asks for anything but the row, or that does anything."""
_CALLS: Final = frozenset(
    {
        "btrim",
        "ltrim",
        "rtrim",
        "strpos",
        "translate",
        "char_length",
        "starts_with",
        "right",
        "left",
        "decode",
    }
    | {"date_trunc", "lower", "upper", "length", "substring", "abs", "octet_length"}
)
"""The functions that sqlglot has no node for, or has one under another name."""
_TYPES: Final = frozenset(
    {
        "BOOLEAN",
        "SMALLINT",
        "INT",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
        "TEXT",
        "VARCHAR",
        "CHAR",
        "UUID",
        "DATE",
    }
    | {"VARBINARY", "TIME", "TIMETZ", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL"}
)


def expression(text: str) -> str:
    """INVARIANT: what is written into a policy is one expression of allowed parts, parsed and written anew, never text as it came."""
    try:
        parsed = [tree for tree in sqlglot.parse(text, dialect="postgres") if tree is not None]
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        raise IllegalArgument("a row filter cannot be read", hint=str(error)[:200]) from error
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Condition):
        raise IllegalArgument("a row filter must be one expression without queries")
    for node in parsed[0].walk():
        _check(node)
    for column in parsed[0].find_all(exp.Column):
        # Without quotes a name may be a word of the language, as `user` is.
        name = column.this
        column.set("this", exp.to_identifier(name.name if name.quoted else name.name.lower(), quoted=True))
    return parsed[0].sql("postgres")


def _check(node: exp.Expr) -> None:
    fine = isinstance(node, _NODES)
    if isinstance(node, exp.Anonymous):
        fine = isinstance(node.this, str) and node.this.lower() in _CALLS
    elif isinstance(node, exp.DataType):
        fine = isinstance(node.this, exp.DataType.Type) and node.this.name in _TYPES
    elif isinstance(node, exp.Column):
        # A name with a dot may be a function of the whole row.
        fine = not node.table and isinstance(node.this, exp.Identifier)
    if not fine:
        raise IllegalArgument(
            f"a row filter may not use {_shown(node)}",
            hint="filters are made of columns, constants, comparisons and a few functions of text and time",
        )


def _shown(node: exp.Expr) -> str:
    return f"'{node.sql('postgres')[:60]}'"
