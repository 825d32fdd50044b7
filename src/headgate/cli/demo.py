"""The demo: a server with a small lakehouse and a few people, and who may do what, asked of the server itself."""

import argparse
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from rich.table import Table
from rich.text import Text

from headgate.cli.failure import Denied, Failure
from headgate.cli.output import Format, console
from headgate.cli.session import Path as Segments
from headgate.cli.session import Session

METALAKE: Final = "demo"

TABLES: Final = {
    ("sales", "orders"): {"id": "long", "region": "string", "amount": "decimal(9,2)"},
    ("sales", "customers"): {"id": "long", "name": "string", "email": "string"},
    ("hr", "salaries"): {"person": "string", "amount": "decimal(9,2)"},
}

ROLES: Final[dict[str, list[tuple[str, str, str, str]]]] = {
    "analyst": [
        ("allow", "use_catalog", "catalog", "lake"),
        ("allow", "use_schema", "schema", "lake.sales"),
        ("allow", "select_table", "schema", "lake.sales"),
    ],
    "engineer": [
        ("allow", "use_catalog", "catalog", "lake"),
        ("allow", "use_schema", "schema", "lake.sales"),
        ("allow", "create_table", "schema", "lake.sales"),
        ("allow", "modify_table", "schema", "lake.sales"),
    ],
    "contractor": [("deny", "select_table", "table", "lake.sales.customers")],
}
"""What each role allows and denies, and on what."""

PEOPLE: Final = {
    "admin": ("owner of the metalake", []),
    "ann": ("analyst", ["analyst"]),
    "bob": ("engineer", ["engineer"]),
    "cara": ("analyst and contractor", ["analyst", "contractor"]),
    "dan": ("member, no role", []),
    "eve": ("stranger", None),
}
"""Each person with the roles they get; None for someone who is no user of the metalake."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="show who may do what, then stop")
    once: bool = parser.parse_args().once
    try:
        with _server(keep_port=not once) as (url, process):
            _lay_out(_as(url, "admin"))
            _show(url)
            if not once:
                _invite(url)
                process.wait()
    except Failure as failure:
        sys.exit(f"headgate: {failure.message}\n  next: {failure.next or 'see above'}")
    except KeyboardInterrupt:
        pass


@contextmanager
def _server(*, keep_port: bool) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A development server in a folder of its own, which goes when the demo ends."""
    home = Path(tempfile.mkdtemp(prefix="headgate-demo-"))
    said, log = home / "said", home / "log"
    port = "8090" if keep_port and _free(8090) else "0"
    command = [
        sys.executable,
        "-c",
        "from headgate.cli import main; main()",
        "serve",
        "--dev",
        "--port",
        port,
    ]
    with said.open("wb") as out, log.open("wb") as err:
        process = subprocess.Popen([*command, "--home", str(home)], stdout=out, stderr=err)  # noqa: S603
    try:
        yield _ready(process, said, log), process
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(home, ignore_errors=True)


def _free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def _ready(process: subprocess.Popen[bytes], said: Path, log: Path) -> str:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        found = re.search(r"listens on (\S+)", said.read_text())
        if found is not None:
            try:
                if httpx.get(found[1] + "/health/ready", timeout=5).is_success:
                    return found[1]
            except httpx.HTTPError:
                pass
        time.sleep(0.1)
    raise Failure("the demo server did not start", log.read_text()[-2000:])


def _as(url: str, user: str) -> Session:
    return Session(url=url, token=None, login=user, metalake=METALAKE, format=Format.TABLE)


def _lay_out(admin: Session) -> None:
    """The lakehouse, the people and their roles, through the same API that everybody has."""
    admin.post(("metalakes",), {"name": METALAKE, "comment": "a small lakehouse"})
    here = admin.in_metalake
    catalog = {
        "name": "lake",
        "type": "relational",
        "provider": "lakehouse-iceberg",
        "properties": {"catalog-backend": "native"},
    }
    admin.post(here("catalogs"), catalog)
    for schema in sorted({schema for schema, _ in TABLES}):
        admin.post(here("catalogs", "lake", "schemas"), {"name": schema})
    for (schema, name), columns in TABLES.items():
        admin.post(_tables(admin, schema), _table(name, columns))
    for role, grants in ROLES.items():
        objects = [
            {"type": type, "fullName": name, "privileges": [{"name": privilege, "condition": condition}]}
            for condition, privilege, type, name in grants
        ]
        admin.post(here("roles"), {"name": role, "securableObjects": _merged(objects)})
    for person, (_, roles) in PEOPLE.items():
        if person != "admin" and roles is not None:
            admin.post(here("users"), {"name": person})
        if roles:
            admin.put(here("permissions", "users", person, "grant"), {"roleNames": roles})


def _merged(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each object once, with all its privileges."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for item in objects:
        kept = found.setdefault((item["type"], item["fullName"]), {**item, "privileges": []})
        kept["privileges"] = [*kept["privileges"], *item["privileges"]]
    return list(found.values())


def _tables(session: Session, schema: str) -> Segments:
    return session.in_metalake("catalogs", "lake", "schemas", schema, "tables")


def _table(name: str, columns: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "columns": [{"name": key, "type": type} for key, type in columns.items()]}


# -- who may do what --------------------------------------------------------------------------------------------


def _show(url: str) -> None:
    actions = (
        "read orders",
        "read customers",
        "read salaries",
        "write orders",
        "create a table",
        "give roles",
    )
    shown = Table(
        "who", "what they are", "tables they see", *actions, title="Asked of the server, one by one"
    )
    for person, (what, _) in PEOPLE.items():
        session = _as(url, person)
        answers = [
            _may(_load, session, "sales", "orders"),
            _may(_load, session, "sales", "customers"),
            _may(_load, session, "hr", "salaries"),
            _may(_comment, session, person),
            _may(_scratch, session, person),
            _may(_give, session),
        ]
        shown.add_row(person, what, _seen(session), *answers)
    screen = console()
    screen.print(shown)
    why = _as(url, "admin").post(("headgate", "explain"), _question("cara", "lake.sales.customers"))
    screen.print(Text(f"Why may cara not read customers? {why['explanation']['summary']}"))


def _may(action: Callable[..., None], *arguments: Any) -> Text:
    """Try it and tell how the server answered."""
    try:
        action(*arguments)
        return Text("yes", style="green")
    except Denied:
        return Text("403", style="red")


def _seen(session: Session) -> str:
    found = []
    for schema in sorted({schema for schema, _ in TABLES}):
        try:
            found += [f"{schema}.{item['name']}" for item in session.names(_tables(session, schema))]
        except Denied:
            continue
    return "\n".join(found) or "none"


def _load(session: Session, schema: str, name: str) -> None:
    session.get((*_tables(session, schema), name))


def _comment(session: Session, person: str) -> None:
    changes = [{"@type": "updateComment", "newComment": f"last touched by {person}"}]
    session.put((*_tables(session, "sales"), "orders"), {"updates": changes})


def _scratch(session: Session, person: str) -> None:
    session.post(_tables(session, "sales"), _table(f"scratch_{person}", {"id": "long"}))
    session.delete((*_tables(session, "sales"), f"scratch_{person}"))


def _give(session: Session) -> None:
    session.put(session.in_metalake("permissions", "users", "ann", "grant"), {"roleNames": ["analyst"]})


def _question(user: str, table: str) -> dict[str, Any]:
    return {"metalake": METALAKE, "type": "table", "fullName": table, "operation": "load_table", "user": user}


def _invite(url: str) -> None:
    screen = console()
    screen.print(f"\nThe server listens on {url} until Ctrl-C. In another terminal, from here:\n")
    for line in (
        "export PATH=$PWD/.venv/bin:$PATH",
        f"export HEADGATE_URL={url} HEADGATE_METALAKE={METALAKE} HEADGATE_USER=ann",
        "headgate table list --catalog lake --schema sales",
        "headgate table details --catalog lake --schema sales --name orders",
        "headgate table details --catalog lake --schema hr --name salaries   # 403",
        "headgate explain --login admin --user ann --operation load_table --on table:lake.hr.salaries",
        "headgate revoke role --login admin --role analyst --user ann",
        "headgate table list --catalog lake --schema sales                   # 403 at once",
        "headgate audit query --login admin --denied",
    ):
        screen.print(Text("  " + line))


if __name__ == "__main__":
    main()
