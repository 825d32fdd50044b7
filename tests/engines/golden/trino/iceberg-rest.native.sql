-- Trino: catalog 'lake' of metalake 'demo', past Headgate.
-- For a Trino with catalog.management=dynamic; run it as one who may create catalogs.
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- AWS keys are not written here: the engine finds its own, from its environment or its machine's role.
-- REST_TOKEN is a token of the other catalog's; leave out the last two settings where it asks for none.
CREATE CATALOG "lake" USING iceberg WITH (
  "iceberg.catalog.type" = 'rest',
  "iceberg.rest-catalog.uri" = 'https://polaris.example.com/api/catalog',
  "iceberg.rest-catalog.warehouse" = 'sales',
  "iceberg.rest-catalog.security" = 'OAUTH2',
  "iceberg.rest-catalog.oauth2.token" = '${ENV:REST_TOKEN}',
  "fs.native-s3.enabled" = 'true',
  "s3.region" = 'eu-central-1'
);
