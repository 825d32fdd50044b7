"""What touches data at scale: PySpark jobs. A job comes in as a value, files in storage and what is known about them go
out. Knows Spark, the language's lowering and the shape of Iceberg tables; no principals, no HTTP, no database."""
