-- Flink: catalog 'lake' of metalake 'demo', past Headgate.
-- For the SQL client, or the init script that it is started with (sql-client.sh -i FILE).
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- The jars of flink-connector-jdbc and of the driver lie in Flink's lib folder.
-- Replace what stands in <>; let nobody else read the file.
CREATE CATALOG `lake` WITH (
  'type' = 'jdbc',
  'base-url' = 'jdbc:mysql://db.example.com:3306',
  'default-database' = '<DATABASE>',
  'username' = 'reader',
  'password' = '<JDBC_PASSWORD>'
);
