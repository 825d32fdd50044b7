"""Hive tables, as a metastore knows them: types, definitions, and a catalog that holds them beside Iceberg tables.

Comes in: what AWS Glue or a Hive Metastore says of a table, as one value. Goes out: descriptions, and the changed value.
"""
