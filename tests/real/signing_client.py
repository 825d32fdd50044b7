"""Run by the Python of an environment that has pyiceberg and s3fs: writes and reads a table whose requests are signed.

Arguments: the server's address, the warehouse, a token. Prints the rows, and what happens with another table's file.
"""

import json
import sys

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog


def main(uri: str, warehouse: str, token: str, foreign: str) -> None:
    delegation = {"header.X-Iceberg-Access-Delegation": "remote-signing"}
    catalog = RestCatalog("lake", uri=uri, warehouse=warehouse, token=token, **delegation)
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "region": ["EU", "a/b c%*", None]})
    table = catalog.create_table("s.signed", rows.schema)
    table.append(rows)
    table.append(rows.slice(0, 1))
    table.delete("id = 3")
    io = table.refresh().io
    read = catalog.load_table("s.signed").scan().to_arrow().to_pylist()
    try:
        with io.new_input(foreign).open() as stream:
            outcome = f"read {len(stream.read())} bytes"
    except Exception as error:
        outcome = f"refused: {type(error).__name__}"
    print(
        json.dumps({"rows": sorted(row["id"] for row in read), "io": type(io).__name__, "foreign": outcome})
    )


main(*sys.argv[1:])
