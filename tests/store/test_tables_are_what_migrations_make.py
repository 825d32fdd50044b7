"""Queries are written against `tables`, stores are made by migrations: both must be the same."""

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from headgate.store import Store
from headgate.store.tables import metadata


def test_migrations_make_exactly_the_tables(store_url: str) -> None:
    store = Store(store_url)
    store.prepare()
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    store.check()
    store.close()


def test_preparing_twice_changes_nothing(store_url: str) -> None:
    store = Store(store_url)
    store.prepare()
    before = store.revision()
    store.prepare()
    assert store.revision() == before
    store.close()
