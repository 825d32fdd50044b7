-- DuckDB: catalog 'lake' of metalake 'demo', through Headgate.
-- For the shell of DuckDB, or any of its clients.
-- Replace what stands in <>. 'headgate token create --user NAME' makes one.
-- Storage credentials come with each table (vended-credentials), for what its reader sees and no more: the engine
-- needs no keys of its own, and should have none.
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
  SECRET "lake_token"
);
