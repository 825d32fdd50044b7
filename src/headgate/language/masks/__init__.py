"""Masks: what becomes of one column's values. The nine actions of Iceberg's read restrictions with their documented
results, stricter and keyed ones, generalisation, and any deterministic expression over the column.

Each mask is one record (`kind.MaskKind`) that stands beside its functions in the module of its family; `kinds` lists them and
refuses one that lacks a part. Each is checked against its column when written, and exists as a Python reference and as Spark
SQL, equal byte for byte. To add one: write the record and its functions in a family, list it in `kinds`, add its golden bytes."""
