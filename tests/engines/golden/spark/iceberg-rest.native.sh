# Spark: catalog 'lake' of metalake 'demo', past Headgate.
# For a terminal; spark-shell, pyspark and spark-submit take the same options.
# WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
# catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
# audited.
# AWS keys are not written here: the engine finds its own, from its environment or its machine's role.
# The first package is for Spark 4.1 with Scala 2.13: another Spark needs its own.
# REST_TOKEN is a token of the other catalog's; leave the setting out where it asks for none.
spark-sql \
  --conf spark.jars.packages=org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,org.apache.iceberg:iceberg-aws-bundle:1.12.0 \
  --conf spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions \
  --conf spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog \
  --conf spark.sql.catalog.lake.type=rest \
  --conf spark.sql.catalog.lake.uri=https://polaris.example.com/api/catalog \
  --conf spark.sql.catalog.lake.warehouse=sales \
  --conf spark.sql.catalog.lake.token=env:REST_TOKEN \
  --conf spark.sql.catalog.lake.io-impl=org.apache.iceberg.aws.s3.S3FileIO \
  --conf spark.sql.catalog.lake.client.region=eu-central-1
