"""A server that says it is PostgreSQL may answer anything: it takes no more memory than it may, and fails nothing here."""

import resource
import sys

import pytest

from headgate.catalogs.databases.addresses import address_of
from headgate.catalogs.databases.connections import DatabaseConnections
from headgate.catalogs.databases.iceberg_tables import JdbcPointers
from headgate.model.errors import ConnectionFailed, Damaged
from tests.catalogs.hostile_postgres import HostilePostgres, hostile_postgres

LARGEST = 32 * 1024 * 1024


def pointers(server: HostilePostgres) -> JdbcPointers:
    url = f"jdbc:postgresql://127.0.0.1:{server.port}/lake"
    address = address_of({"jdbc-url": url, "jdbc-user": "headgate"})
    connections = DatabaseConnections(address, "headgate", "", "db", LARGEST)
    return JdbcPointers(connections, "jdbc", initialize=False, version=1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a connection brings")
def test_an_answer_without_an_end_is_not_read_to_its_end() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with hostile_postgres() as server:
        found = pointers(server)
        with pytest.raises(ConnectionFailed):
            found.namespaces(())
        found.close()
        assert 0 < server.sent < 500
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000, "in KiB"


def test_more_names_than_were_asked_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.catalogs.databases.iceberg_tables._MOST_NAMES", 50)
    monkeypatch.setattr(JdbcPointers, "_laid_out", lambda self, tx: True)
    with hostile_postgres() as server:
        server.rows, server.value = 60, lambda number: f"s{number}".encode()
        found = pointers(server)
        with pytest.raises(Damaged, match="50"):
            found.namespaces(())
        found.close()


def test_no_answer_is_a_failure_of_this_server() -> None:
    """The driver asks a few things by itself, and takes whatever comes for an answer."""
    with hostile_postgres(knows_types=False) as server:
        server.rows = 1
        found = pointers(server)
        for asked in (found.test, lambda: found.namespaces(())):
            with pytest.raises(ConnectionFailed):
                asked()
        found.close()
