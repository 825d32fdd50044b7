"""Hive Metastore, over Thrift: Hive tables, or the Iceberg tables that are kept in it.

Comes in: a catalog's properties, of hosts that the operator opened. Goes out: pointers and Hive tables.
"""
