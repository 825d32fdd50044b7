"""Apache Iceberg's own test classes and fixture server, resolved once by Maven and kept."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests import maven
from tests.peers import Missing, lacking
from tests.postgres import free_port

POM = Path(__file__).parents[1] / "rck" / "pom.xml"


def jars() -> Path:
    """The folder with the kit's jars."""
    try:
        return maven.jars(POM)
    except Missing as reason:
        lacking("Iceberg's compatibility kit", reason)
        raise


def compatibility(uri: str, **properties: str) -> subprocess.CompletedProcess[str]:
    """Run the kit against a server; the properties go to its client."""
    given = {"rck.local": "false", "uri": uri, **properties}
    command = [
        maven.java(),
        *(f"-D{key}={value}" for key, value in given.items()),
        "-cp",
        f"{jars()}/*",
        "org.junit.platform.console.ConsoleLauncher",
        "execute",
        "--select-class=org.apache.iceberg.rest.RESTCompatibilityKitCatalogTests",
        "--select-class=org.apache.iceberg.rest.RESTCompatibilityKitViewCatalogTests",
        "--details=summary",
        "--disable-banner",
        "--disable-ansi-colors",
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


@contextmanager
def fixture_server(folder: Path) -> Iterator[str]:
    """Apache's own REST catalog server, on a port of its own; its address."""
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "CATALOG_REST_PORT": str(port),
        "CATALOG_WAREHOUSE": f"file://{folder}/warehouse",
        "CATALOG_URI": f"jdbc:sqlite:{folder}/catalog.db",
        "CATALOG_JDBC_USER": "user",
        "CATALOG_JDBC_PASSWORD": "password",
        "CATALOG_CATALOG__IMPL": "org.apache.iceberg.jdbc.JdbcCatalog",
        "CATALOG_JDBC_SCHEMA__VERSION": "V1",
    }
    command = [maven.java(), "-Xmx512m", "-cp", f"{jars()}/*", "org.apache.iceberg.rest.RESTCatalogServer"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url, process, folder / "log")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/v1/config", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    raise AssertionError(f"the fixture server did not start: {log.read_text()[-2000:]}")
