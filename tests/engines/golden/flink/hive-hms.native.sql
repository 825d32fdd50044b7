-- Flink: catalog 'lake' of metalake 'demo', past Headgate.
-- For the SQL client, or the init script that it is started with (sql-client.sh -i FILE).
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- Flink's Hive connector reads hive-site.xml from the folder that hive-conf-dir names. It has to hold:
--   hive.metastore.uris = thrift://127.0.0.1:9083,thrift://127.0.0.2:9083
CREATE CATALOG `lake` WITH (
  'type' = 'hive',
  'hive-conf-dir' = '/opt/hive-conf'
);
