-- DuckDB: catalog 'lake' of metalake 'demo', past Headgate.
-- For the shell of DuckDB, or any of its clients.
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- AWS keys are not written here: the engine finds its own, from its environment or its machine's role.
-- AWS_ACCOUNT_ID is the number of the account that Glue is in.
INSTALL httpfs;
LOAD httpfs;
INSTALL iceberg;
LOAD iceberg;
INSTALL aws;
LOAD aws;
CREATE SECRET "lake_storage" (
  TYPE s3,
  PROVIDER credential_chain,
  REGION 'us-east-1'
);
ATTACH '<AWS_ACCOUNT_ID>' AS "lake" (
  TYPE iceberg,
  ENDPOINT 'glue.us-east-1.amazonaws.com/iceberg',
  AUTHORIZATION_TYPE 'sigv4',
  SECRET "lake_storage"
);
