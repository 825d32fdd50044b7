"""The store: SQLAlchemy Core on SQLite or PostgreSQL. State, journal of revisions, tokens, pointers, audit.

The only room that knows SQL. `Store.write` is the one way to change anything: one transaction that changes tables,
writes the journal and raises the revision together. Comes in: frozen values and plain arguments. Goes out: records
and, for the decision point, changes or the whole state as changes.

Here stand the database and the state that is journaled; `metadata` has what objects have besides their row, `reads` what reads
leave behind. Other rooms take the modules from here, whatever folder they stand in.
"""

from headgate.store.database import Read, Store, Write
from headgate.store.metadata import dropped, models, outside_tables, places, pointers, statistics
from headgate.store.reads import answers, backlog, given_files, keys, ledger, mask_keys, plans, probes

__all__ = [
    "Read",
    "Store",
    "Write",
    "answers",
    "backlog",
    "dropped",
    "given_files",
    "keys",
    "ledger",
    "mask_keys",
    "models",
    "outside_tables",
    "places",
    "plans",
    "pointers",
    "probes",
    "statistics",
]
