"""Other people's databases, through SQLAlchemy: Iceberg catalogs that are kept in one.

Comes in: a JDBC address, as engines on Java know it, of a host or a file that the operator opened. Goes out: pointers.
"""
