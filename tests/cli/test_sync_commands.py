"""`headgate sync` against a real server with two metalakes and a real PostgreSQL: what it does, asks, refuses and takes back."""

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import psycopg
import pytest
import yaml

from headgate.store import Store
from headgate.sync.connectors.postgresql.connector import PostgresConnector
from headgate.sync.contract import Connector
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Applied, Change, Mode
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.snapshots.snapshot import PolicySnapshot
from tests.cli.small_lakes import with_a_reader, with_tables
from tests.postgres import new_database
from tests.real.server import COMMAND, Result, RunningServer, environment, headgate, headgate_here, running

pytestmark = pytest.mark.real

Run = Callable[..., Result]
SETTINGS = """
[sync.connections.postgresql.main]
url = "{url}"
catalog = "c"
metalakes = ["one"]

[sync.connections.postgresql.secret]
url = "postgresql://nobody:hush-hush@127.0.0.1:1/x"
"""
PAIR = ("--from", "headgate:one", "--to")
NAMES = "user:admin: admin\nuser:*: '*_cli'\nrole:*: '*_cli'\n"


@pytest.fixture(scope="module")
def database(postgres_server: str) -> str:
    url = new_database(postgres_server)
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            "DROP SCHEMA public",
            "CREATE SCHEMA s",
            "CREATE TABLE s.orders (x int)",
            "CREATE TABLE s.others (x int)",
            "CREATE ROLE ann_cli LOGIN",
            "CREATE ROLE bob_cli LOGIN",
            f"REVOKE ALL ON DATABASE {connection.info.dbname} FROM PUBLIC",
        ):
            connection.execute(statement.encode())
    return url


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, database: str) -> Path:
    home = tmp_path_factory.mktemp("home")
    (home / "headgate.toml").write_text(SETTINGS.format(url=database))
    (home / "names.yaml").write_text(NAMES)
    return home


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[RunningServer]:
    with running(home, "--dev") as server:
        for lake in ("one", "two"):
            with_tables(server, lake, "ann", "bob", "mia")
        with_a_reader(server, "one", "orders")
        server.must("admin", "PUT", "/api/metalakes/one/owners/metalake/one", {"name": "mia", "type": "user"})
        yield server


@pytest.fixture
def run(server: RunningServer) -> Run:
    def run(*words: str, user: str = "admin", **env: str) -> Result:
        return headgate_here("sync", *words, HEADGATE_URL=server.url, HEADGATE_USER=user, **env)

    return run


def done(result: Result) -> str:
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout


def reads(database: str, user: str, table: str = "orders") -> bool:
    """What PostgreSQL itself says."""
    with psycopg.connect(database) as connection:
        row = connection.execute(
            "SELECT has_table_privilege(%s, %s, 'SELECT') AND has_schema_privilege(%s, 's', 'USAGE')",
            [user, f"s.{table}", user],
        ).fetchone()
    assert row is not None
    return bool(row[0])


@pytest.fixture
def names(home: Path) -> tuple[str, str]:
    return "--names", str(home / "names.yaml")


@pytest.fixture
def clean(run: Run, database: str) -> Iterator[None]:
    """Every push that a test leaves to PostgreSQL is undone after it."""
    yield
    while run("undo", "--to", "postgresql:main", "--yes").returncode == 0:
        pass
    assert not reads(database, "ann_cli")


def test_a_snapshot_says_the_same_in_every_form(run: Run, tmp_path: Path) -> None:
    names = ("a.yaml", "b.yaml", "c.json")
    for name in names:
        done(run("fetch", "--from", "headgate:one", "--file", str(tmp_path / name)))
    snapshots = [PolicySnapshot.read((tmp_path / name).read_bytes()) for name in names]
    assert len({snapshot.content_hash for snapshot in snapshots}) == 1
    assert len({snapshot.version_id for snapshot in snapshots}) == len(snapshots)
    shown = done(run("fetch", "--from", "headgate:one", "--output", "json"))
    assert PolicySnapshot.read(shown.encode()).facts == snapshots[0].facts


def test_a_push_between_metalakes_is_planned_done_and_undone(run: Run, server: RunningServer) -> None:
    to = (*PAIR, "headgate:two")
    before = done(run("fetch", "--from", "headgate:two", "--output", "json"))
    found = run("diff", *to, "--output", "json")
    assert found.returncode == 1
    gains = json.loads(found.stdout)["gains"]
    assert {"user": "user:ann", "object": "table:c.s.orders", "action": "table.read"} in gains
    plan = done(run("push", *to, "--dry-run"))
    assert "role:reader may SELECT_TABLE on table:c.s.orders" in plan
    assert "user:ann on table:c.s.orders: table.read" in plan
    assert (
        server.ask("ann", "GET", "/api/metalakes/two/catalogs/c/schemas/s/tables/orders").status_code == 403
    )
    result = json.loads(done(run("push", *to, "--yes", "--output", "json")))
    assert result[0]["ok"]
    server.must("ann", "GET", "/api/metalakes/two/catalogs/c/schemas/s/tables/orders")
    again = json.loads(done(run("push", *to, "--yes", "--output", "json")))
    assert {item["outcome"] for item in again[0]["items"]} == {"already so"}
    for push in (again[0]["push"], result[0]["push"]):
        done(run("undo", "--push", str(push), "--yes"))
    assert (
        server.ask("ann", "GET", "/api/metalakes/two/catalogs/c/schemas/s/tables/orders").status_code == 403
    )
    after = json.loads(done(run("fetch", "--from", "headgate:two", "--output", "json")))
    assert PolicySnapshot.read(json.dumps(after).encode()).facts == PolicySnapshot.read(before.encode()).facts


@pytest.mark.usefixtures("clean")
def test_one_push_to_several_targets_tells_of_each(
    run: Run, names: tuple[str, str], database: str, tmp_path: Path
) -> None:
    report = tmp_path / "report.xml"
    to = (*PAIR, "headgate:two,postgresql:main", *names, "--junit", str(report))
    # In the other metalake nobody has the names of PostgreSQL.
    result = run("push", *to, "--yes", "--output", "yaml")
    told = yaml.safe_load(result.stdout)
    assert [each["target"] for each in told] == ["headgate:two", "postgresql:main"]
    assert reads(database, "ann_cli")
    assert not reads(database, "bob_cli")
    assert not reads(database, "ann_cli", "others")
    suites = ElementTree.parse(report).getroot()
    assert [suite.get("name") for suite in suites] == ["sync headgate:two", "sync postgresql:main"]
    assert [int(suite.get("tests", "")) for suite in suites] == [len(each["items"]) for each in told]
    done(run("undo", "--to", "headgate:two", "--yes"))


@pytest.mark.usefixtures("clean")
def test_without_a_terminal_and_without_yes_nothing_is_pushed(
    server: RunningServer, database: str, names: tuple[str, str]
) -> None:
    words = ("sync", "push", *PAIR, "postgresql:main", *names)
    refused = headgate(*words, HEADGATE_URL=server.url, HEADGATE_USER="admin")
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert "user:ann_cli on table:c.s.orders: table.read" in refused.stdout
    assert not reads(database, "ann_cli")


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("answer", ["n", "y"])
def test_on_a_terminal_the_plan_is_shown_and_asked_for(
    server: RunningServer, database: str, names: tuple[str, str], answer: str
) -> None:
    keyboard, terminal = pty.openpty()
    asking = subprocess.Popen(
        [*COMMAND, "sync", "push", *PAIR, "postgresql:main", *names],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(HEADGATE_URL=server.url, HEADGATE_USER="admin"),
    )
    os.write(keyboard, f"{answer}\n".encode())
    out, err = asking.communicate(timeout=60)
    os.close(keyboard)
    os.close(terminal)
    assert "user:ann_cli on table:c.s.orders: table.read" in out
    assert "Do it?" in err
    assert (asking.returncode == 0) is (answer == "y")
    assert reads(database, "ann_cli") is (answer == "y")


def test_what_was_not_agreed_to_is_not_done(server: RunningServer) -> None:
    body = {"source": "headgate:one", "target": "headgate:two", "plan": "of something else"}
    refused = server.ask("admin", "POST", "/api/headgate/sync/push", body)
    assert refused.status_code == 409
    assert "has changed since it was planned" in refused.text
    pushed = server.must("admin", "GET", "/api/headgate/sync/pushes?target=headgate:two")["pushes"]
    assert all(push["state"] == "undone" for push in pushed)


@pytest.mark.usefixtures("clean")
def test_what_is_refused_is_told_and_is_no_success(
    run: Run, database: str, names: tuple[str, str], tmp_path: Path
) -> None:
    # The role is there already and bob holds it: given what the source gives it, bob would read, too.
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE ROLE reader_cli NOLOGIN")
        connection.execute("GRANT reader_cli TO bob_cli")
    try:
        to = (*PAIR, "postgresql:main", *names)
        assert run("push", *to, "--dry-run").returncode == 1
        result = run("push", *to, "--yes", "--output", "junit")
        assert result.returncode == 1
        failures = ElementTree.fromstring(result.stdout).findall(".//failure")
        assert failures
        assert all("widen" in failure.get("message", "") for failure in failures)
        assert not reads(database, "bob_cli")
    finally:
        run("undo", "--to", "postgresql:main", "--yes")
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("DROP OWNED BY reader_cli")
            connection.execute("DROP ROLE reader_cli")


@pytest.mark.usefixtures("clean")
def test_a_push_that_died_is_resumed_then_undone(
    run: Run, server: RunningServer, home: Path, database: str, names: tuple[str, str]
) -> None:
    class Died(Exception):
        pass

    class Dies(PostgresConnector):
        batch = 2
        batches = 0

        def apply(self, changes: list[Change]) -> list[Applied]:  # type: ignore[override]
            self.batches += 1
            if self.batches == 2:
                raise Died
            return super().apply(changes)

    store = Store(f"sqlite:///{home}/headgate.db")
    snapshot = PolicySnapshot.read(done(run("fetch", "--from", "headgate:one", "--output", "json")).encode())
    dies: Connector = Dies(database, "c", "postgresql:main")
    with pytest.raises(Died):
        dies.push(snapshot, Mode.MERGE, PrincipalMap.read(NAMES), Journal(store, "somebody"))
    store.close()
    to = (*PAIR, "postgresql:main", *names)
    blocked = run("push", *to, "--yes")
    assert blocked.returncode == 1
    assert "did not come to its end" in blocked.stdout
    listed = json.loads(done(run("pushes", "--to", "postgresql:main", "--output", "json")))[0]
    assert listed["state"] == "running"
    assert 0 < listed["settled"] < listed["steps"]
    assert not reads(database, "ann_cli")
    done(run("resume", "--to", "postgresql:main"))
    assert reads(database, "ann_cli")
    done(run("undo", "--push", str(listed["id"]), "--yes"))
    assert not reads(database, "ann_cli")
    with psycopg.connect(database) as connection:
        assert not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'reader_cli'").fetchall()


def test_only_owners_and_service_admins_synchronise(run: Run, database: str, names: tuple[str, str]) -> None:
    for user in ("ann", "stranger"):
        for system in ("headgate:one", "postgresql:main", "postgresql:missing"):
            refused = run("fetch", "--from", system, user=user)
            assert refused.returncode == 3, refused.stdout
            assert "missing' " not in refused.stderr, "whether a connection exists is for service admins"
    to = ("push", *PAIR, "postgresql:main", *names, "--dry-run")
    done(run(*to, user="mia"))
    assert run("fetch", "--from", "headgate:two", user="mia").returncode == 3
    assert run("fetch", "--from", "postgresql:secret", user="mia").returncode == 3
    assert run("connections", user="mia").returncode == 3
    shown = done(run("connections", "--output", "json"))
    assert [each["name"] for each in json.loads(shown)] == ["postgresql:main", "postgresql:secret"]
    unknown = run("fetch", "--from", "postgresql:missing")
    assert unknown.returncode == 1
    assert "there is no connection" in unknown.stderr


def test_a_password_is_never_told(run: Run, server: RunningServer) -> None:
    unreachable = run("fetch", "--from", "postgresql:secret")
    assert unreachable.returncode == 1
    assert "does not answer" in unreachable.stderr
    logs = server.log.read_text() + server.out.read_text()
    assert "hush-hush" not in unreachable.stderr + unreachable.stdout + logs + done(run("connections"))


def test_what_was_synchronised_is_in_the_audit_trail(run: Run, server: RunningServer) -> None:
    done(run("fetch", "--from", "headgate:one", user="mia"))
    found = server.must("mia", "GET", "/api/headgate/audit?metalake=one&action=sync_metalake")["events"]
    assert any(event["user"] == "mia" and event["details"].get("sync") == "fetch" for event in found)


@pytest.mark.parametrize(
    "words",
    [
        ("fetch", "--from", "nothing"),
        ("push", *PAIR, "headgate:one", "--yes"),
        ("push", *PAIR, "headgate:two", "--mode", "both", "--yes"),
        ("push", *PAIR, ",", "--yes"),
        ("watch", *PAIR, "headgate:two", "--every", "soon", "--yes"),
        ("in-step", *PAIR, "headgate:two", "--prefer", "me", "--yes"),
        ("undo", "--yes"),
        ("push", *PAIR, "headgate:two", "--names", "no-such-file.yaml", "--yes"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, words: tuple[str, ...]) -> None:
    refused = run(*words)
    assert refused.returncode in (1, 2)
    assert refused.stderr.startswith("headgate: ")
    assert not refused.stdout


@pytest.mark.usefixtures("clean")
def test_watch_brings_a_target_back_and_stops_cleanly(
    server: RunningServer, database: str, names: tuple[str, str], tmp_path: Path
) -> None:
    words = ("sync", "watch", *PAIR, "postgresql:main", *names, "--every", "1s", "--yes", "--output", "json")
    log = tmp_path / "watch.log"
    with log.open("wb") as told:
        watching = subprocess.Popen(
            [*COMMAND, *words],
            stdout=subprocess.DEVNULL,
            stderr=told,
            env=environment(HEADGATE_URL=server.url, HEADGATE_USER="admin"),
        )
    try:
        until(lambda: reads(database, "ann_cli") and "in step\n" in log.read_text())
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("REVOKE SELECT ON s.orders FROM reader_cli")
        until(lambda: reads(database, "ann_cli"))
        until(lambda: "drift, 1 change to bring it back" in log.read_text())
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=60) == 0, log.read_text()
    finally:
        if watching.poll() is None:
            watching.kill()
            watching.wait()
    assert "stopped" in log.read_text()
    assert "Traceback" not in log.read_text()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.2)


def test_two_metalakes_are_kept_in_step(run: Run, server: RunningServer) -> None:
    clash = run("in-step", *PAIR, "headgate:two", "--yes")
    assert clash.returncode == 1, "what both sides changed is left alone, and that is no success"
    assert "the source says 'user:mia owns metalake:', the target 'user:admin owns metalake:'" in clash.stderr
    owner = "/api/metalakes/one/owners/metalake/one"
    server.must("mia", "PUT", owner, {"name": "admin", "type": "user"})
    done(run("in-step", *PAIR, "headgate:two", "--yes"))
    server.must("ann", "GET", "/api/metalakes/two/catalogs/c/schemas/s/tables/orders")
    body = {"privileges": [{"name": "select_table", "condition": "allow"}]}
    where = "/api/metalakes/two/permissions/roles/reader/table/c.s.others/grant"
    server.must("admin", "PUT", where, body)
    done(run("in-step", *PAIR, "headgate:two", "--yes"))
    server.must("ann", "GET", "/api/metalakes/one/catalogs/c/schemas/s/tables/others")
    server.must("admin", "PUT", owner, {"name": "mia", "type": "user"})


# -- what policies hide -----------------------------------------------------------------------------------------


@pytest.fixture
def filtered(server: RunningServer, database: str) -> Iterator[None]:
    """A policy on the orders of metalake one, and orders in PostgreSQL."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("INSERT INTO s.orders SELECT generate_series(1, 20)")
    apply_policies(server, "policy: small\non: one.c\nto: [everyone]\nrows: x < 5\n")
    yield
    apply_policies(server, "")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("TRUNCATE s.orders")


def apply_policies(server: RunningServer, text: str) -> None:
    body = {"files": [{"file": "p.yaml", "text": text}] if text else [], "whole": True}
    path = "/api/headgate/policies/apply?metalake=one"
    plan = server.must("mia", "POST", path, {**body, "dryRun": True})["digest"]
    server.must("mia", "POST", path, {**body, "plan": plan, "allowEmpty": True})


def orders(database: str, user: str) -> list[int]:
    with psycopg.connect(database, user=user) as connection:
        return [x for (x,) in connection.execute("SELECT x FROM s.orders ORDER BY x")]


@pytest.mark.usefixtures("clean", "filtered")
def test_a_policy_of_headgate_filters_the_rows_of_postgresql(
    run: Run, server: RunningServer, names: tuple[str, str], database: str
) -> None:
    to = (*PAIR, "postgresql:main", *names, "--yes")
    done(run("push", *to))
    assert orders(database, "ann_cli") == [1, 2, 3, 4]
    apply_policies(server, "policy: small\non: one.c\nto: [everyone]\nrows: x < 3\n")
    done(run("push", *to))
    assert orders(database, "ann_cli") == [1, 2]
    # What cannot be said elsewhere, because nobody states a purpose there, is not granted there.
    apply_policies(server, "policy: small\non: one.c\nto: [everyone]\nrows: context.purpose = 'audit'\n")
    told = json.loads(done(run("push", *to, "--output", "json")))
    assert not reads(database, "ann_cli")
    assert any("small" in loss and "cannot filter these rows" in loss for loss in told[0]["losses"])
    apply_policies(server, "")
    done(run("push", *to))
    assert orders(database, "ann_cli") == list(range(1, 21))


@pytest.mark.usefixtures("clean", "filtered")
def test_a_snapshot_in_a_file_is_compared_and_pushed_as_its_system_would_be(
    run: Run, names: tuple[str, str], database: str, tmp_path: Path
) -> None:
    for name in ("one.yaml", "one.json"):
        file = str(tmp_path / name)
        done(run("fetch", "--from", "headgate:one", "--file", file))
        to = ("--to", "postgresql:main", *names)
        same = [run("diff", "--from", source, *to, "--output", "json") for source in (file, "headgate:one")]
        assert json.loads(same[0].stdout) == json.loads(same[1].stdout), same[0].stderr
        done(run("push", "--from", file, *to, "--yes", user="mia"))
        assert orders(database, "ann_cli") == [1, 2, 3, 4]
        done(run("undo", "--to", "postgresql:main", "--yes"))
        assert not reads(database, "ann_cli")
    denied = run("push", "--from", file, "--to", "postgresql:secret", "--yes", user="mia")
    assert denied.returncode == 3


@pytest.mark.usefixtures("clean", "filtered")
def test_a_filter_of_postgresql_becomes_a_policy_of_headgate(
    run: Run, server: RunningServer, names: tuple[str, str], home: Path
) -> None:
    done(run("push", *PAIR, "postgresql:main", *names, "--yes"))
    (home / "back.yaml").write_text("user:*_cli: '*'\nrole:*_cli: '*'\n")
    back = ("--from", "postgresql:main", "--to", "headgate:two", "--names", str(home / "back.yaml"))
    plan = done(run("push", *back, "--dry-run"))
    assert "x < 5" in plan
    told = json.loads(done(run("push", *back, "--yes", "--output", "json")))
    asked = {"metalake": "two", "table": "c.s.orders", "user": "ann"}
    lens = json.dumps(server.must("admin", "POST", "/api/headgate/lens", asked))
    assert "x < 5" in lens
    listed = server.must("admin", "GET", "/api/metalakes/two/policies?details=true")["policies"]
    assert {policy["content"]["on"] for policy in listed} == {"two.c.s.orders", "two.c.s.others"}
    assert all("a push" in policy["comment"] for policy in listed)
    done(run("undo", "--push", str(told[0]["push"]), "--yes"))
    assert not server.must("admin", "GET", "/api/metalakes/two/policies")["names"]


@pytest.mark.parametrize("text", ["", "[]", "format: 99\n", "{nonsense", "format: 1\nsystem: x\n"])
def test_a_file_that_is_no_snapshot_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    refused = run("push", "--from", str(file), "--to", "headgate:two", "--yes")
    assert refused.returncode == 2
    assert "bad.yaml" in refused.stderr
    gone = run("diff", "--from", str(tmp_path / "none.json"), "--to", "headgate:two")
    assert gone.returncode == 2


def test_a_file_is_not_watched(run: Run, tmp_path: Path) -> None:
    done(run("fetch", "--from", "headgate:one", "--file", str(tmp_path / "one.json")))
    refused = run("watch", "--from", str(tmp_path / "one.json"), "--to", "headgate:two", "--yes")
    assert refused.returncode == 2


@pytest.mark.usefixtures("clean")
def test_what_an_older_grant_leaves_open_is_named_and_no_success(
    run: Run, server: RunningServer, names: tuple[str, str], database: str
) -> None:
    to = (*PAIR, "postgresql:main", *names)
    apply_policies(server, "policy: masked\non: one.c\nto: [user:ann]\nmask: {x: replace_with_null(x)}\n")
    with psycopg.connect(database, autocommit=True) as connection:
        database_name = connection.info.dbname
        older = (f"CONNECT ON DATABASE {database_name}", "USAGE ON SCHEMA s", "SELECT ON s.orders")
        for right in older:
            connection.execute(f"GRANT {right} TO ann_cli".encode())
        try:
            planned = run("push", *to, "--dry-run")
            assert planned.returncode == 1
            assert "stays open" in planned.stdout
            assert "user:ann_cli may SELECT on table:c.s.orders" in planned.stdout
            result = run("push", *to, "--yes", "--output", "json")
            assert result.returncode == 1
            assert [each["user"] for each in json.loads(result.stdout)[0]["open"]] == ["user:ann_cli"]
            assert reads(database, "ann_cli"), "a merge takes nothing of others away"
        finally:
            for right in older:
                connection.execute(f"REVOKE {right} FROM ann_cli".encode())
    try:
        done(run("push", *to, "--yes"))
    finally:
        apply_policies(server, "")
