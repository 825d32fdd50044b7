"""Unmodified Spark as a client of a real server, with the same catalog twice: `own` plans by itself, `srv` lets the server plan."""

from typing import Any

import pytest

from tests.real.iceberg_lake import IcebergLake

MARKS = [
    pytest.mark.real,
    pytest.mark.spark,
    pytest.mark.slow,
    # py4j leaves its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class SparkClient:
    """A session of its own in the one Spark of the suite, with Spark's own defaults where the suite has others."""

    def __init__(self, shared: Any, lake: IcebergLake) -> None:
        self.lake = lake
        self.session = shared.newSession()
        self.session.conf.set("spark.sql.caseSensitive", "false")
        for name, mode in (("own", "client"), ("srv", "server")):
            self.attach(name, lake.token, mode)

    def attach(self, name: str, token: str, mode: str | None) -> None:
        """One more catalog for whoever holds the token; without a mode the server says who plans."""
        settings = {
            "type": "rest",
            "uri": self.lake.uri,
            "warehouse": self.lake.warehouse,
            "token": token,
            "cache-enabled": "false",
            **({} if mode is None else {"scan-planning-mode": mode}),
        }
        catalog = f"spark.sql.catalog.{name}"
        self.session.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
        for key, value in settings.items():
            self.session.conf.set(f"{catalog}.{key}", value)

    def sql(self, statement: str) -> Any:
        return self.session.sql(statement)

    def rows(self, statement: str) -> list[Any]:
        """The rows of a query, in one order whoever planned it."""
        return sorted(map(tuple, self.sql(statement).collect()), key=repr)

    def same(self, query: str, table: str = "t") -> list[Any]:
        """The rows of a query on `{t}` read both ways, which must be the same rows; the server's plans are counted."""
        own = self.rows(query.format(t=f"own.s.{table}"))
        before = self.lake.plans(table)
        srv = self.rows(query.format(t=f"srv.s.{table}"))
        assert self.lake.plans(table) > before, "the server planned"
        assert own == srv
        return own

    def delete_by_equality(self, name: str, id: int) -> None:
        """As a streaming writer would: Iceberg's own writer of equality deletes, on the column `id`."""
        jvm, gateway = self.session._jvm, self.session.sparkContext._gateway
        table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self.session._jsparkSession, name)
        columns = gateway.new_array(jvm.java.lang.String, 1)
        columns[0] = "id"
        schema = table.schema().select(columns)
        ids = gateway.new_array(jvm.int, 1)
        ids[0] = table.schema().findField("id").fieldId()
        factory = (
            getattr(jvm.org.apache.iceberg.data, "GenericFileWriterFactory$Builder")(table)
            .deleteFileFormat(jvm.org.apache.iceberg.FileFormat.PARQUET)
            .equalityFieldIds(ids)
            .equalityDeleteRowSchema(schema)
            .build()
        )
        path = f"{table.location()}/data/equality-{id}.parquet"
        out = jvm.org.apache.iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(
            table.io().newOutputFile(path)
        )
        writer = factory.newEqualityDeleteWriter(out, table.spec(), None)
        record = jvm.org.apache.iceberg.data.GenericRecord.create(schema)
        record.setField("id", id)
        writer.write(record)
        writer.close()
        table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
