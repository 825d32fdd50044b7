"""Apache Iceberg's REST compatibility kit passes against a real server, with an owner's token."""

import re
from pathlib import Path

import pytest

from tests.real.iceberg_kit import compatibility
from tests.real.server import headgate, running

pytestmark = [pytest.mark.real, pytest.mark.slow]

AT_LEAST = 144
"""What the reference server itself passes; the rest is aborted by assumptions about the catalog or skipped."""


def test_the_compatibility_kit_passes(tmp_path: Path) -> None:
    # The kit asks for tables at places of its own choosing under /tmp, so the catalog allows them.
    properties = {"allowed-locations": "/tmp"}
    with running(tmp_path, "--service-admins", "admin", "--places", "/tmp") as server:
        made = headgate("token", "create", "--home", str(tmp_path), "--user", "admin")
        token = made.stdout.strip()
        assert token.startswith("hg_"), made.stderr
        server.must(token, "POST", "/api/metalakes", {"name": "lake"})
        catalog = {
            "name": "cat",
            "type": "relational",
            "provider": "lakehouse-iceberg",
            "properties": properties,
        }
        server.must(token, "POST", "/api/metalakes/lake/catalogs", catalog)
        id, secret = token.removeprefix("hg_").split("_", 1)
        ran = compatibility(
            f"{server.url}/iceberg/",
            warehouse="lake.cat",
            credential=f"{id}:{secret}",
            **{
                "oauth2-server-uri": f"{server.url}/iceberg/v1/oauth/tokens",
                "rck.requires-namespace-create": "true",
                "rck.supports-names-with-dot": "true",
            },
        )
    counts = {word: int(n) for n, word in re.findall(r"\[\s*(\d+) tests (\w+)\s*\]", ran.stdout)}
    assert counts.get("failed") == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert counts["successful"] >= AT_LEAST
