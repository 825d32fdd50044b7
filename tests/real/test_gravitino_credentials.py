"""Gravitino's own unmodified client is given credentials that reach one fileset of a real MinIO and nothing else."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.minio import Minio
from tests.openings import LOOPBACK
from tests.real.server import running

pytestmark = [pytest.mark.real, pytest.mark.slow]


def test_the_client_reaches_its_fileset_with_what_it_is_given(
    gravitino_python: Path, minio: Minio, tmp_path: Path
) -> None:
    bucket = minio.bucket()
    opened = ("--places", f"{tmp_path},s3://{bucket}", "--hosts", ",".join(LOOPBACK))
    with running(tmp_path / "home", "--dev", *opened) as server:
        script = Path(__file__).with_name("gravitino_credentials.py")
        ran = subprocess.run(
            [gravitino_python, script, server.url, bucket, json.dumps(minio.properties())],
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            timeout=200,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]
    told = dict(json.loads(line) for line in ran.stdout.splitlines() if line.startswith("["))
    assert "opens all of its storage" in told["static"]
    assert told["catalog"] == []
    [(kind, expires, info)] = told["fileset"]
    assert kind == "s3-token"
    assert expires > 0
    s3 = minio.client(
        aws_access_key_id=info["s3-access-key-id"],
        aws_secret_access_key=info["s3-secret-access-key"],
        aws_session_token=info["s3-session-token"],
    )
    s3.put_object(Bucket=bucket, Key="files/s/f/x", Body=b"x")
    assert [found["Key"] for found in s3.list_objects_v2(Bucket=bucket, Prefix="files/s/f/")["Contents"]] == [
        "files/s/f/x"
    ]
    for key in ("files/s/g/x", "files/s/x", "x"):
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.put_object(Bucket=bucket, Key=key, Body=b"x")
