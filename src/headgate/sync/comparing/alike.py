"""Row filters and masks of two systems that mean the same, though each says them in its own words.

They are held against each other in the policy language where both can be read exactly, else as they are written. Whom they are
for is compared by the users that both systems know, and by whether they meet whoever is not known yet.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import TypeAlias

from headgate.language.lift import compared
from headgate.model.schema import Schema, SchemaError
from headgate.sync.access.effective import restricted
from headgate.sync.snapshots.facts import Facts, Kind, Principal, RowFilter, Securable
from headgate.sync.translating.dialects import OWN, schema_of, understood
from headgate.sync.translating.policy_text import NOTHING
from headgate.sync.translating.restrictions import Rule, rule_name, table_of

Meaning: TypeAlias = tuple[object, ...]


def alike(one: Facts, other: Facts) -> frozenset[Rule]:
    """Those of the rules of either side, under the same names of people, of which the other side has one that means the same."""
    if not one.restrictions or not other.restrictions:
        return frozenset()
    schemas = _schemas(one, other)
    users = one.users & other.users
    sides = [_meanings(facts, schemas, users) for facts in (one, other)]
    both = sides[0].keys() & sides[1].keys()
    return frozenset(rule for side in sides for meaning in both for rule in side[meaning])


def _meanings(
    facts: Facts, schemas: Mapping[Securable, Schema], users: frozenset[Principal]
) -> dict[Meaning, list[Rule]]:
    met: dict[Rule, set[Principal]] = defaultdict(set)
    for user, rules in restricted(facts).items():
        for rule in rules:
            met[rule].add(user)
    found: dict[Meaning, list[Rule]] = defaultdict(list)
    for rule in facts.restrictions:
        lifted = understood(rule, schemas[table_of(rule)])
        plain = rule if lifted is None else lifted
        # To show nothing is the same in every dialect.
        words = (OWN if rule.sql == NOTHING else plain.dialect, plain.sql)
        everyone = not rule.to or any(who in facts.everyone or who.kind is not Kind.USER for who in rule.to)
        audience = frozenset(met[rule] & users), everyone
        found[type(rule), rule.object, rule_name(rule.name), words, audience].append(rule)
    return found


def _schemas(*sides: Facts) -> dict[Securable, Schema]:
    """What is known of the columns of each table: by the rules that say it, else by the constants they are compared with."""
    types: dict[Securable, dict[str, str]] = defaultdict(dict)
    rules = sorted((rule for facts in sides for rule in facts.restrictions), key=str)
    for rule in rules:
        types[table_of(rule)].update(rule.columns)
    for rule in rules:
        known = types[table_of(rule)]
        taken = {name.lower() for name in known}
        if isinstance(rule, RowFilter) and rule.dialect != OWN:
            known |= {
                name: type
                for name, type in compared(rule.sql, rule.dialect).items()
                if name.lower() not in taken
            }
    return {table: _schema(known) for table, known in types.items()}


def _schema(types: Mapping[str, str]) -> Schema:
    try:
        return schema_of(tuple(types.items()))
    except SchemaError:
        # A snapshot may hold anything; then its rules are compared as they are written.
        return Schema(())
