"""The shared suite over every adapter."""

from pathlib import Path

import pytest

from headgate.catalogs.native import Native
from headgate.store import Store
from tests.catalogs.suite import CatalogSuite, Opened
from tests.openings import opened as allowed


@pytest.fixture(params=["native"])
def opened(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Opened:
    match request.param:
        case "native":
            return Opened(
                Native(store, str(tmp_path / "warehouse"), "lake/cat", {}, allowed(tmp_path)), store
            )
    raise AssertionError(request.param)


class TestEveryAdapter(CatalogSuite):
    pass
