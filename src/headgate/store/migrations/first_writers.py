"""The first record of who wrote tables, for stores that kept none: fails closed where the audit trail is not exact.

Tables may have had other names and schemas when they were written, so whoever wrote any table of a catalog, as far as the
audit trail reaches, counts as having written every table that the catalog has or had; of a catalog that is not found under
its name, every table there is. Who made a table is known in any case.
"""

from collections import defaultdict
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from headgate.model.objects import ObjectType

_WRITES: Final = ("alter_table", "create_table", "write_partitions")
_GIVES: Final = ("load_table", "read_table")
"""What may have given access to write, which the details say."""
_AT_ONCE: Final = 1000


def fill(connection: sa.Connection) -> None:
    known = sa.MetaData()
    known.reflect(connection, only=["objects", "dropped_objects", "audit", "table_writers"])
    objects, dropped = known.tables["objects"], known.tables["dropped_objects"]
    rows = {row.id: row for row in connection.execute(sa.select(objects))}
    tables: dict[int, set[int]] = defaultdict(set)
    """By catalog, the tables that it has or had."""
    written: set[tuple[int, str]] = set()
    for row in rows.values():
        if row.type == ObjectType.TABLE.value:
            tables[_catalog_above(rows, row)].add(row.id)
            written.add((row.id, row.creator))
    of_tables = dropped.c.type == ObjectType.TABLE.value
    for row in connection.execute(sa.select(dropped.c.object, dropped.c.catalog).where(of_tables)):
        tables[row.catalog].add(row.object)
    everything = {table for some in tables.values() for table in some}
    lakes = {row.name: row.id for row in rows.values() if row.type == ObjectType.METALAKE.value}
    catalogs = {(row.parent, row.name): row for row in rows.values() if row.type == ObjectType.CATALOG.value}
    for (metalake, name, user), since in _wrote(connection, known.tables["audit"]).items():
        catalog = catalogs.get((lakes.get(metalake, 0), name))
        # A catalog that is younger than what was written has its name from another.
        found = tables[catalog.id] if catalog is not None and catalog.created_at <= since else everything
        written |= {(table, user) for table in found}
    values = [{"object": table, "user": user} for table, user in sorted(written)]
    for start in range(0, len(values), _AT_ONCE):
        connection.execute(sa.insert(known.tables["table_writers"]), values[start : start + _AT_ONCE])


def _wrote(connection: sa.Connection, audit: sa.Table) -> dict[tuple[str, str, str], str]:
    """By metalake, catalog and user when they first wrote, as the audit trail has it."""
    a = audit.c
    found: dict[tuple[str, str, str], str] = {}
    query = (
        sa.select(a.metalake, a.object, a.user, a.action, a.details, a.at)
        .where(a.allowed, a.action.in_((*_WRITES, *_GIVES)))
        .order_by(a.at)
        .execution_options(yield_per=10_000)
    )
    for row in connection.execute(query):
        if row.action in _GIVES and not _writes(row.details):
            continue
        key = (str(row.metalake), str(row.object).partition(".")[0], row.user)
        found.setdefault(key, row.at)
    return found


def _writes(details: bytes) -> bool:
    return bool(b"writes" in details and msgspec.json.decode(details).get("writes"))


def _catalog_above(rows: dict[int, Any], row: Any) -> int:
    while row.type != ObjectType.CATALOG.value:
        row = rows[row.parent]
    return int(row.id)
