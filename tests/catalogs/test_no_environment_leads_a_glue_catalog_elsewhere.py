"""A catalog over AWS Glue is asked where it says and as whom it says, whatever the server's own AWS settings are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.exceptions as boto
import pytest

from headgate.catalogs.glue.catalog import check_glue, glue_catalog
from headgate.catalogs.glue.settings import storage_properties
from headgate.catalogs.storage_settings import StorageSettings
from headgate.model.errors import ConnectionFailed, IllegalArgument
from headgate.store import Store
from headgate.vending.vendor import Vendors
from tests.catalogs import glue_server
from tests.catalogs.any_glue import AnyGlue, any_glue
from tests.openings import LOOPBACK, opened

ROLE = "arn:aws:iam::123456789012:role/lake"
STS = "sts.us-east-1.amazonaws.com"


@pytest.fixture
def there() -> Iterator[AnyGlue]:
    with any_glue() as glue:
        glue.answer = lambda operation, body: {"DatabaseList": [{"Name": "s"}]}
        yield glue


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[AnyGlue]:
    """Where the server's own environment, profile and files lead."""
    with any_glue() as glue:
        config = tmp_path / "config"
        services = (
            f"[services own]\nglue =\n  endpoint_url = {glue.url}\nsts =\n  endpoint_url = {glue.url}\n"
        )
        config.write_text(f"[default]\nservices = own\nendpoint_url = {glue.url}\n{services}")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
        for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_GLUE", "AWS_ENDPOINT_URL_STS", "HTTP_PROXY"):
            monkeypatch.setenv(name, glue.url)
        monkeypatch.setenv("AWS_PROFILE", "of-the-server")
        monkeypatch.setenv("AWS_SESSION_TOKEN", "of-the-server")
        yield glue


def catalog(kind: str, store: Store, url: str, folder: Path, **more: str) -> Any:
    declared = {**glue_server.properties(kind, url, folder), **more}
    return glue_catalog(kind, store, "aws", "lake/aws", declared, opened(folder), None)


def test_keys_and_address_are_those_of_the_catalog(
    there: AnyGlue, elsewhere: AnyGlue, store: Store, tmp_path: Path
) -> None:
    found = catalog("hive", store, there.url, tmp_path)
    assert found.schemas(()) == ["s"]
    found.close()
    assert (there.tokens, elsewhere.asked) == ([None], [])


@pytest.mark.parametrize(("kind", "key"), [("hive", "s3-session-token"), ("both", "aws-session-token")])
def test_a_session_token_comes_along_with_its_keys(
    there: AnyGlue, store: Store, tmp_path: Path, kind: str, key: str
) -> None:
    found = catalog(kind, store, there.url, tmp_path, **{key: "for a while"})
    assert found.schemas(()) == ["s"]
    found.close()
    assert there.tokens == ["for a while"]
    own = kind == "both"
    known = storage_properties(
        {**glue_server.properties(kind, there.url, tmp_path), key: "for a while"}, own_keys=own
    )
    token = StorageSettings.of(known).session_token
    assert token is not None
    assert token.hidden == "for a while"
    id_key = key.replace("session-token", "access-key-id")
    with pytest.raises(IllegalArgument, match=key):
        catalog(
            kind, store, there.url, tmp_path,
            **{key: "x", id_key: "", id_key.replace("access-key-id", "secret-access-key"): ""},
        )  # fmt: skip


def test_sts_is_an_address_that_the_operator_opens(
    there: AnyGlue, elsewhere: AnyGlue, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {**glue_server.properties("hive", there.url, tmp_path), "s3-role-arn": ROLE}
    with pytest.raises(IllegalArgument, match=STS):
        check_glue("hive", declared, opened(tmp_path))
    for key in ("s3-token-service-endpoint", "s3-sts-endpoint"):
        with pytest.raises(IllegalArgument, match=r"169\.254"):
            check_glue("hive", {**declared, key: "http://169.254.169.254/"}, opened(tmp_path))
    allowed = opened(tmp_path, "s3://bucket", hosts=(*LOOPBACK, STS))
    found: Any = glue_catalog("hive", store, "aws", "lake/aws", declared, allowed, None)
    asked = []

    def send(request: Any) -> Any:
        asked.append(request.url)
        raise boto.EndpointConnectionError(endpoint_url=request.url)

    monkeypatch.setattr(found.metastore.client.answers._http, "send", send)
    with pytest.raises(ConnectionFailed):
        found.schemas(())
    found.close()
    assert {url.split("/")[2] for url in asked} == {STS}
    assert elsewhere.asked == []


def test_nor_are_credentials_given_out_that_another_address_made(elsewhere: AnyGlue) -> None:
    keys = {
        "s3-access-key-id": "k",
        "s3-secret-access-key": "x",
        "s3-role-arn": ROLE,
        "s3-region": "us-east-1",
    }
    vendor = Vendors(opened("s3://bucket")).of(keys)
    assert vendor._sts.meta.endpoint_url == f"https://{STS}"  # type: ignore[union-attr]
