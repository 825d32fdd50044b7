"""Masks: what becomes of one column's values. The nine actions of Iceberg's read restrictions with their documented
results, stricter and keyed ones, generalisation, and any deterministic expression over the column. Each mask is checked
against its column when written, and exists twice: as a Python reference and as Spark SQL, equal byte for byte."""
