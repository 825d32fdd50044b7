"""Run in a process of its own, which has Spark with S3 jars: works with tables on S3 with the access that the catalog gives.

Arguments: the server's address, the warehouse, a token. Prints what was read as JSON.
"""

import json
import os
import sys

from pyspark.sql import SparkSession

PACKAGES = ",".join(
    (
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        "org.apache.iceberg:iceberg-aws-bundle:1.12.0",
    )
)


def main(uri: str, warehouse: str, token: str) -> None:
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", PACKAGES)
        .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1500m")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
    )
    ways = {
        "vended": ("vended-credentials", "client"),
        "planned": ("vended-credentials", "server"),
        "signed": ("remote-signing", "client"),
        "bare": ("none", "client"),
    }
    for name, (delegation, mode) in ways.items():
        catalog = f"spark.sql.catalog.{name}"
        builder = (
            builder.config(catalog, "org.apache.iceberg.spark.SparkCatalog")
            .config(f"{catalog}.type", "rest")
            .config(f"{catalog}.uri", uri)
            .config(f"{catalog}.warehouse", warehouse)
            .config(f"{catalog}.token", token)
            .config(f"{catalog}.cache-enabled", "false")
            .config(f"{catalog}.scan-planning-mode", mode)
            .config(f"{catalog}.header.X-Iceberg-Access-Delegation", delegation)
        )
    spark = builder.getOrCreate()
    found: dict[str, object] = {}

    def rows(query: str) -> list[int]:
        return sorted(row[0] for row in spark.sql(query).collect())

    try:
        spark.sql(
            "CREATE TABLE vended.s.v USING iceberg PARTITIONED BY (p) AS "
            "SELECT id, concat('a b/%*', id % 3) AS p FROM range(10)"
        )
        spark.sql("INSERT INTO vended.s.v VALUES (100, 'x')")
        spark.sql("DELETE FROM vended.s.v WHERE id < 5")
        found["vended"] = rows("SELECT id FROM vended.s.v")
        found["planned"] = rows("SELECT id FROM planned.s.v")
        spark.sql("CREATE TABLE signed.s.g (id BIGINT, p STRING) USING iceberg PARTITIONED BY (p)")
        spark.sql("INSERT INTO signed.s.g SELECT id, concat('a b/%*', id % 3) FROM range(10)")
        spark.sql("DELETE FROM signed.s.g WHERE id < 5")
        found["signed"] = rows("SELECT id FROM signed.s.g")
        spark.sql(
            "CALL signed.system.expire_snapshots(table => 's.g', older_than => TIMESTAMP '2100-01-01 00:00:00')"
        )
        found["expired"] = rows("SELECT id FROM signed.s.g")
        try:
            found["bare"] = rows("SELECT id FROM bare.s.v")
        except Exception as error:
            found["bare"] = f"refused: {type(error).__name__}"
    finally:
        spark.stop()
    print("FOUND " + json.dumps(found), flush=True)
    # py4j's threads would keep the process.
    os._exit(0)


main(*sys.argv[1:])
