"""Tables of PostgreSQL, MySQL and MariaDB: described, made, changed and dropped, never read.

Comes in: definitions and changes in Gravitino's words. Goes out: statements whose every name is quoted by the dialect and
whose every other word is one of ours. INVARIANT: no text of a client becomes SQL.
"""
