-- Trino: catalog 'lake' of metalake 'demo', through Headgate.
-- For a Trino with catalog.management=dynamic; run it as one who may create catalogs.
-- The token is read from the variable HEADGATE_TOKEN of every node. 'headgate token create --user NAME' makes one.
-- Whoever uses this catalog reads as the user whom the token belongs to.
-- The catalog names no storage: it is in the server's own warehouse. These settings are for a local folder, where the
-- engine runs as the server's user. If the warehouse is in S3, set s3-region on the catalog and ask again.
CREATE CATALOG "lake" USING iceberg WITH (
  "iceberg.catalog.type" = 'rest',
  "iceberg.rest-catalog.uri" = 'https://headgate.example.com/iceberg',
  "iceberg.rest-catalog.warehouse" = 'demo.lake',
  "iceberg.rest-catalog.security" = 'OAUTH2',
  "iceberg.rest-catalog.oauth2.token" = '${ENV:HEADGATE_TOKEN}',
  "fs.hadoop.enabled" = 'true'
);
