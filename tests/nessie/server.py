"""Starts Nessie and its storage, and gives what a catalog needs to federate it as the fixture `nessie`."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import httpx
import pytest

from tests.maven import jars
from tests.peers import Missing, lacking
from tests.postgres import free_port

_POM = Path(__file__).parent / "pom.xml"
_NEEDS = 21


@contextmanager
def running() -> Iterator[dict[str, str]]:
    """Nessie on loopback with one warehouse; gives the properties of a catalog that federates it."""
    java, folder = _java(), Path(tempfile.mkdtemp(prefix="headgate-nessie-"))
    jar = next(jars(_POM).glob("*.jar"))
    port, management = free_port(), free_port()
    with _storage() as storage, (folder / "log").open("wb") as log:
        s3 = "nessie.catalog.service.s3.default-options"
        settings = {
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": port,
            "quarkus.management.host": "127.0.0.1",
            "quarkus.management.port": management,
            "quarkus.otel.sdk.disabled": "true",
            "nessie.version.store.type": "IN_MEMORY",
            "nessie.catalog.default-warehouse": "lake",
            "nessie.catalog.warehouses.lake.location": "s3://nessie/lake",
            f"{s3}.endpoint": storage["s3-endpoint"],
            f"{s3}.region": storage["s3-region"],
            f"{s3}.path-style-access": "true",
            f"{s3}.access-key": "urn:nessie-secret:quarkus:headgate.s3",
            "headgate.s3.name": storage["s3-access-key-id"],
            "headgate.s3.secret": storage["s3-secret-access-key"],
        }
        given = [f"-D{name}={value}" for name, value in settings.items()]
        process = subprocess.Popen(
            [java, "-Xmx512m", *given, "-jar", jar], cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            uri = f"http://127.0.0.1:{port}/iceberg"
            _wait(uri, process, folder / "log")
            yield {"uri": uri, "warehouse": "lake", **storage}
        finally:
            process.terminate()
            process.wait(30)
            shutil.rmtree(folder)


@pytest.fixture(scope="module")
def nessie() -> Iterator[dict[str, str]]:
    """Skipped with a line that says so where there is no Java for it, a failure where everything must run."""
    try:
        with running() as properties:
            yield properties
    except Missing as reason:
        lacking("Nessie", reason)


@contextmanager
def _storage() -> Iterator[dict[str, str]]:
    """An S3 with an empty bucket, in a catalog's words."""
    # Every test imports this module and few need a server of moto's.
    from moto.server import ThreadedMotoServer

    port = free_port()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    try:
        endpoint, region, id, secret = f"http://127.0.0.1:{port}", "us-east-1", "id", "not-to-be-told"
        client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name=region,
            aws_access_key_id=id,
            aws_secret_access_key=secret,
        )
        client.create_bucket(Bucket="nessie")
        client.close()
        yield {
            "s3-endpoint": endpoint,
            "s3-region": region,
            "s3-access-key-id": id,
            "s3-secret-access-key": secret,
            "s3-path-style-access": "true",
        }
    finally:
        server.stop()


def _java() -> str:
    """A Java that is new enough, which need not be the one that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    candidates = [
        *([Path(home) / "bin" / "java"] if home else []),
        *([Path(found)] if (found := shutil.which("java")) else []),
        *sorted(Path("/usr/lib/jvm").glob("*/bin/java")),
    ]
    for java in candidates:
        if java.exists() and _version(java) >= _NEEDS:
            return str(java)
    raise Missing(f"no Java {_NEEDS} or later: install one")


def _version(java: Path) -> int:
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else 0


def _wait(uri: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{uri}/v1/config", timeout=30).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    raise AssertionError(f"Nessie did not start: {log.read_text()[-2000:]}")
