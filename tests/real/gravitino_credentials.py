"""Ask for credentials with Gravitino's client; runs in the client's environment.

``python gravitino_credentials.py URL BUCKET PROPERTIES`` makes a fileset catalog with these properties (JSON) and two
filesets in the bucket, and prints the credentials of one of them and of their catalog. First it tries `s3-secret-key`.
"""

import json
import os
import sys
from typing import Any

from gravitino import GravitinoAdminClient, GravitinoClient, NameIdentifier
from gravitino.api.catalog import Catalog
from gravitino.api.file.fileset import Fileset
from gravitino.auth.simple_auth_provider import SimpleAuthProvider
from gravitino.exceptions.base import IllegalArgumentException

os.environ["GRAVITINO_USER"] = "admin"
LOGIN: dict[str, Any] = {"uri": sys.argv[1], "auth_data_provider": SimpleAuthProvider()}
BUCKET, PROPERTIES = sys.argv[2], json.loads(sys.argv[3])


def shown(credentials: list[Any]) -> list[Any]:
    return [[c.credential_type(), c.expire_time_in_ms(), c.credential_info()] for c in credentials]


def main() -> None:
    GravitinoAdminClient(**LOGIN).create_metalake("lake", "the lake", {})
    client = GravitinoClient(metalake_name="lake", **LOGIN)
    static = {**PROPERTIES, "credential-providers": "s3-secret-key"}
    try:
        client.create_catalog("static", Catalog.Type.FILESET, "fileset", "", static)
    except IllegalArgumentException as error:
        print(json.dumps(["static", str(error)]))
    token = {**PROPERTIES, "credential-providers": "s3-token", "location": f"s3://{BUCKET}/files"}
    files = client.create_catalog("files", Catalog.Type.FILESET, "fileset", "", token)
    files.as_schemas().create_schema("s", "", {})
    for name in ("f", "g"):
        files.as_fileset_catalog().create_fileset(
            NameIdentifier.of("s", name), "", Fileset.Type.MANAGED, None, {}
        )
    fileset = files.as_fileset_catalog().load_fileset(NameIdentifier.of("s", "f"))
    print(json.dumps(["fileset", shown(fileset.support_credentials().get_credentials())]))
    print(json.dumps(["catalog", shown(files.support_credentials().get_credentials())]))


main()
