"""A federated REST catalog, against Apache's own server: the shared suite, and what only federation promises."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from headgate.catalogs.rest import RestIceberg
from headgate.model.errors import ConnectionFailed, IllegalArgument
from headgate.store import Store
from tests.catalogs.suite import CatalogSuite, Opened
from tests.real.iceberg_kit import fixture_server

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with fixture_server(tmp_path_factory.mktemp("remote")) as url:
        yield url


@pytest.fixture
def opened(remote: str, store: Store) -> Iterator[Opened]:
    """The adapter over an empty namespace `s`."""
    catalog = RestIceberg({"uri": remote})
    catalog.create_schema(("s",), None, {})
    yield Opened(catalog, store)
    catalog.drop_schema(("s",), cascade=True)
    catalog.close()


class TestRestCatalog(CatalogSuite):
    pass


def test_schemas_nest_and_carry_properties(remote: str) -> None:
    catalog = RestIceberg({"uri": remote})
    catalog.create_schema(("a",), "first", {"k": "v"})
    catalog.create_schema(("a", "b"), None, {})
    assert catalog.schemas(()) == ["a"]
    assert catalog.schemas(("a",)) == ["b"]
    catalog.alter_schema(("a",), {"l": "w"})
    told = httpx.get(f"{remote}/v1/namespaces/a").json()["properties"]
    assert "k" not in told
    assert told["l"] == "w"
    catalog.drop_schema(("a",), cascade=True)
    assert catalog.schemas(()) == []
    catalog.close()


def test_a_catalog_that_does_not_answer_says_so(tmp_path: Path) -> None:
    gone = RestIceberg({"uri": "http://127.0.0.1:1"})
    with pytest.raises(ConnectionFailed, match="does not answer"):
        gone.test()
    gone.close()
    for uri in ("", "file:///etc", "ftp://x", "http://me:secret@host/"):
        with pytest.raises(IllegalArgument) as refused:
            RestIceberg({"uri": uri})
        assert "secret@" not in str(refused.value)
    assert "hidden" not in repr(RestIceberg({"uri": "http://x", "token": "hidden"}).client)
