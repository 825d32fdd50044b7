"""Promise: what the documentation says of a catalog's storage holds for the server, for Spark and for clients alike."""

from pathlib import Path

import pytest

from headgate.catalogs.iceberg.storage import Storage
from headgate.vending import Vendors
from tests.openings import opened

ENDPOINT = "http://127.0.0.1:9000"
KEYS = {"s3-access-key-id": "id", "s3-secret-access-key": "secret", "s3-session-token": "session"}


@pytest.mark.parametrize(
    ("properties", "reached"),
    [
        ({}, {"client.region": "us-east-1", "s3.path-style-access": "false"}),
        ({"s3-region": "eu-central-1"}, {"client.region": "eu-central-1", "s3.path-style-access": "false"}),
        (
            {"s3-endpoint": ENDPOINT},
            {"client.region": "us-east-1", "s3.path-style-access": "true", "s3.endpoint": ENDPOINT},
        ),
        (
            {"s3-endpoint": ENDPOINT, "s3-path-style-access": "false"},
            {"client.region": "us-east-1", "s3.path-style-access": "false", "s3.endpoint": ENDPOINT},
        ),
        ({"s3.endpoint": ENDPOINT}, {"s3.path-style-access": "true", "s3.endpoint": ENDPOINT}),
    ],
)
def test_defaults_are_the_same_for_spark_the_server_and_clients(
    tmp_path: Path, properties: dict[str, str], reached: dict[str, str]
) -> None:
    openings = opened(tmp_path)
    storage = Storage({**properties, **KEYS}, openings)
    clients = Vendors(openings).of(properties).client_config()
    for settings in (storage.settings, storage.io.properties, clients):
        assert reached.items() <= settings.items()
        assert settings["s3.region"] == settings["client.region"]
        assert (settings.get("s3.force-virtual-addressing") == "true") is (
            settings["s3.path-style-access"] == "false"
        )
    keys = {"s3.access-key-id": "id", "s3.secret-access-key": "secret", "s3.session-token": "session"}
    assert keys.items() <= storage.settings.items()
    assert not set(keys) & set(clients), "clients are given keys of their own"
