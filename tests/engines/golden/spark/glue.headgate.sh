# Spark: catalog 'lake' of metalake 'demo', through Headgate.
# For a terminal; spark-shell, pyspark and spark-submit take the same options.
# The token is read from the variable HEADGATE_TOKEN of the driver. 'headgate token create --user NAME' makes one.
# Whoever uses this catalog reads as the user whom the token belongs to.
# Storage credentials come with each table (vended-credentials) where the catalog has a role to assume. Where it has
# none, the engine uses AWS keys of its own, with which it can read the files past every policy.
# The first package is for Spark 4.1 with Scala 2.13: another Spark needs its own.
spark-sql \
  --conf spark.jars.packages=org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,org.apache.iceberg:iceberg-aws-bundle:1.12.0 \
  --conf spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions \
  --conf spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog \
  --conf spark.sql.catalog.lake.type=rest \
  --conf spark.sql.catalog.lake.uri=https://headgate.example.com/iceberg \
  --conf spark.sql.catalog.lake.warehouse=demo.lake \
  --conf spark.sql.catalog.lake.token=env:HEADGATE_TOKEN \
  --conf spark.sql.catalog.lake.header.X-Iceberg-Access-Delegation=vended-credentials,remote-signing \
  --conf spark.sql.catalog.lake.io-impl=org.apache.iceberg.aws.s3.S3FileIO \
  --conf spark.sql.catalog.lake.client.region=us-east-1
