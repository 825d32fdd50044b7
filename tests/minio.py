"""A real MinIO for tests: built by Go, started on loopback in a folder of its own, and gone afterwards.

`minio` gives the running server. Its STS assumes any role and enforces the session policy, as AWS does.
"""

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.peers import SHARED_CACHE, Missing, Peer, lacking, program, run, whole
from tests.postgres import free_port

_MODULE: Final = "github.com/minio/minio"
_VERSION: Final = "v0.0.0-20260212201848-7aac2a2c5b7c"


def _build(place: Path) -> None:
    go = program("go", "install Go 1.24 or later")

    def make(made: Path) -> None:
        run([go, "install", f"{_MODULE}@{_VERSION}"], timeout=1500, GOBIN=str(made.parent))
        (made.parent / "minio").rename(made)

    whole(place, make)


PEER: Final = Peer("MinIO", SHARED_CACHE / f"minio-{_VERSION}", _build)


class Minio:
    """A running server and the keys of its owner."""

    region = "us-east-1"
    role = "arn:aws:iam::000000000000:role/any"

    def __init__(self, address: str, key_id: str, secret_key: str) -> None:
        self.url = f"http://{address}"
        self.key_id = key_id
        self.secret_key = secret_key

    def client(self, service: str = "s3", **keys: str) -> Any:
        """A client of the owner, or of whoever the keys belong to."""
        known = {"aws_access_key_id": self.key_id, "aws_secret_access_key": self.secret_key}
        once = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
        return boto3.client(
            service, endpoint_url=self.url, region_name=self.region, config=once, **(keys or known)
        )

    def bucket(self) -> str:
        """A new, empty bucket."""
        name = f"t{secrets.token_hex(8)}"
        deadline = time.monotonic() + 180
        while True:
            try:
                self.client().create_bucket(Bucket=name)
            except ClientError as error:
                # It says that it is ready a little before it is.
                if "NotInitialized" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return name

    def properties(self, **more: str) -> dict[str, str]:
        """What a catalog says to use this server and to give out access to it."""
        return {
            "s3-endpoint": self.url,
            "s3-region": self.region,
            "s3-access-key-id": self.key_id,
            "s3-secret-access-key": self.secret_key,
            "s3-path-style-access": "true",
            "s3-role-arn": self.role,
            **more,
        }


@contextmanager
def running() -> Iterator[Minio]:
    server = PEER.found()
    folder = Path(tempfile.mkdtemp(prefix="headgate-minio-"))
    address, owner = f"127.0.0.1:{free_port()}", ("owner", secrets.token_hex(16))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(server), "server", "--quiet", "--address", address, str(folder / "data")],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "MINIO_ROOT_USER": owner[0],
                "MINIO_ROOT_PASSWORD": owner[1],
                "MINIO_BROWSER": "off",
                "MINIO_UPDATE": "off",
            },
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + 180
        while True:
            try:
                if httpx.get(f"http://{address}/minio/health/ready", timeout=5).status_code == 200:
                    break
            except httpx.HTTPError:
                pass
            if process.poll() is not None or time.monotonic() > deadline:
                raise Missing(f"MinIO does not start: {(folder / 'log').read_text()[-300:]}")
            time.sleep(0.05)
        yield Minio(address, *owner)
    finally:
        process.terminate()
        process.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def minio() -> Iterator[Minio]:
    server = running()
    try:
        started = server.__enter__()
    except Missing as reason:
        lacking("MinIO", reason)
        return
    yield started
    server.__exit__(None, None, None)
