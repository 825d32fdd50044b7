"""Catalogs over a real Hive Metastore, and other clients of it."""

from pathlib import Path
from typing import Any

from pymetastore.hive_metastore import ThriftHiveMetastore
from pymetastore.hive_metastore import ttypes as hive
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

from headgate.catalogs.hive.metastore import MetastoreCatalog
from headgate.catalogs.hive_metastore.catalog import hive_catalog
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.store import Store
from tests.openings import opened

Properties = dict[str, str]

SCHEMAS = ("s", "r")
"""What tests make."""


def properties(port: int, folder: Path) -> Properties:
    """What a catalog is declared with."""
    return {"metastore.uris": f"thrift://127.0.0.1:{port}", "warehouse": f"file://{folder}/tables"}


def opened_catalog(
    kind: str, store: Store, declared: Properties, folder: Path
) -> PointerCatalog | MetastoreCatalog:
    return hive_catalog(kind, store, "hms", "lake/hms", declared, opened(folder), None)


class Thrift:
    """A client of somebody else's. No generator: Thrift's exceptions take no traceback."""

    def __init__(self, port: int) -> None:
        self.transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", port))

    def __enter__(self) -> Any:
        self.transport.open()
        return ThriftHiveMetastore.Client(TBinaryProtocol(self.transport))

    def __exit__(self, *_: object) -> None:
        self.transport.close()


def emptied(port: int) -> None:
    """Drop what tests made."""
    with Thrift(port) as client:
        there = client.get_all_databases()
        for name in SCHEMAS:
            if name in there:
                client.drop_database(name, False, True)


def raw(port: int, database: str, name: str) -> Any:
    """A table as the metastore has it."""
    with Thrift(port) as client:
        return client.get_table_req(hive.GetTableRequest(dbName=database, tblName=name)).table


def beside(port: int, name: str, location: str | None, database: str = "s", **more: Any) -> None:
    """A table that somebody else makes at a place of their choice."""
    stored = hive.StorageDescriptor(
        cols=[hive.FieldSchema("a", "int")],
        location=location,
        inputFormat="x",
        outputFormat="x",
        serdeInfo=hive.SerDeInfo(name=name, serializationLib="x", parameters={}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
    usual = {"tableType": "EXTERNAL_TABLE", "parameters": {"EXTERNAL": "TRUE"}, "partitionKeys": []}
    entry = {**usual, "sd": stored, **more}
    with Thrift(port) as client:
        client.create_table(hive.Table(dbName=database, tableName=name, **entry))
