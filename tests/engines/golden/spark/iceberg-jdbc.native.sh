# Spark: catalog 'lake' of metalake 'demo', past Headgate.
# For a terminal; spark-shell, pyspark and spark-submit take the same options.
# WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
# catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
# audited.
# AWS keys are not written here: the engine finds its own, from its environment or its machine's role.
# The first package is for Spark 4.1 with Scala 2.13: another Spark needs its own.
# Iceberg keeps the name of the catalog with every table in the database: where the tables were made under another
# name, call the catalog so.
# Replace what stands in <>; let nobody else read the file.
spark-sql \
  --conf spark.jars.packages=org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,org.apache.iceberg:iceberg-aws-bundle:1.12.0 \
  --conf spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions \
  --conf spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog \
  --conf spark.sql.catalog.lake.type=jdbc \
  --conf 'spark.sql.catalog.lake.uri=jdbc:postgresql://db.example.com:5432/iceberg?sslmode=require' \
  --conf spark.sql.catalog.lake.jdbc.user=iceberg \
  --conf 'spark.sql.catalog.lake.jdbc.password=<JDBC_PASSWORD>' \
  --conf spark.sql.catalog.lake.warehouse=s3://lake/jdbc \
  --conf spark.sql.catalog.lake.io-impl=org.apache.iceberg.aws.s3.S3FileIO \
  --conf spark.sql.catalog.lake.client.region=eu-central-1
