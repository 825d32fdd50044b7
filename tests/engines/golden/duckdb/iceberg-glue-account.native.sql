-- DuckDB: catalog 'lake' of metalake 'demo', past Headgate.
-- For the shell of DuckDB, or any of its clients.
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
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
  CHAIN 'sts',
  ASSUME_ROLE_ARN 'arn:aws:iam::123456789012:role/reader',
  EXTERNAL_ID 'external-1',
  REGION 'eu-west-1'
);
ATTACH '123456789012' AS "lake" (
  TYPE iceberg,
  ENDPOINT 'vpce-1.glue.eu-west-1.vpce.amazonaws.com/iceberg',
  AUTHORIZATION_TYPE 'sigv4',
  SECRET "lake_storage"
);
