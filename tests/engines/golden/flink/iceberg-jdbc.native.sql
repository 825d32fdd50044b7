-- Flink: catalog 'lake' of metalake 'demo', past Headgate.
-- For the SQL client, or the init script that it is started with (sql-client.sh -i FILE).
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- AWS keys are not written here: the engine finds its own, from its environment or its machine's role.
-- Iceberg keeps the name of the catalog with every table in the database: where the tables were made under another
-- name, call the catalog so.
-- Replace what stands in <>; let nobody else read the file.
-- The jars of iceberg-flink-runtime and, for S3, iceberg-aws-bundle 1.12.0 lie in Flink's lib folder.
CREATE CATALOG `lake` WITH (
  'type' = 'iceberg',
  'catalog-impl' = 'org.apache.iceberg.jdbc.JdbcCatalog',
  'uri' = 'jdbc:postgresql://db.example.com:5432/iceberg?sslmode=require',
  'jdbc.user' = 'iceberg',
  'jdbc.password' = '<JDBC_PASSWORD>',
  'warehouse' = 's3://lake/jdbc',
  'io-impl' = 'org.apache.iceberg.aws.s3.S3FileIO',
  'client.region' = 'eu-central-1'
);
