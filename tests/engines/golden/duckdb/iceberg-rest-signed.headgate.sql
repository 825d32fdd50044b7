-- DuckDB: catalog 'lake' of metalake 'demo', through Headgate.
-- For the shell of DuckDB, or any of its clients.
-- Replace what stands in <>. 'headgate token create --user NAME' makes one.
-- Storage credentials come with each table (vended-credentials) where the catalog has a role to assume. Where it has
-- none, the engine uses AWS keys of its own, with which it can read the files past every policy.
INSTALL httpfs;
LOAD httpfs;
INSTALL iceberg;
LOAD iceberg;
-- Where none come with the tables, add ACCESS_DELEGATION_MODE 'none' below, and:
-- INSTALL aws;
-- LOAD aws;
-- CREATE SECRET "lake_storage" (
--   TYPE s3,
--   PROVIDER credential_chain,
--   REGION 'eu-central-1'
-- );
CREATE SECRET "lake_token" (
  TYPE iceberg,
  TOKEN '<HEADGATE_TOKEN>'
);
ATTACH 'demo.lake' AS "lake" (
  TYPE iceberg,
  ENDPOINT 'https://headgate.example.com/iceberg',
  SECRET "lake_token"
);
