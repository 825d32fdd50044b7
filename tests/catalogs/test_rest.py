"""A federated REST catalog, against Apache's own server and Nessie: the shared suite, and what only federation promises."""

import tempfile
from collections.abc import Iterator
from contextlib import closing

import pytest

from headgate.catalogs.interface import TablePlace, keeps_names
from headgate.catalogs.rest import RestIceberg
from headgate.model import tables as t
from headgate.model.errors import ConnectionFailed, IllegalArgument, OutcomeUnknown
from headgate.model.objects import ObjectType
from headgate.store import Store
from tests.catalogs.suite import CatalogSuite, Opened, table
from tests.openings import opened as opened_for
from tests.real.iceberg_kit import fixture_server

pytestmark = [pytest.mark.real, pytest.mark.slow]


Properties = dict[str, str]
OPEN = opened_for(tempfile.gettempdir(), "s3://nessie")


@pytest.fixture(scope="module")
def apache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Properties]:
    with fixture_server(tmp_path_factory.mktemp("remote")) as url:
        yield {"uri": url}


@pytest.fixture(scope="module", params=["apache", "nessie"])
def remote(request: pytest.FixtureRequest) -> Properties:
    """What a catalog declares to federate the other server."""
    properties: Properties = request.getfixturevalue(request.param)
    return properties


@pytest.fixture
def opened(remote: Properties, store: Store) -> Iterator[Opened]:
    """The adapter over an empty namespace `s`."""
    with closing(RestIceberg(store, "lake/fed", remote, OPEN)) as catalog:
        catalog.create_schema(("s",), None, {})
        yield Opened(catalog, store)
        catalog.drop_schema(("s",), cascade=True)


class TestRestCatalog(CatalogSuite):
    def test_what_is_abandoned_was_never_there(self, opened: Opened) -> None:
        """A commit to a REST catalog is done at once, and its protocol has no way back: only what is new is taken back."""
        at = opened.create(table(("a", "integer")))
        changed = opened.catalog.alter_table(at, (t.AddColumn(("b",), "string"),))
        with pytest.raises(OutcomeUnknown, match="was changed in its own system, but not here"):
            changed.abandon()
        assert list(opened.catalog.load_table(at).fields) == ["a", "b"]
        opened.catalog.create_table(TablePlace(("s",), "u"), table(("a", "integer"))).abandon()
        assert keeps_names(opened.catalog)
        assert opened.catalog.entries(("s",), ObjectType.TABLE) == ["t"]

    def test_a_table_that_was_dropped_can_be_made_again(
        self, opened: Opened, request: pytest.FixtureRequest
    ) -> None:
        """Nessie gives each table a folder of its own. Apache's server names folders by tables, and a place stays its table's."""
        if "nessie" in request.node.name:
            super().test_a_table_that_was_dropped_can_be_made_again(opened)
            return
        with pytest.raises(IllegalArgument, match="belongs to another table"):
            super().test_a_table_that_was_dropped_can_be_made_again(opened)


def test_schemas_nest_and_carry_properties(remote: Properties, store: Store) -> None:
    catalog = RestIceberg(store, "lake/fed", remote, OPEN)
    catalog.create_schema(("a",), "first", {"k": "v"})
    catalog.create_schema(("a", "b"), None, {})
    assert catalog.schemas(()) == ["a"]
    assert catalog.schemas(("a",)) == ["b"]
    catalog.alter_schema(("a",), {"l": "w"})
    told = catalog.client.ask("GET", "/namespaces/a", ObjectType.SCHEMA)["properties"]
    assert "k" not in told
    assert told["l"] == "w"
    catalog.drop_schema(("a",), cascade=True)
    assert catalog.schemas(()) == []
    catalog.close()


def test_a_catalog_that_does_not_answer_says_so(store: Store) -> None:
    gone = RestIceberg(store, "lake/fed", {"uri": "http://127.0.0.1:1"}, OPEN)
    with pytest.raises(ConnectionFailed, match="does not answer"):
        gone.test()
    gone.close()
    for uri in ("", "file:///etc", "ftp://x", "http://me:secret@host/"):
        with pytest.raises(IllegalArgument) as refused:
            RestIceberg(store, "lake/fed", {"uri": uri}, OPEN)
        assert "secret@" not in str(refused.value)
    told = RestIceberg(store, "lake/fed", {"uri": "http://localhost", "token": "hidden"}, OPEN)
    assert "hidden" not in repr(told.client)
