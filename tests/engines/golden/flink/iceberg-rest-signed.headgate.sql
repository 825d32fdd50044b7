-- Flink: catalog 'lake' of metalake 'demo', through Headgate.
-- For the SQL client, or the init script that it is started with (sql-client.sh -i FILE).
-- The token is read from the variable HEADGATE_TOKEN of the SQL client, the job manager and the task managers.
-- 'headgate token create --user NAME' makes one.
-- Whoever uses this catalog reads as the user whom the token belongs to.
-- Storage credentials come with each table (vended-credentials) where the catalog has a role to assume. Where it has
-- none, the engine uses AWS keys of its own, with which it can read the files past every policy.
-- The jars of iceberg-flink-runtime and, for S3, iceberg-aws-bundle 1.12.0 lie in Flink's lib folder.
CREATE CATALOG `lake` WITH (
  'type' = 'iceberg',
  'catalog-type' = 'rest',
  'uri' = 'https://headgate.example.com/iceberg',
  'warehouse' = 'demo.lake',
  'token' = 'env:HEADGATE_TOKEN',
  'header.X-Iceberg-Access-Delegation' = 'vended-credentials,remote-signing',
  'io-impl' = 'org.apache.iceberg.aws.s3.S3FileIO',
  'client.region' = 'eu-central-1'
);
