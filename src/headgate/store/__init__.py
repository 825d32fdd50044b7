"""The store: SQLAlchemy Core on SQLite or PostgreSQL. State, journal of revisions, tokens, pointers, audit.

The only room that knows SQL. `Store.write` is the one way to change anything: one transaction that changes tables,
writes the journal and raises the revision together. Comes in: frozen values and plain arguments. Goes out: records
and, for the decision point, changes or the whole state as changes.
"""

from headgate.store.database import Read, Store, Write

__all__ = ["Read", "Store", "Write"]
