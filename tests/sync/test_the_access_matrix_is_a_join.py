"""The relations that are handed to larger engines hold everything: a join of them gives the reference's effective access."""

import duckdb
import msgspec
import pytest
from hypothesis import given, settings

from headgate.sync.capabilities import CANONICAL, Semantics
from headgate.sync.connectors import mariadb, postgresql
from headgate.sync.effective import effective
from headgate.sync.facts import Facts
from headgate.sync.relations import object_key, relations
from tests.sync.suite.test_a_push_never_widens import VOCABULARY
from tests.sync.worlds import policies

JOIN = """
WITH RECURSIVE written AS (
  SELECT r.c0 AS who, a.c0 AS object, v.c2 AS action
  FROM reach r JOIN grants g ON g.c0 = r.c1 AND NOT g.c3
  JOIN above a ON a.c2 = g.c1 AND a.c4
  JOIN gives v ON v.c0 = a.c3 AND v.c1 = g.c2 AND v.c3 = a.c1
  WHERE NOT EXISTS (
    SELECT 1 FROM reach r2 JOIN grants d ON d.c0 = r2.c1 AND d.c3
    JOIN above b ON b.c2 = d.c1 AND b.c4
    WHERE r2.c0 = r.c0 AND b.c0 = a.c0 AND d.c2 = g.c2)
  UNION
  SELECT r.c0, a.c0, x.c1 FROM reach r JOIN owners o ON o.c0 = r.c1
  JOIN above a ON a.c2 = o.c1 AND (a.c0 = a.c2 OR $owner_inherits) JOIN all_actions x ON x.c0 = a.c1
),
granted AS (
  SELECT * FROM written s WHERE NOT EXISTS (
    SELECT 1 FROM needs n WHERE n.c0 = s.action AND NOT EXISTS (
      SELECT 1 FROM written o WHERE o.who = s.who AND o.object = s.object AND o.action = n.c1))
),
open_catalogs AS (SELECT * FROM granted WHERE action = 'catalog.use'),
open_schemas AS (
  SELECT * FROM granted s WHERE action = 'schema.use' AND NOT EXISTS (
    SELECT 1 FROM gates t JOIN ways w ON w.c0 = s.object AND w.c1 = t.c1 WHERE t.c0 = s.action
    AND NOT EXISTS (SELECT 1 FROM open_catalogs o WHERE o.who = s.who AND o.object = w.c2))
),
opened AS (SELECT * FROM open_catalogs UNION SELECT * FROM open_schemas)
SELECT * FROM opened UNION
SELECT * FROM granted s WHERE action NOT IN ('catalog.use', 'schema.use') AND NOT EXISTS (
  SELECT 1 FROM gates t JOIN ways w ON w.c0 = s.object AND w.c1 = t.c1 WHERE t.c0 = s.action
  AND NOT EXISTS (SELECT 1 FROM opened o WHERE o.who = s.who AND o.object = w.c2 AND o.action = t.c1))
"""
CANON = msgspec.structs.replace(CANONICAL, natives=VOCABULARY)
NEEDY = msgspec.structs.replace(CANON, needs={"table.read": frozenset({"table.alter"})})


@pytest.mark.parametrize(
    "semantics",
    [CANON, postgresql.CAPABILITIES.semantics, mariadb.CAPABILITIES.semantics, NEEDY],
    ids=["canonical", "pg", "maria", "needy"],
)
@given(facts=policies(owners=True, columns=True))
@settings(max_examples=12, deadline=None)
def test_the_join_is_the_reference(semantics: Semantics, facts: Facts) -> None:
    database = duckdb.connect()
    for name, rows in relations(facts, semantics)._asdict().items():
        width = {"above": 5, "grants": 4, "gives": 4, "ways": 3}.get(name, 2)
        flags = {("above", 4), ("grants", 3)}
        kinds = ", ".join(f"c{n} {'BOOLEAN' if (name, n) in flags else 'VARCHAR'}" for n in range(width))
        database.execute(f"CREATE TABLE {name} ({kinds})")
        if rows:
            database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * width)})", rows)
    found = set(database.execute(JOIN, {"owner_inherits": semantics.owner_inherits}).fetchall())
    expected = {
        (str(user), object_key(object), action)
        for user, accesses in effective(facts, semantics).items()
        for object, action in accesses
    }
    assert found == expected
    database.close()
