"""Run in a process of its own, which has Spark with S3 jars: reads a table through the signers of plans that the server made.

Arguments: the server's address, the warehouse, a token, a file that is of the table and not of the plan. Prints as JSON what was read, and
what Iceberg's library does with a file of a plan and with another one, through the plan's own access and through the table's.
"""

import json
import os
import sys
from typing import Any

from pyspark.sql import SparkSession

from headgate.pipelines.needs import AWS, RUNTIME

WAYS = {"either": "vended-credentials,remote-signing", "signing": "remote-signing"}


def main(uri: str, warehouse: str, token: str, outside: str) -> None:
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", f"{RUNTIME},{AWS}")
        .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1500m")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
    )
    for name, delegation in WAYS.items():
        catalog = f"spark.sql.catalog.{name}"
        builder = (
            builder.config(catalog, "org.apache.iceberg.spark.SparkCatalog")
            .config(f"{catalog}.type", "rest")
            .config(f"{catalog}.uri", uri)
            .config(f"{catalog}.warehouse", warehouse)
            .config(f"{catalog}.token", token)
            .config(f"{catalog}.cache-enabled", "false")
            .config(f"{catalog}.scan-planning-mode", "server")
            .config(f"{catalog}.header.X-Iceberg-Access-Delegation", delegation)
        )
    spark = builder.getOrCreate()
    try:
        found = {name: of(spark, name, outside) for name in WAYS}
    finally:
        spark.stop()
    print("FOUND " + json.dumps(found), flush=True)
    # py4j's threads would keep the process.
    os._exit(0)


def of(spark: SparkSession, name: str, outside: str) -> dict[str, Any]:
    rows = spark.sql(f"SELECT id FROM {name}.s.wide WHERE region < 'region-25'").collect()
    jvm: Any = spark._jvm
    expressions = jvm.org.apache.iceberg.expressions.Expressions
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, f"{name}.s.wide")
    scan = table.newScan().filter(expressions.lessThan("region", "region-25"))
    planned = scan.planFiles().iterator()
    tasks = []
    while planned.hasNext():
        tasks.append(planned.next())
    io = scan.fileIO().get()
    [credential] = list(io.credentials())
    config = dict(credential.config())
    return {
        "rows": sorted(row[0] for row in rows),
        "files": len(tasks),
        "signer": config.get("s3.signer.endpoint"),
        "secrets": [key for key in config if "secret" in key or "session-token" in key],
        "planned": read(io, tasks[0].file().location()),
        # In this order: a signature that was made for a request is used again for the same one.
        "outside": read(io, outside),
        "table": read(table.io(), outside),
    }


def read(io: Any, file: str) -> str:
    try:
        stream = io.newInputFile(file).newStream()
        try:
            return f"read {stream.read()}"
        finally:
            stream.close()
    except Exception as error:
        return f"refused: {str(error)[:600]}"


main(*sys.argv[1:])
