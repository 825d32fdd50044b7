"""`headgate sync diff` on Spark, here or behind Spark Connect, tells the same in the same words as the server does."""

import multiprocessing
from collections.abc import Iterator

import pytest

from headgate.sync.access.capabilities import CANONICAL, Semantics
from headgate.sync.access.effective import effective
from headgate.sync.access.relations import Relations, object_key
from headgate.sync.pushing.shifts import shifts
from headgate.sync.registry import all_capabilities
from headgate.sync.snapshots.facts import Facts, GrantFact, MemberFact, OwnerFact
from headgate.sync.translating.canonical import vocabulary
from tests.cli.small_lakes import with_a_reader, with_tables
from tests.postgres import free_port
from tests.real.server import Result, RunningServer, headgate, running
from tests.sync.worlds import CATALOG, INVENTORY, PEOPLE, ROLES, SCHEMAS, TABLES, USERS
from tests.worker.spark_servers import connect_server

pytestmark = [pytest.mark.real, pytest.mark.spark, pytest.mark.slow]

PAIR = ("sync", "diff", "--from", "headgate:one", "--to", "headgate:two")
POLICY = "policy: small\non: {lake}.c\nto: [everyone]\nrows: {rows}\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Two metalakes that differ in grants, in roles and in what a policy hides."""
    with running(tmp_path_factory.mktemp("home"), "--dev", "--no-worker") as server:
        for lake, table, rows in (("one", "orders", "x < 5"), ("two", "others", "x < 7")):
            with_tables(server, lake, "ann", "bob")
            with_a_reader(server, lake, table)
            files = [{"file": "p.yaml", "text": POLICY.format(lake=lake, rows=rows)}]
            apply = f"/api/headgate/policies/apply?metalake={lake}"
            server.must("admin", "POST", apply, {"files": files, "whole": True})
        yield server


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Spark Connect server."""
    port = free_port()
    process = connect_server(tmp_path_factory.mktemp("connect"), port)
    yield f"sc://127.0.0.1:{port}"
    process.kill()


def told(server: RunningServer, *words: str) -> Result:
    return headgate(*PAIR, *words, patience=300, HEADGATE_URL=server.url, HEADGATE_USER="admin")


def test_on_this_machine_it_is_told_in_the_same_words(server: RunningServer) -> None:
    plain, spark = told(server, "--output", "json"), told(server, "--output", "json", "--spark")
    assert "c.s.orders" in plain.stdout
    assert "x < 5" in plain.stdout
    assert (spark.returncode, spark.stdout) == (plain.returncode, plain.stdout), spark.stderr


def test_through_spark_connect_it_is_told_in_the_same_words(server: RunningServer, remote: str) -> None:
    plain, spark = told(server), told(server, "--spark-remote", remote)
    assert plain.returncode == 1
    assert (spark.returncode, spark.stdout) == (plain.returncode, plain.stdout), spark.stderr


def test_a_server_that_is_not_there_is_told_at_once(server: RunningServer) -> None:
    gone = told(server, "--spark-remote", f"sc://127.0.0.1:{free_port()}")
    assert gone.returncode == 1
    assert "no Spark Connect server answers" in gone.stderr
    assert not gone.stdout
    for address in ("http://127.0.0.1:1", "sc://", "sc://host:port"):
        assert told(server, "--spark-remote", address).returncode == 2


SEMANTICS = Semantics(
    vocabulary(all_capabilities()), CANONICAL.inherits, CANONICAL.gates, CANONICAL.owner_inherits, True
)
ANN, BOB, CY = USERS
READER = ROLES[0]
BEFORE = Facts(
    [
        *INVENTORY,
        *PEOPLE,
        MemberFact(READER, ANN),
        GrantFact(READER, CATALOG, "USE_CATALOG"),
        GrantFact(READER, CATALOG, "USE_SCHEMA"),
        GrantFact(READER, SCHEMAS[0], "SELECT_TABLE"),
        GrantFact(BOB, TABLES[0], "SELECT_TABLE"),
        OwnerFact(SCHEMAS[1], CY),
    ]
)
AFTER = BEFORE.changed([MemberFact(READER, BOB)], [GrantFact(READER, SCHEMAS[0], "SELECT_TABLE")])

Rows = list[tuple[str, str, str]]


def asked_of_spark(remote: str) -> list[Rows]:
    """What the matrix says, in a process that has no other Spark."""
    from headgate.pipelines.access_matrix import AccessMatrix
    from headgate.pipelines.needs import NO_TABLES
    from headgate.pipelines.session import SparkSettings, open_session

    session = open_session(SparkSettings(remote=remote, work=NO_TABLES))
    with AccessMatrix(session, Relations((BEFORE, SEMANTICS), (AFTER, SEMANTICS)).tables) as matrix:
        frames = [matrix.access(0), matrix.access(1), matrix.beyond(0, 1), matrix.beyond(1, 0)]
        found = [[(row[0], row[1], row[2]) for row in frame.collect()] for frame in frames]
        assert matrix.count(0) == len(found[0])
    session.stop()
    return found


def test_the_matrix_through_spark_connect_is_the_one_in_memory(remote: str) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(asked_of_spark, (remote,))
    one, other = effective(BEFORE, SEMANTICS, AFTER), effective(AFTER, SEMANTICS, BEFORE)
    expected = [
        *(
            {(str(user), object_key(object), action) for user, all in side.items() for object, action in all}
            for side in (one, other)
        ),
        *(
            {(str(shift.user), object_key(shift.object), shift.action) for shift in found}
            for found in (shifts(one, other), shifts(other, one))
        ),
    ]
    assert all(expected[:3])
    assert [sorted(rows) for rows in found] == [sorted(rows) for rows in expected]
