"""The addresses of a Hive Metastore: checked wherever in the list they stand, and each in one spelling."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.model.errors import IllegalArgument
from headgate.store import Store
from tests.catalogs import hive_server

Opening = Callable[[str], PointerCatalog]


@pytest.fixture
def opening(store: Store, tmp_path: Path) -> Opening:
    def open(uris: str) -> PointerCatalog:
        declared = {"metastore.uris": uris, "warehouse": f"file://{tmp_path}/tables"}
        found = hive_server.opened_catalog("iceberg", store, declared, tmp_path)
        assert isinstance(found, PointerCatalog)
        return found

    return open


@pytest.mark.parametrize(
    ("uris", "named"),
    [
        ("", "metastore.uris"),
        (" , ", "metastore.uris"),
        ("http://127.0.0.1:9083", "metastore.uris"),
        ("thrift://127.0.0.1:0", "metastore.uris"),
        ("thrift://127.0.0.1:70000", "metastore.uris"),
        ("thrift://me:hidden@127.0.0.1:9083", "metastore.uris"),
        ("thrift://127.0.0.1:9083/x", "metastore.uris"),
        ("thrift://127.0.0.1:9083?x=hidden", "metastore.uris"),
        ("thrift://127.0.0.1:9083,thrift://169.254.169.254:9083", "169.254.169.254:9083"),
        ("thrift://elsewhere.example", "elsewhere.example:9083"),
        (",".join(f"thrift://127.0.0.1:{port}" for port in range(9000, 9009)), "more than 8"),
    ],
)
def test_an_address_that_is_none_or_not_open_is_refused_by_its_key(
    opening: Opening, uris: str, named: str
) -> None:
    with pytest.raises(IllegalArgument, match=named) as refused:
        opening(uris)
    assert "hidden" not in str(refused.value)


def test_catalogs_that_have_one_address_in_common_have_one_source_in_common(opening: Opening) -> None:
    one = opening("thrift://LOCALHOST:9083/, thrift://127.0.0.1")
    two = opening("thrift://127.0.0.1:9083")
    assert one.own_sources() == ("127.0.0.1:9083", "localhost:9083")
    assert set(one.own_sources()) & set(two.own_sources())
    again = opening("thrift://127.0.0.1,thrift://localhost:9083")
    assert again.own_sources() == one.own_sources()
    assert again.source == one.source, "whatever their order"
