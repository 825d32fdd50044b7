"""Access logs as object stores write them: S3 server access logs and MinIO's audit log."""

import datetime as dt
import json
from typing import Any

ROLE = "arn:aws:sts::123456789012:assumed-role/lake-reader"
OWNER = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"


def s3_line(
    at: dt.datetime,
    session: str | None,
    key: str,
    *,
    bucket: str = "lake",
    operation: str = "REST.GET.OBJECT",
    status: int | str = 206,
    sent: int | str = 1000,
    agent: str = "aws-sdk-java/2.44.4",
    requester: str | None = None,
) -> str:
    """A line as S3 writes it; without a session the requester is nobody."""
    who = requester or (f"{ROLE}/{session}" if session else "-")
    return (
        f"{OWNER} {bucket} [{at:%d/%b/%Y:%H:%M:%S} +0000] 192.0.2.3 {who} 3E57427F3EXAMPLE {operation} {key} "
        f'"GET /{bucket}/{key}?x-id=GetObject HTTP/1.1" {status} - {sent} 4406583 41 28 "-" "{agent}" - '
        "Bv4YqCmZ6lrEXAMPLE= SigV4 TLS_AES_128_GCM_SHA256 AuthHeader lake.s3.eu-west-1.amazonaws.com TLSv1.3 - -"
    )


def minio_line(at: dt.datetime, access_key: str, key: str, *, parent: str = "", **api: Any) -> str:
    """A line of MinIO's audit log."""
    record = {
        "version": "1",
        "deploymentid": "bc0e4d1e-bacc-42eb-91ad-2d7f3eacfa8d",
        "time": f"{at:%Y-%m-%dT%H:%M:%S}.123456789Z",
        "event": "",
        "trigger": "incoming",
        "api": {
            "name": "GetObject",
            "bucket": "lake",
            "object": key,
            "status": "OK",
            "statusCode": 200,
            "rx": 0,
            "tx": 77,
        }
        | api,
        "remotehost": "192.0.2.9",
        "requestID": "16F1D6A5B7A1E6B1",
        "userAgent": 'odd "agent"',
        "requestHeader": {"Accept-Encoding": "identity"},
        "requestClaims": {"accessKey": access_key, "parent": parent} if parent else None,
        "accessKey": access_key,
        "parentUser": parent or None,
    }
    return json.dumps({key: value for key, value in record.items() if value is not None})
