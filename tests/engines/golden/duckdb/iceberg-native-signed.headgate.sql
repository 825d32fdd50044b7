-- DuckDB: catalog 'lake' of metalake 'demo', through Headgate.
-- For the shell of DuckDB, or any of its clients.
-- Replace what stands in <>. 'headgate token create --user NAME' makes one.
-- Requests to the storage are signed by Headgate one by one (remote-signing), which Spark, Flink and pyiceberg with
-- s3fs can do. Other engines need keys of their own.
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
--   REGION 'us-east-1'
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
