-- DuckDB: catalog 'lake' of metalake 'demo', through Headgate.
-- For the shell of DuckDB, or any of its clients.
-- Replace what stands in <>. 'headgate token create --user NAME' makes one.
-- The catalog names no storage: it is in the server's own warehouse. These settings are for a local folder, where the
-- engine runs as the server's user. If the warehouse is in S3, set s3-region on the catalog and ask again.
INSTALL httpfs;
LOAD httpfs;
INSTALL iceberg;
LOAD iceberg;
CREATE SECRET "lake_token" (
  TYPE iceberg,
  TOKEN '<HEADGATE_TOKEN>'
);
ATTACH 'demo.lake' AS "lake" (
  TYPE iceberg,
  ENDPOINT 'https://headgate.example.com/iceberg',
  SECRET "lake_token",
  ACCESS_DELEGATION_MODE 'none'
);
