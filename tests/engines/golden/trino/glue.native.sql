-- Trino: catalog 'lake' of metalake 'demo', past Headgate.
-- For a Trino with catalog.management=dynamic; run it as one who may create catalogs.
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- AWS keys are not written here: the engine finds its own, from its environment or its machine's role.
-- A catalog of Trino reads one format. These two send queries on the other's tables to each other: lake_hive and
-- lake_iceberg.
CREATE CATALOG "lake_hive" USING hive WITH (
  "hive.metastore" = 'glue',
  "hive.iceberg-catalog-name" = 'lake_iceberg',
  "hive.metastore.glue.region" = 'us-east-1',
  "hive.metastore.glue.default-warehouse-dir" = 's3://bucket/wh',
  "fs.native-s3.enabled" = 'true',
  "s3.region" = 'us-east-1'
);

-- For a Trino with catalog.management=dynamic; run it as one who may create catalogs.
CREATE CATALOG "lake_iceberg" USING iceberg WITH (
  "iceberg.catalog.type" = 'glue',
  "iceberg.hive-catalog-name" = 'lake_hive',
  "hive.metastore.glue.region" = 'us-east-1',
  "hive.metastore.glue.default-warehouse-dir" = 's3://bucket/wh',
  "fs.native-s3.enabled" = 'true',
  "s3.region" = 'us-east-1'
);
