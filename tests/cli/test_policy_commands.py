"""Policies from the command line: tests without a server; plan, apply, export, lint, explain, simulate and policy with one."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.server import Result, RunningServer, headgate_here, running

EXAMPLES = Path(__file__).parents[2] / "examples" / "policies"

Run = Callable[..., Result]


def done(result: Result) -> str:
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout


def test_the_examples_pass_their_own_tests() -> None:
    assert "9 tests passed" in done(headgate_here("test", "-f", str(EXAMPLES)))
    told = json.loads(done(headgate_here("test", "-f", str(EXAMPLES), "--output", "json")))
    assert {one["result"] for one in told} == {"passed"}


def test_a_test_that_fails_says_what_was_seen_instead(tmp_path: Path) -> None:
    text = (EXAMPLES / "sales.test.yaml").read_text().replace("xxx@xxxxxxx.org", "ann@example.org")
    file = tmp_path / "wrong.test.yaml"
    file.write_text(text)
    result = headgate_here("test", str(file), "-f", str(EXAMPLES))
    assert result.returncode == 1
    assert "xxx@xxxxxxx.org" in result.stdout
    assert "1 of 4 tests failed" in result.stderr
    without = headgate_here("test", str(file))
    assert (without.returncode, "4 of 4" in without.stderr) == (1, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lake: {tables: {}}\n", "holds no tests"),
        ("lake: {tables: {m.c.s.t: {columns: {id: long}}}}\ntests: [{test: t, as: ann}]\n", "not described"),
        ("lake: {tabels: {}}\ntests: []\n", "cannot be read"),
        ("lake: {tables: {m.c.s.t: {columns: {id: lnog}}}}\ntests: []\n", "lnog"),
        ("lake: [\n", "not YAML"),
        ("lake: {tables: {}}\ntests: []\n", "no tests"),
    ],
)
def test_files_of_tests_that_cannot_be_read_say_why(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "odd.test.yaml"
    file.write_text(text)
    result = headgate_here("test", str(file))
    assert result.returncode in (1, 2)
    assert said in result.stderr + result.stdout
    assert "Traceback" not in result.stderr


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("home"), "--dev") as server:
        yield server


@pytest.fixture
def run(server: RunningServer) -> Run:
    def run(*words: str, user: str = "admin") -> Result:
        return headgate_here(*words, HEADGATE_URL=server.url, HEADGATE_METALAKE="lake", HEADGATE_USER=user)

    return run


@pytest.mark.real
def test_policies_as_code_from_a_folder_to_a_view(run: Run, tmp_path: Path) -> None:
    done(run("metalake", "create", "--name", "lake"))
    done(run("catalog", "create", "--name", "sales", "--provider", "lakehouse-iceberg"))
    done(run("schema", "create", "--catalog", "sales", "--name", "crm"))
    columns = "id:long!,region:string,email:string"
    done(
        run(
            "table",
            "create",
            "--catalog",
            "sales",
            "--schema",
            "crm",
            "--name",
            "customers",
            "--columns",
            columns,
        )
    )
    done(run("user", "create", "--name", "ann"))
    done(run("role", "create", "--name", "reader"))
    done(run("grant", "privilege", "--role", "reader", "--privilege", "use_catalog,use_schema,select_table", "--on", "catalog:sales"))  # fmt: skip
    done(run("grant", "role", "--role", "reader", "--user", "ann"))

    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "a.yaml").write_text("policy: own\non: lake.sales\nto: [role:reader]\nrows: region = 'EU'\n")
    (folder / "b.yaml").write_text("policy: mail\non: lake\nto: [everyone]\nhide: [email]\n")
    plan = done(run("plan", "-f", str(folder)))
    assert "own would be created" in plan
    assert "ann on sales.crm.customers" in plan
    assert "rows where region = 'EU'" in plan
    seen = json.loads(done(run("simulate", "-f", str(folder), "--as", "ann", "--table", "sales.crm.customers", "--output", "json")))  # fmt: skip
    assert seen["explanation"]["lens"]["hidden"] == ["email"]
    assert done(run("export")) == ""

    done(run("apply", "-f", str(folder)))
    text = done(run("export"))
    assert text == (folder / "b.yaml").read_text() + "---\n" + (folder / "a.yaml").read_text()
    out = tmp_path / "out.yaml"
    done(run("export", "--into", str(out)))
    assert out.read_text() == text
    assert json.loads(done(run("plan", "-f", str(out), "--output", "json")))["changes"] == []
    shown = done(run("table", "details", "--catalog", "sales", "--schema", "crm", "--name", "customers", "--output", "json", user="ann"))  # fmt: skip
    assert [c["name"] for c in json.loads(shown)["columns"]] == ["id", "region"]
    tree = done(run("explain", "--as", "ann", "--table", "sales.crm.customers"))
    assert "email is not there" in tree
    assert "own on catalog sales applies" in tree
    own = done(run("explain", "--as", "ann", "--table", "sales.crm.customers", user="ann"))
    assert "may load the table" in own
    assert "email" not in own, "of what is hidden from oneself nothing is told"
    refused = run("explain", "--as", "admin", "--table", "sales.crm.customers", user="ann")
    assert (refused.returncode, refused.stdout) == (3, "")

    assert "own" in done(run("policy", "list"))
    done(run("policy", "disable", "--name", "mail", "--yes"))
    assert "disable" in done(run("policy", "history", "--name", "mail"))
    assert (
        json.loads(done(run("policy", "details", "--name", "mail", "--output", "json")))["enabled"] is False
    )
    done(run("policy", "enable", "--name", "mail"))
    done(run("policy", "delete", "--name", "own", "--yes"))
    assert done(run("export")) == (folder / "b.yaml").read_text()

    (folder / "c.yaml").write_text("policy: odd\non: lake\nto: [group:nobody]\nhide: [nothing]\n")
    odd = run("lint", "-f", str(folder))
    assert odd.returncode == 1
    assert "to-nobody" in odd.stdout
    assert "no-columns" in odd.stdout
    accepted = "accept: {to-nobody: they come in spring, no-columns: so does the table}\n"
    (folder / "c.yaml").write_text(f"policy: odd\non: lake\nto: [group:nobody]\nhide: [nothing]\n{accepted}")
    shown = done(run("lint", "-f", str(folder)))
    assert "they come in spring" in " ".join(shown.split())
    (folder / "c.yaml").write_text(
        f"policy: odd\non: lake\nto: [group:nobody]\nhide: [nothing]\n{accepted.replace('nobody', 'nobdy')}"
    )
    unknown = run("lint", "-f", str(folder))
    assert (unknown.returncode, "did you mean to-nobody?" in unknown.stderr) == (2, True)
    assert run("apply", "-f", str(tmp_path / "nowhere")).returncode == 2
    assert run("explain", "--as", "ann").returncode == 2
