"""`headgate classify` against a real server: it proposes and applies as the caller, and keeps no value anywhere."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from tests.pipelines import identities as made
from tests.real.server import Result, RunningServer, headgate_here, running

pytestmark = [
    pytest.mark.real,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROWS = 60
Run = Callable[..., Result]


def rows() -> dict[str, list[Any]]:
    r = random.Random(11)
    return {
        "id": list(range(ROWS)),
        "full_name": [made.name(r) for _ in range(ROWS)],
        "contact": [{"email": made.email(r), "note": f"note {n}"} for n in range(ROWS)],
        "phones": [[made.phone(r)] for _ in range(ROWS)],
        "iban": [made.iban(r) for _ in range(ROWS)],
        "born": [f"19{n % 90 + 10}-01-01" for n in range(ROWS)],
    }


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, dict[str, list[Any]]]]:
    """The tables `people` and `orders`, both of admin's; bob may read `orders` only."""
    people = rows()
    with running(tmp_path_factory.mktemp("home"), "--dev") as server:
        run = runner(server)
        done(run("metalake", "create", "--name", "lake"))
        done(run("catalog", "create", "--name", "c", "--provider", "lakehouse-iceberg"))
        done(run("schema", "create", "--catalog", "c", "--name", "s"))
        token = done(run("token", "create", "--user", "admin", "--home", str(server.log.parent))).strip()
        catalog = load_catalog("c", type="rest", uri=f"{server.url}/iceberg", warehouse="lake.c", token=token)
        orders = {"id": list(range(ROWS)), "email": people["contact"]}
        orders["email"] = [contact["email"] for contact in people["contact"]]
        for name, columns in (("people", people), ("orders", orders)):
            table = pa.table(columns)
            catalog.create_table(f"s.{name}", table.schema).append(table)
        done(run("user", "create", "--name", "bob"))
        done(run("role", "create", "--name", "reader"))
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
            )
        )
        done(run("grant", "privilege", "--role", "reader", "--privilege", "use_catalog", "--on", "catalog:c"))
        done(run("grant", "privilege", "--role", "reader", "--privilege", "use_schema", "--on", "schema:c.s"))
        done(run("grant", "role", "--role", "reader", "--user", "bob"))
        yield server, people


def runner(server: RunningServer) -> Run:
    def run(*words: str, user: str = "admin") -> Result:
        return headgate_here(*words, HEADGATE_URL=server.url, HEADGATE_METALAKE="lake", HEADGATE_USER=user)

    return run


@pytest.fixture
def run(lake: tuple[RunningServer, Any], shared_spark: Any) -> Run:
    return runner(lake[0])


def done(result: Result) -> str:
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout


def proposals(result: Result) -> dict[str, tuple[str, str]]:
    return {row["object"]: (row["tag"], row["state"]) for row in json.loads(done(result))["proposals"]}


def test_proposals_are_shown_then_applied_and_what_is_tagged_already_stays(run: Run) -> None:
    done(
        run("tag", "create", "--name", "pii", "--allowed-values", "email,phone,iban,card,ip,name,national-id")
    )
    done(run("tag", "apply", "--tag", "pii=card", "--on", "column:c.s.people.iban"))
    ask = ("classify", "--catalog", "c", "--sample", "50", "--output", "json")
    before = proposals(run(*ask))
    assert before == {
        "c.s.orders.email": ("pii=email", "new"),
        "c.s.people.contact.email": ("pii=email", "new"),
        "c.s.people.full_name": ("pii=name", "new"),
        "c.s.people.iban": ("pii=iban", "tagged pii=card"),
        "c.s.people.phones": ("pii=phone", "new"),
    }
    unasked = run("classify", "--catalog", "c", "--apply")
    assert (unasked.returncode, "--yes" in unasked.stderr) == (2, True)
    applied = run(*ask, "--apply", "--yes")
    assert {state for _, state in proposals(applied).values()} == {"applied", "tagged pii=card"}
    assert "headgate tag remove --tag pii --on" in applied.stderr
    again = proposals(run(*ask, "--apply", "--yes"))
    assert {state for _, state in again.values()} == {"tagged", "tagged pii=card"}
    nested = done(run("tag", "list", "--on", "column:c.s.people.contact.email", "--output", "json"))
    assert [(tag["assignmentValues"], tag["inherited"]) for tag in json.loads(nested)] == [(["email"], False)]
    table = done(
        run("classify", "--catalog", "c", "--schema", "s", "--table", "people", "--min-confidence", "0.9")
    )
    assert "contact.email" in table
    assert "60 address of 60, and its name" in table
    assert "full_name" not in table, "a name is never so sure"
    for column in (
        "orders.email",
        "people.contact.email",
        "people.full_name",
        "people.iban",
        "people.phones",
    ):
        done(run("tag", "remove", "--tag", "pii", "--on", f"column:c.s.{column}"))
    done(run("tag", "delete", "--name", "pii"))


def test_the_caller_sees_and_tags_only_what_they_may(run: Run) -> None:
    seen = run("classify", "--catalog", "c", "--output", "json", user="bob")
    assert list(proposals(seen)) == ["c.s.orders.email"]
    denied = run("classify", "--catalog", "c", "--apply", "--yes", "--output", "json", user="bob")
    assert denied.returncode == 3, "bob may not make the tag"
    done(run("tag", "create", "--name", "pii", "--allowed-values", "phone"))
    stays = run(
        "classify",
        "--catalog",
        "c",
        "--schema",
        "s",
        "--table",
        "orders",
        "--apply",
        "--yes",
        "--output",
        "json",
    )
    assert proposals(stays) == {"c.s.orders.email": ("pii=email", "not a value of the tag")}
    done(run("tag", "delete", "--name", "pii"))
    done(run("classify", "--catalog", "c", "--schema", "s", "--table", "orders", "--apply", "--yes"))
    made_here = json.loads(done(run("tag", "details", "--name", "pii", "--output", "json")))
    assert "national-id" in made_here["allowedValues"]
    unread = run(
        "classify", "--catalog", "c", "--schema", "s", "--table", "people", "--output", "json", user="bob"
    )
    assert (unread.returncode, json.loads(unread.stdout)["proposals"]) == (1, [])
    assert json.loads(unread.stdout)["unread"][0]["table"] == "c.s.people"


def test_no_value_is_shown_logged_or_stored(
    run: Run, lake: tuple[RunningServer, dict[str, list[Any]]]
) -> None:
    server, people = lake
    said = ""
    for form in ("table", "json", "yaml"):
        result = run("classify", "--catalog", "c", "--output", form)
        said += done(result) + result.stderr
    home = server.log.parent
    said += server.log.read_text() + server.out.read_text()
    kept = b"".join(file.read_bytes() for file in home.glob("*.db*"))
    assert kept, "the store is here"
    emails = [contact["email"] for contact in people["contact"]]
    phones = [phone for each in people["phones"] for phone in each]
    for value in (*emails, *phones, *people["iban"], *people["full_name"], *people["born"]):
        assert value not in said
        assert value.encode() not in kept


def test_wrong_usage_says_what_to_write(run: Run) -> None:
    for words in (("--table", "t"), ("--schema", "s", "--min-confidence", "2"), ("--spark-conf", "novalue")):
        result = run("classify", "--catalog", "c", *words)
        assert (result.returncode, result.stdout) == (2, ""), (words, result)


def test_an_empty_schema_needs_no_spark(run: Run, tmp_path: Path) -> None:
    done(run("schema", "create", "--catalog", "c", "--name", "empty"))
    result = run("classify", "--catalog", "c", "--schema", "empty", "--output", "json")
    assert json.loads(done(result)) == {"proposals": [], "unread": [], "tables": 0, "rows": 0}
    assert "Spark" not in result.stderr
