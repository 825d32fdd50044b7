-- Flink: catalog 'lake' of metalake 'demo', past Headgate.
-- For the SQL client, or the init script that it is started with (sql-client.sh -i FILE).
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- AWS keys are not written here: the engine finds its own, from its environment or its machine's role.
-- The jars of iceberg-flink-runtime and, for S3, iceberg-aws-bundle 1.12.0 lie in Flink's lib folder.
CREATE CATALOG `lake` WITH (
  'type' = 'iceberg',
  'catalog-type' = 'rest',
  'uri' = 'https://glue.eu-central-1.amazonaws.com/iceberg',
  'warehouse' = '123456789012',
  'rest.sigv4-enabled' = 'true',
  'rest.signing-name' = 'glue',
  'rest.signing-region' = 'eu-central-1',
  'io-impl' = 'org.apache.iceberg.aws.s3.S3FileIO',
  'client.region' = 'eu-central-1'
);
