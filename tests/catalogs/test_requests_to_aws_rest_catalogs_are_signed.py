"""Requests to an Iceberg REST catalog of AWS's are signed: with the catalog's keys, for its service and region, as sent."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from headgate.catalogs.interface import TablePlace
from headgate.catalogs.rest import RestIceberg
from headgate.model.errors import ConnectionFailed, HeadgateError
from headgate.store import Store
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.openings import opened

KEYS = {"s3-access-key-id": "AKIAEXAMPLE", "s3-secret-access-key": "much-longer-secret"}
SIGNED = {"rest.sigv4-enabled": "true", "rest.signing-name": "glue", "rest.signing-region": "eu-central-1"}
_HEADER = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(\w+)/\d{8}/([\w-]+)/([\w-]+)/aws4_request, SignedHeaders=([\w;-]+), Signature=(\w+)"
)


def valid(key: str, secret: str, region: str, name: str) -> Callable[[str, str, Any, bytes], bool]:
    """Refuses what is not signed like this: the signature is made again of what came over the wire."""

    def refuses(method: str, url: str, headers: Any, body: bytes) -> bool:
        said = _HEADER.fullmatch(headers.get("Authorization") or "")
        if said is None or said[1] != key or (said[2], said[3]) != (region, name):
            return True
        signed = {word: headers[word] for word in said[4].split(";") if word != "x-amz-date"}
        again = AWSRequest(method=method, url=url, data=body, headers=signed)
        then = datetime.strptime(headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
        token = headers.get("X-Amz-Security-Token")
        with patch("botocore.auth.get_current_datetime", return_value=then):
            SigV4Auth(Credentials(key, secret, token), name, region).add_auth(again)
        return "host" not in said[4] or not again.headers["Authorization"].endswith(said[5])

    return refuses


@pytest.fixture
def remote() -> Iterator[AnyRest]:
    with any_rest() as remote:
        remote.put("t", "s3://theirs/t")
        remote.refuses = valid("AKIAEXAMPLE", "much-longer-secret", "eu-central-1", "glue")
        yield remote


@pytest.fixture
def declared(store: Store, remote: AnyRest, tmp_path: Path) -> Iterator[Callable[..., RestIceberg]]:
    made: list[RestIceberg] = []

    def declare(**properties: str) -> RestIceberg:
        known = {"uri": remote.url, **properties}
        made.append(RestIceberg(store, "lake/fed", known, opened(tmp_path, "s3://theirs")))
        return made[-1]

    yield declare
    for each in made:
        each.close()


def test_what_is_sent_is_what_was_signed(declared: Callable[..., RestIceberg], remote: AnyRest) -> None:
    fed = declared(**KEYS, **SIGNED)
    assert fed.schemas(()) == ["r"]
    assert fed.tables(("r",)) == ["t"]
    made = fed.create_document(
        TablePlace(("r",), "a b+ü"), {"schema": {"type": "struct", "fields": []}, "location": "s3://theirs/u"}
    )
    assert made.result.metadata["location"] == "s3://theirs/u"
    assert fed.document(TablePlace(("r",), "a b+ü")).metadata["location"] == "s3://theirs/u"
    fed.drop_view(TablePlace(("r",), "a b+ü"))


@pytest.mark.parametrize(
    "other",
    [
        {"s3-secret-access-key": "another"},
        {"rest.signing-name": "s3tables"},
        {"rest.signing-region": "us-east-1"},
        {"rest.sigv4-enabled": "false"},
    ],
    ids=str,
)
def test_a_server_that_asks_for_other_signatures_refuses(
    declared: Callable[..., RestIceberg], other: dict[str, str]
) -> None:
    properties = {**KEYS, **SIGNED, **other}
    if other.get("rest.sigv4-enabled") == "false":
        properties = KEYS
    with pytest.raises(ConnectionFailed, match="refuses the credentials"):
        declared(**properties).schemas(())


def test_a_session_token_goes_along(declared: Callable[..., RestIceberg], remote: AnyRest) -> None:
    assert declared(**KEYS, **SIGNED, **{"s3-session-token": "of-the-session"}).schemas(()) == ["r"]


def test_the_region_is_that_of_the_storage_unless_another_is_said(
    declared: Callable[..., RestIceberg], remote: AnyRest
) -> None:
    words = {key: value for key, value in SIGNED.items() if key != "rest.signing-region"}
    assert declared(**KEYS, **words, **{"s3-region": "eu-central-1"}).schemas(()) == ["r"]


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"rest.signing-name": "glue"}, "does nothing"),
        ({"rest.sigv4-enabled": "yes"}, "true or false"),
        ({**SIGNED, "token": "t"}, "does nothing"),
        ({**SIGNED, "rest.signing-name": "a b"}, "no name"),
        ({**SIGNED, "s3-role-arn": "arn:aws:iam::123456789012:role/lake"}, "not open"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(
    declared: Callable[..., RestIceberg], properties: dict[str, str], why: str
) -> None:
    with pytest.raises(HeadgateError, match=why):
        declared(**KEYS, **properties)


def test_who_has_no_keys_sends_nothing(
    declared: Callable[..., RestIceberg], remote: AnyRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    remote.refuses = lambda method, url, headers, body: bool(asked.append(url))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(ConnectionFailed, match="no keys to sign with"):
        declared(**SIGNED).schemas(())
    assert asked == []


def test_a_signature_is_no_bearer_token(declared: Callable[..., RestIceberg], remote: AnyRest) -> None:
    seen: list[str] = []
    remote.refuses = lambda method, url, headers, body: bool(seen.append(str(headers)))
    declared(**KEYS, **SIGNED).schemas(())
    assert seen
    assert not any("much-longer-secret" in text or "Bearer" in text for text in seen)
