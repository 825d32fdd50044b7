"""The same question as somebody, in Spark, pyiceberg and DuckDB: each as it comes, told nothing but where and a token."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from pyiceberg.catalog.rest import RestCatalog

from examples.retail.lakehouse import WAREHOUSE
from headgate.pipelines.needs import RUNTIME

Rows = list[dict[str, Any]]


class Answer(msgspec.Struct, frozen=True):
    """What an engine shows of a table: how many rows, and the first of them."""

    count: int
    first: Rows


class Engines:
    """All engines, against one server."""

    def __init__(self, url: str) -> None:
        self.url = f"{url}/iceberg"
        self._spark: Any = None
        self.all: Final[dict[str, Callable[[str, str, str], Answer]]] = {
            "Spark": self.spark,
            "pyiceberg": self.pyiceberg,
            "DuckDB": self.duckdb,
        }

    def catalog(self, token: str) -> RestCatalog:
        return RestCatalog("shop", uri=self.url, warehouse=WAREHOUSE, token=token)

    def pyiceberg(self, user: str, token: str, table: str) -> Answer:
        rows = self.catalog(token).load_table(f"retail.{table}").scan().to_arrow().to_pylist()
        return Answer(len(rows), sorted(rows, key=lambda row: row["id"])[:3])

    def spark(self, user: str, token: str, table: str) -> Answer:
        spark = self._session()
        name = f"spark.sql.catalog.{user}"
        for key, value in {
            name: "org.apache.iceberg.spark.SparkCatalog",
            f"{name}.type": "rest",
            f"{name}.uri": self.url,
            f"{name}.warehouse": WAREHOUSE,
            f"{name}.token": token,
        }.items():
            spark.conf.set(key, value)
        whole = f"{user}.retail.{table}"
        first = spark.sql(f"SELECT * FROM {whole} ORDER BY id LIMIT 3").collect()
        count = spark.sql(f"SELECT count(*) FROM {whole}").collect()[0][0]
        return Answer(int(count), [row.asDict() for row in first])

    def duckdb(self, user: str, token: str, table: str) -> Answer:
        import duckdb
        import duckdb_extension_avro
        import duckdb_extension_httpfs
        import duckdb_extension_iceberg

        database = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        for module in (duckdb_extension_httpfs, duckdb_extension_avro, duckdb_extension_iceberg):
            extension = next(Path(str(module.__file__)).parent.glob("extensions/*/*.duckdb_extension"))
            database.execute(f"LOAD '{extension}'")
        database.execute(f"CREATE SECRET (TYPE iceberg, TOKEN '{token}')")
        database.execute(
            f"ATTACH '{WAREHOUSE}' AS shop (TYPE iceberg, ENDPOINT '{self.url}', ACCESS_DELEGATION_MODE 'none')"
        )
        found = database.execute(f"SELECT * FROM shop.retail.{table} ORDER BY id LIMIT 3")
        names = [column[0] for column in found.description]
        first = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        count = database.execute(f"SELECT count(*) FROM shop.retail.{table}").fetchall()[0][0]
        return Answer(int(count), first)

    def close(self) -> None:
        if self._spark is not None:
            self._spark.stop()

    def _session(self) -> Any:
        if self._spark is None:
            from pyspark.sql import SparkSession

            warnings.filterwarnings("ignore")
            builder: Any = SparkSession.builder.master("local[2]").appName("retail")
            for key, value in {
                "spark.ui.enabled": "false",
                "spark.ui.showConsoleProgress": "false",
                "spark.jars.packages": RUNTIME,
                "spark.sql.session.timeZone": "UTC",
            }.items():
                builder = builder.config(key, value)
            self._spark = builder.getOrCreate()
            self._spark.sparkContext.setLogLevel("OFF")
        return self._spark
