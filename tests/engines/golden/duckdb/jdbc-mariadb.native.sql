-- DuckDB: catalog 'lake' of metalake 'demo', past Headgate.
-- For the shell of DuckDB, or any of its clients.
-- WARNING: Headgate's policies do not hold on this way. Who uses these settings sees what the system behind the
-- catalog and its storage let them see: no grant, row filter or mask of Headgate applies, and nothing of it is
-- audited.
-- Replace what stands in <>.
INSTALL mysql;
LOAD mysql;
ATTACH 'host=db.example.com port=3306 user=reader password=<JDBC_PASSWORD>' AS "lake" (
  TYPE mysql,
  READ_ONLY
);
