-- DuckDB: catalog 'lake' of metalake 'demo', through Headgate.
-- For the shell of DuckDB, or any of its clients.
-- Replace what stands in <>. 'headgate token create --user NAME' makes one.
-- The catalog names no storage of its own: add how the engine reaches the files if it has to be told.
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
