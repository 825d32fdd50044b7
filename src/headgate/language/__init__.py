"""The policy language: SQL expressions in YAML documents, read by one parser, bound to a table's field ids, checked for
types, freed of everything about the request, put into canonical form, evaluated, and lowered to Iceberg expressions and
SQL dialects; and the masks. No I/O: text, schemas and requests come in, frozen values and text go out. Imports `model`."""
