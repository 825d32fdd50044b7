"""Stores on SQLite and on PostgreSQL."""

from tests.postgres import postgres_server, postgres_url, store_url

__all__ = ["postgres_server", "postgres_url", "store_url"]
