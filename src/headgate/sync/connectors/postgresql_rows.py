"""Row-level security as row filters: of policies that a push made, and that are still what it wrote, the rule that they tell of.

Of all others only this is certain: not all rows are for everyone. INVARIANT: a table with any such policy, or without the one
that opens it to the restrictive ones, is read as showing nobody a row.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from headgate.model.errors import IllegalArgument
from headgate.sync.facts import Kind, Principal, RowFilter, Securable
from headgate.sync.policy_text import NO_ROW

PUBLIC: Final = Principal(Kind.GROUP, "PUBLIC")
OPEN: Final = "headgate_all_rows"
"""The permissive policy without which restrictive ones would hide every row from everyone."""
FOREIGN: Final = "row level security"
"""Names the filter that stands for policies of others."""
POLICIES: Final = """
SELECT c.oid, p.polpermissive, obj_description(p.oid, 'pg_policy'), p.polname, p.polcmd::text,
  pg_get_expr(p.polqual, p.polrelid),
  ARRAY(SELECT coalesce(r.rolname, '') FROM unnest(p.polroles) o LEFT JOIN pg_roles r ON r.oid = o)
FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid WHERE c.relrowsecurity AND {kinds}"""
"""A row for each policy of each table under row-level security, and one for a table that has none."""


class _Policy(NamedTuple):
    """A policy as the server has it. The role without a name is everyone."""

    name: str | None
    command: str | None
    qual: str | None
    roles: frozenset[str]


_OPENING: Final = _Policy(OPEN, "*", "true", frozenset({""}))


def row_filters(
    rows: Iterable[tuple[Any, ...]], relations: Mapping[int, Securable]
) -> tuple[list[RowFilter], list[str]]:
    """The filters of the tables, and notes on what was read as hiding everything."""
    rules: dict[Securable, list[RowFilter]] = defaultdict(list)
    others: dict[Securable, set[str]] = defaultdict(set)
    opened: set[Securable] = set()
    for oid, permissive, comment, name, command, qual, roles in rows:
        if oid not in relations:
            continue
        table, policy = relations[oid], _Policy(name, command, qual, frozenset(roles))
        found = None if permissive or comment is None else _rule(table, policy, comment)
        rules[table] += [found] if found is not None else []
        if permissive and policy == _OPENING:
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


def _rule(table: Securable, policy: _Policy, comment: str) -> RowFilter | None:
    """The filter that a comment tells of, if the policy is still the one that was written."""
    try:
        told = json.loads(comment)["headgate"]
        to, exempt = (tuple(map(Principal.parse, told[part])) for part in ("to", "exempt"))
        roles = frozenset({""}) if not to or PUBLIC in to else frozenset(who.name for who in to)
        if policy[1:] != ("*", told["qual"], roles):
            return None
        return RowFilter(table, str(policy.name), told["sql"], to, exempt)
    except (ValueError, KeyError, TypeError, IllegalArgument):
        return None
