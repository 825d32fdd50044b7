-- Trino: catalog 'lake' of metalake 'demo', through Headgate.
-- For a Trino with catalog.management=dynamic; run it as one who may create catalogs.
-- The token is read from the variable HEADGATE_TOKEN of every node. 'headgate token create --user NAME' makes one.
-- Whoever uses this catalog reads as the user whom the token belongs to.
-- Storage credentials come with each table (vended-credentials) where the catalog has a role to assume. Where it has
-- none, the engine uses AWS keys of its own, with which it can read the files past every policy.
CREATE CATALOG "lake" USING iceberg WITH (
  "iceberg.catalog.type" = 'rest',
  "iceberg.rest-catalog.uri" = 'https://headgate.example.com/iceberg',
  "iceberg.rest-catalog.warehouse" = 'demo.lake',
  "iceberg.rest-catalog.security" = 'OAUTH2',
  "iceberg.rest-catalog.oauth2.token" = '${ENV:HEADGATE_TOKEN}',
  "iceberg.rest-catalog.vended-credentials-enabled" = 'true',
  "fs.native-s3.enabled" = 'true',
  "s3.region" = 'us-east-1'
);
