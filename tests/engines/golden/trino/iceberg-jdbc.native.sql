-- Trino: catalog 'lake' of metalake 'demo', past Headgate.
-- For a Trino with catalog.management=dynamic; run it as one who may create catalogs.
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- AWS keys are not written here: the engine finds its own, from its environment or its machine's role.
-- The driver's jar goes to the folder of Trino's Iceberg plugin. JDBC_PASSWORD is a variable of every node.
CREATE CATALOG "lake" USING iceberg WITH (
  "iceberg.catalog.type" = 'jdbc',
  "iceberg.jdbc-catalog.catalog-name" = 'lake',
  "iceberg.jdbc-catalog.driver-class" = 'org.postgresql.Driver',
  "iceberg.jdbc-catalog.connection-url" = 'jdbc:postgresql://db.example.com:5432/iceberg?sslmode=require',
  "iceberg.jdbc-catalog.connection-user" = 'iceberg',
  "iceberg.jdbc-catalog.connection-password" = '${ENV:JDBC_PASSWORD}',
  "iceberg.jdbc-catalog.default-warehouse-dir" = 's3://lake/jdbc',
  "fs.native-s3.enabled" = 'true',
  "s3.region" = 'eu-central-1'
);
