"""The shared suite over every adapter."""

from pathlib import Path

import pytest

from headgate.catalogs.native import Native
from headgate.store import Store
from tests.catalogs.suite import CatalogSuite, Opened


@pytest.fixture(params=["native"])
def opened(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Opened:
    match request.param:
        case "native":
            return Opened(Native(store, str(tmp_path / "warehouse"), "lake/cat", {}), store)
    raise AssertionError(request.param)


class TestEveryAdapter(CatalogSuite):
    pass
