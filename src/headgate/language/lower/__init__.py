"""From the language to others', one module per target: Iceberg expressions, Spark SQL, PostgreSQL, MySQL, Trino, DuckDB.
A bound and folded expression and the schema it is bound to come in; text or JSON goes out, or an error that says what the
target cannot express. Every identifier is quoted and every constant is written so that nothing can break out of it."""
