"""The command line against a real server: what it does, how it says no, and what scripts can rely on."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.real.server import Result, RunningServer, headgate, headgate_here, running

pytestmark = pytest.mark.real

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("home"), "--dev") as server:
        yield server


@pytest.fixture
def run(server: RunningServer) -> Run:
    def run(*words: str, user: str = "admin", **env: str) -> Result:
        return headgate_here(
            *words, **{"HEADGATE_URL": server.url, "HEADGATE_METALAKE": "lake", "HEADGATE_USER": user, **env}
        )

    return run


def done(result: Result) -> str:
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout


def test_a_lakehouse_from_nothing_to_a_denial_that_explains_itself(run: Run) -> None:
    done(run("metalake", "create", "--name", "lake", "--properties", "team=data,stage=test"))
    properties = "catalog-backend=native,owner=sales"
    create = (
        "catalog",
        "create",
        "--name",
        "c",
        "--provider",
        "lakehouse-iceberg",
        "--properties",
        properties,
    )
    assert json.loads(done(run(*create, "--output", "json")))["properties"]["owner"] == "sales"
    done(run("schema", "create", "--catalog", "c", "--name", "s"))
    where = ("--catalog", "c", "--schema", "s")
    columns = "id:long!,price:decimal(9,2),name:string"
    done(run("table", "create", *where, "--name", "orders", "--columns", columns))
    table = yaml.safe_load(done(run("table", "details", *where, "--name", "orders", "--output", "yaml")))
    assert [(column["name"], column["type"]) for column in table["columns"]] == [
        ("id", "long"),
        ("price", "decimal(9,2)"),
        ("name", "string"),
    ]
    assert "orders" in done(run("table", "list", *where))
    assert "s" in done(run("schema", "list", "--catalog", "c"))

    done(run("user", "create", "--name", "ann"))
    done(run("role", "create", "--name", "reader"))
    denied = run("table", "details", *where, "--name", "orders", user="ann")
    assert (denied.returncode, denied.stdout) == (3, "")
    assert "not authorized" in denied.stderr
    assert "next:" in denied.stderr

    uses = ("grant", "privilege", "--role", "reader", "--privilege", "use_catalog,use_schema,select_table")
    done(run(*uses, "--on", "catalog:c"))
    done(run("grant", "role", "--role", "reader", "--user", "ann"))
    assert "orders" in done(run("table", "list", *where, user="ann"))
    question = ("--operation", "load_table", "--on", "table:c.s.orders")
    assert done(run("check", *question, "--user", "ann")).strip() == "allowed"
    done(
        run(
            "grant",
            "privilege",
            "--role",
            "reader",
            "--privilege",
            "select_table",
            "--on",
            "table:c.s.orders",
            "--deny",
        )
    )
    refused = run("check", *question, user="ann")
    assert (refused.returncode, refused.stdout.strip()) == (3, "denied")
    why = json.loads(done(run("explain", *question, "--user", "ann", "--output", "json")))
    assert why["allowed"] is False
    assert "reader" in why["summary"]
    own = json.loads(done(run("explain", *question, "--user", "ann", "--output", "json", user="ann")))
    assert own["summary"] == why["summary"], "asking about oneself by name is asking about oneself"
    assert run("check", *question, "--user", "ann", user="ann").stdout.strip() == "denied"
    assert run("explain", *question, "--user", "ann", "--groups", "g", user="ann").returncode == 3
    assert "deny" in done(run("role", "details", "--name", "reader"))

    done(run("owner", "set", "--on", "table:c.s.orders", "--user", "ann"))
    assert json.loads(done(run("owner", "details", "--on", "table:c.s.orders", "--output", "json"))) == {
        "name": "ann",
        "type": "user",
    }
    events = json.loads(done(run("audit", "query", "--denied", "--user", "ann", "--output", "json")))
    assert any(event["action"] == "load_table" and not event["allowed"] for event in events)
    assert "DENIED" in done(run("audit", "tail", "--no-follow"))

    done(
        run("tag", "create", "--name", "pii", "--comment", "about people", "--allowed-values", "email,phone")
    )
    done(run("tag", "create", "--name", "old"))
    assert run("tag", "apply", "--tag", "pii=shoe", "--on", "schema:c.s").returncode == 2, "no such value"
    done(run("tag", "apply", "--tag", "pii=email,old", "--on", "schema:c.s"))
    inherited = json.loads(done(run("tag", "list", "--on", "table:c.s.orders", "--output", "json")))
    assert [(tag["name"], tag["inherited"]) for tag in inherited] == [("old", True), ("pii", True)]
    assert inherited[1]["assignmentValues"] == ["email"]
    assert "c.s" in done(run("tag", "objects", "--name", "pii"))
    done(run("tag", "remove", "--tag", "pii", "--on", "schema:c.s"))
    done(run("tag", "delete", "--name", "pii"))

    done(run("group", "create", "--name", "team"))
    done(run("group", "members", "--name", "team", "--users", "ann"))
    done(run("grant", "role", "--role", "reader", "--group", "team"))
    assert json.loads(done(run("group", "details", "--name", "team", "--output", "json")))["roles"] == [
        "reader"
    ]
    done(run("revoke", "role", "--role", "reader", "--user", "ann"))
    done(run("role", "delete", "--name", "reader"))
    assert run("role", "delete", "--name", "reader").returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        ("catalog", "create", "--name", "x"),
        ("catalog", "create", "--name", "x", "--provider", "p", "--properties", "novalue"),
        ("catalog", "nonsense"),
        ("table", "list", "--catalog", "c"),
        ("table", "create", "--catalog", "c", "--schema", "s", "--name", "t", "--columns", "id"),
        ("owner", "details", "--on", "orders"),
        ("owner", "set", "--on", "table:c.s.t"),
        ("grant", "role", "--role", "r"),
        ("grant", "role", "--role", "r", "--user", "u", "--group", "g"),
        ("check", "--on", "table:c.s.t"),
        ("metalake", "list", "--output", "xml"),
        ("metalake", "update", "--name", "x"),
        ("metalake", "list", "--url", "http://[::1"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_to_write(run: Run, words: tuple[str, ...]) -> None:
    result = run(*words)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert result.stderr
    assert "Traceback" not in result.stderr


def test_the_command_is_installed_and_fails_without_a_traceback(server: RunningServer) -> None:
    denied = headgate("metalake", "create", "--name", "x", "--url", server.url, "--login", "nobody")
    assert (denied.returncode, denied.stdout) == (3, "")
    assert denied.stderr.startswith("headgate: ")
    assert "Traceback" not in denied.stderr


def test_failures_exit_with_1_and_denials_with_3(run: Run) -> None:
    assert run("metalake", "list", HEADGATE_URL="http://127.0.0.1:1").returncode == 1
    assert run("metalake", "create", "--name", "x", user="nobody").returncode == 3
    unknown = f"hg_{'0' * 16}_{'x' * 43}"
    refused = run("metalake", "list", HEADGATE_TOKEN=unknown)
    assert refused.returncode == 3
    assert unknown not in refused.stdout + refused.stderr


def test_nobody_is_signed_in_and_no_metalake_is_named_are_said_before_asking(server: RunningServer) -> None:
    nobody = headgate_here("metalake", "list", "--url", server.url)
    assert (nobody.returncode, "HEADGATE_TOKEN" in nobody.stderr) == (3, True)
    nowhere = headgate_here("catalog", "list", "--url", server.url, "--login", "admin")
    assert (nowhere.returncode, "HEADGATE_METALAKE" in nowhere.stderr) == (2, True)


def test_tokens_are_made_over_http_by_a_service_admin_and_on_the_store_by_its_operator(
    run: Run, server: RunningServer
) -> None:
    home = str(server.log.parent)
    own = headgate_here(
        "token", "create", "--user", "admin", "--expires", "1h", "--home", home
    ).stdout.strip()
    over_http = run(
        "token", "create", "--user", "zed", "--groups", "a,b", "--output", "json", HEADGATE_TOKEN=own
    )
    made = json.loads(done(over_http))
    assert made["groups"] == ["a", "b"]
    assert run("token", "list", HEADGATE_TOKEN=made["text"]).returncode == 3
    assert "zed" in done(run("token", "list", HEADGATE_TOKEN=own))
    done(run("token", "revoke", "--id", made["id"], HEADGATE_TOKEN=own))
    assert run("metalake", "list", HEADGATE_TOKEN=made["text"]).returncode == 3
    nothing = headgate_here("token", "list", "--home", str(Path(home) / "elsewhere"))
    assert nothing.returncode == 1
    assert "--home" in nothing.stderr


def test_engine_settings_are_printed_as_they_are_to_be_pasted(run: Run, server: RunningServer) -> None:
    done(run("metalake", "create", "--name", "pasted"))
    there = {"HEADGATE_METALAKE": "pasted"}
    done(run("catalog", "create", "--name", "own", "--provider", "lakehouse-iceberg", **there))
    asked = ("engine-config", "--catalog", "own", "--engine")
    text = done(run(*asked, "trino", **there))
    assert f"iceberg.rest-catalog.uri={server.url}/iceberg\n" in text
    assert "iceberg.rest-catalog.oauth2.token=${ENV:HEADGATE_TOKEN}\n" in text
    elsewhere = done(run(*asked, "trino", "--server", "https://lake.example.com", **there))
    assert "iceberg.rest-catalog.uri=https://lake.example.com/iceberg\n" in elsewhere
    whole = json.loads(done(run(*asked, "spark", "--format", "shell", "--output", "json", **there)))
    assert (whole["engine"], whole["format"], whole["warning"]) == ("spark", "shell", None)
    for line in whole["text"].splitlines():
        assert line in done(run(*asked, "spark", "--format", "shell", **there)).splitlines(), (
            "no line is wrapped"
        )
    unknown = run(*asked, "excel", **there)
    assert unknown.returncode == 2
    assert "'trino', 'presto', 'spark', 'flink', 'duckdb', 'pyiceberg', 'polars', 'daft'" in unknown.stderr
    misfit = run(*asked, "trino", "--format", "yaml", **there)
    assert misfit.returncode == 2
    assert "use properties or sql" in misfit.stderr
    native = run(*asked, "trino", "--through", "native", **there)
    assert (native.returncode, native.stdout) == (2, "")
    assert "there is no system behind it" in native.stderr
