# Spark: catalog 'lake' of metalake 'demo', past Headgate.
# For a terminal; spark-shell, pyspark and spark-submit take the same options.
# WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
# catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
# audited.
# AWS keys are not written here: the engine finds its own, from its environment or its machine's role.
# The first package is for Spark 4.1 with Scala 2.13: another Spark needs its own.
# Iceberg tables are read as lake.schema.table, Hive tables as schema.table.
# AWS's client of Glue for Hive (aws-glue-datacatalog-spark-client) is on EMR and Glue; elsewhere its jar has to be
# built and put on Spark's class path.
spark-sql \
  --conf spark.jars.packages=org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,org.apache.iceberg:iceberg-aws-bundle:1.12.0 \
  --conf spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions \
  --conf spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog \
  --conf spark.sql.catalog.lake.catalog-impl=org.apache.iceberg.aws.glue.GlueCatalog \
  --conf spark.sql.catalog.lake.warehouse=s3://bucket/wh \
  --conf spark.sql.catalog.lake.io-impl=org.apache.iceberg.aws.s3.S3FileIO \
  --conf spark.sql.catalog.lake.client.region=us-east-1 \
  --conf spark.sql.catalogImplementation=hive \
  --conf spark.hadoop.hive.metastore.client.factory.class=com.amazonaws.glue.catalog.metastore.AWSGlueDataCatalogHiveClientFactory \
  --conf spark.hadoop.aws.region=us-east-1 \
  --conf spark.hadoop.fs.s3.impl=org.apache.hadoop.fs.s3a.S3AFileSystem \
  --conf spark.hadoop.fs.s3a.endpoint.region=us-east-1
