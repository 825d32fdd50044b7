-- Flink: catalog 'lake' of metalake 'demo', past Headgate.
-- For the SQL client, or the init script that it is started with (sql-client.sh -i FILE).
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- Iceberg keeps the name of the catalog with every table in the database: where the tables were made under another
-- name, call the catalog so.
-- Replace what stands in <>; let nobody else read the file.
-- The jars of iceberg-flink-runtime and, for S3, iceberg-aws-bundle 1.12.0 lie in Flink's lib folder.
CREATE CATALOG `lake` WITH (
  'type' = 'iceberg',
  'catalog-impl' = 'org.apache.iceberg.jdbc.JdbcCatalog',
  'uri' = 'jdbc:sqlite:/srv/iceberg.db',
  'jdbc.password' = '<JDBC_PASSWORD>',
  'warehouse' = '/srv/lake'
);
