-- DuckDB: catalog 'lake' of metalake 'demo', past Headgate.
-- For the shell of DuckDB, or any of its clients.
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- REST_TOKEN is a token of the other catalog's.
-- AWS keys are not written here: the engine finds its own, from its environment or its machine's role.
INSTALL httpfs;
LOAD httpfs;
INSTALL iceberg;
LOAD iceberg;
INSTALL aws;
LOAD aws;
CREATE SECRET "lake_storage" (
  TYPE s3,
  PROVIDER credential_chain,
  REGION 'eu-central-1'
);
CREATE SECRET "lake_token" (
  TYPE iceberg,
  TOKEN '<REST_TOKEN>'
);
ATTACH 'sales' AS "lake" (
  TYPE iceberg,
  ENDPOINT 'https://polaris.example.com/api/catalog',
  SECRET "lake_token"
);
