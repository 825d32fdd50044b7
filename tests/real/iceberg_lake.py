"""A real server with one Iceberg catalog and an owner's token, for unmodified clients."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.openings import LOOPBACK
from tests.real.server import RunningServer, headgate, running


class IcebergLake:
    """The catalog `lake.cat` with the namespace `s`."""

    def __init__(self, server: RunningServer, home: Path) -> None:
        self.server = server
        self.home = home
        self.token = self.token_of("admin")
        self.uri = f"{server.url}/iceberg"
        self.warehouse = "lake.cat"

    def token_of(self, user: str) -> str:
        made = headgate("token", "create", "--home", str(self.home), "--user", user)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    def ask(self, method: str, path: str, json: Any = None) -> Any:
        """A request of the owner's to the Iceberg door."""
        return self.server.ask(self.token, method, f"/iceberg/v1/lake.cat{path}", json)

    def plans(self, table: str) -> int:
        """How many scans of a table were planned or fetched here so far."""
        query = f"/api/headgate/audit?metalake=lake&action=read_table&object=cat.s.{table}&limit=1000"
        return len(self.server.must(self.token, "GET", query)["events"])


@contextmanager
def iceberg_lake(
    home: Path,
    properties: dict[str, str] | None = None,
    *,
    flags: tuple[str, ...] = (),
    places: tuple[str | Path, ...] = (),
) -> Iterator[IcebergLake]:
    """A server with one catalog; what the catalog names, and `places` besides, is opened."""
    named = (properties or {}).get("warehouse", "")
    opened = ",".join(map(str, (home, *places, *([named] if named else []))))
    usual = ("--service-admins", "admin", "--warehouse", str(home / "warehouse"))
    usual = (*usual, "--places", opened, "--hosts", ",".join(LOOPBACK))
    with running(home, *usual, *flags) as server:
        lake = IcebergLake(server, home)
        server.must(lake.token, "POST", "/api/metalakes", {"name": "lake"})
        catalog = {
            "name": "cat",
            "type": "relational",
            "provider": "lakehouse-iceberg",
            "properties": properties or {},
        }
        server.must(lake.token, "POST", "/api/metalakes/lake/catalogs", catalog)
        assert lake.ask("POST", "/namespaces", {"namespace": ["s"]}).status_code == 200
        yield lake
