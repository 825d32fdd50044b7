"""AWS Glue for tests: moto's server, with what it lacks: the lock by version, pages, folded names, and faults on demand."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.core.responses import ActionResult
from moto.glue import glue_backends, urls
from moto.glue.responses import GlueResponse
from moto.server import ThreadedMotoServer
from pyiceberg.catalog.glue import GlueCatalog

from headgate.catalogs.glue.catalog import glue_catalog
from headgate.catalogs.hive.metastore import MetastoreCatalog
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.store import Store
from tests.openings import opened

ACCOUNT = "123456789012"
REGION = "us-east-1"
PAGE = 3
"""Tables on one page."""

Properties = dict[str, str]


class Faults:
    """What the server answers instead, until it is told otherwise."""

    code = ""
    """An error of AWS's."""
    times = 0
    """How often; below zero for ever."""
    pause = 0.0
    """Seconds before any answer."""


class GlueAnswers(GlueResponse):
    """INVARIANT: refuses what the service refuses."""

    def _checked(self) -> None:
        time.sleep(Faults.pause)
        if Faults.code and Faults.times:
            Faults.times -= 1
            raise JsonRESTError(Faults.code, "user arn:aws:iam::123456789012:user/hidden may not")

    def _folded(self) -> dict[str, Any]:
        found: dict[str, Any] = self.parameters["TableInput"]
        found["Name"] = found["Name"].lower()
        return found

    def get_table(self) -> ActionResult:
        self._checked()
        self.parameters["Name"] = self.parameters["Name"].lower()
        return super().get_table()

    def create_table(self) -> ActionResult:
        self._checked()
        self._folded()
        return super().create_table()

    def update_table(self) -> ActionResult:
        self._checked()
        name = self._folded()["Name"]
        known = self.glue_backend.get_table(self.parameters["DatabaseName"], name)
        wanted = self.parameters.get("VersionId")
        if wanted is not None and wanted != str(known._current_version):
            raise JsonRESTError("ConcurrentModificationException", "the table was changed")
        return super().update_table()

    def get_tables(self) -> ActionResult:
        self._checked()
        every = super().get_tables().result["TableList"]
        start = int(self.parameters.get("NextToken") or 0)
        more = {"NextToken": str(start + PAGE)} if start + PAGE < len(every) else {}
        return ActionResult({"TableList": every[start : start + PAGE], **more})

    def get_databases(self) -> ActionResult:
        self._checked()
        return super().get_databases()


def backend() -> Any:
    return glue_backends[ACCOUNT][REGION]


@contextmanager
def glue_server() -> Iterator[str]:
    """The address of a Glue that holds nothing."""
    urls.url_paths.update(dict.fromkeys(urls.url_paths, GlueAnswers.dispatch))
    backend().reset()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        Faults.code, Faults.times, Faults.pause = "", 0, 0.0
        server.stop()


def properties(kind: str, url: str, folder: Any) -> Properties:
    """What a catalog of each kind is declared with."""
    more = {"warehouse": f"file://{folder}/tables", "aws-glue-endpoint": url}
    if kind == "both":
        return {"aws-region": REGION, "aws-access-key-id": "k", "aws-secret-access-key": "hidden", **more}
    named = {"metastore-type": "glue"} if kind == "hive" else {"catalog-backend": "glue"}
    return {"s3-region": REGION, "s3-access-key-id": "k", "s3-secret-access-key": "hidden", **named, **more}


def opened_catalog(
    kind: str, store: Store, declared: Properties, folder: Any
) -> PointerCatalog | MetastoreCatalog:
    return glue_catalog(kind, store, "aws", "lake/aws", declared, opened(folder), None)


def pyiceberg_catalog(url: str, folder: Any) -> GlueCatalog:
    """A second writer of the same Glue."""
    return GlueCatalog(
        "theirs",
        **{
            "glue.endpoint": url,
            "glue.region": REGION,
            "glue.access-key-id": "k",
            "glue.secret-access-key": "hidden",
            "warehouse": f"file://{folder}/tables",
        },
    )
