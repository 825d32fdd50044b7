-- Flink: catalog 'lake' of metalake 'demo', past Headgate.
-- For the SQL client, or the init script that it is started with (sql-client.sh -i FILE).
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- AWS keys are not written here: the engine finds its own, from its environment or its machine's role.
-- AWS's client of Glue for Hive has to be built for Flink's Hive version and put into its lib folder.
-- Flink's Hive connector reads hive-site.xml from the folder that hive-conf-dir names. It has to hold:
--   hive.metastore.client.factory.class = com.amazonaws.glue.catalog.metastore.AWSGlueDataCatalogHiveClientFactory
--   aws.region = us-east-1
CREATE CATALOG `lake` WITH (
  'type' = 'hive',
  'hive-conf-dir' = '/opt/hive-conf'
);
