"""AWS Glue's Data Catalog, by boto3: Hive tables, Iceberg tables, or both in one catalog.

Comes in: a catalog's properties, of hosts that the operator opened. Goes out: pointers and Hive tables.
"""
