"""The demo: a shop in three regions, governed; the same query as three people and a service in Spark, pyiceberg and DuckDB."""

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from examples.retail import lakehouse
from examples.retail.engines import Answer, Engines
from headgate.cli.failure import Failure
from headgate.cli.output import Format, console
from headgate.cli.session import Session

TABLE = "people"


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="show the comparison, then stop")
    once: bool = parser.parse_args().once
    try:
        with _server(keep_port=not once) as (url, process):
            tokens = _run(url)
            if not once:
                _invite(url, tokens)
                process.wait()
    except Failure as failure:
        sys.exit(f"headgate: {failure.message}\n  next: {failure.next or 'see above'}")
    except KeyboardInterrupt:
        pass


def _run(url: str) -> dict[str, str]:
    admin = Session(url=url, token=None, login="admin", metalake=lakehouse.METALAKE, format=Format.TABLE)
    engines = Engines(url)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console(err=True)) as progress:
            for step in lakehouse.lay_out(admin):
                _step(progress, f"Making {step}")
            tokens = {user: _token(admin, user) for user in ("admin", *lakehouse.PEOPLE)}
            for step in lakehouse.fill(admin, engines.catalog(tokens["admin"])):
                _step(progress, f"Making {step}")
            _warm(progress, admin)
            answers: dict[tuple[str, str], Answer] = {}
            for name, ask in engines.all.items():
                for user in lakehouse.PEOPLE:
                    _step(progress, f"Asking as {user} in {name}")
                    answers[name, user] = ask(user, tokens[user], TABLE)
            _done(progress)
        _compare(answers)
        _explain(admin)
    finally:
        engines.close()
    return tokens


# -- progress ---------------------------------------------------------------------------------------------------------


def _step(progress: Progress, said: str) -> None:
    _done(progress)
    progress.add_task(said, total=1)


def _done(progress: Progress) -> None:
    for task in progress.tasks:
        progress.update(task.id, completed=1)


def _warm(progress: Progress, admin: Session) -> None:
    """Have the copies made, so that nobody waits; a reader who comes before waits for them instead."""
    _step(progress, "Having Spark make governed copies")
    task = progress.tasks[-1].id
    asked = {"users": list(lakehouse.PEOPLE)}
    total = 0
    while True:
        warmed = admin.post(("headgate", "lenses", "warm"), asked, metalake=lakehouse.METALAKE)["warmed"]
        broken = [one["problem"] for one in warmed if one["problem"]]
        if broken:
            raise Failure(f"a view cannot be made ready: {broken[0]}")
        left = sum(one["missing"] for one in warmed)
        total = max(total, left)
        if not left:
            return
        progress.update(task, description=f"Having Spark make governed copies ({total - left} of {total})")
        time.sleep(0.5)


# -- what everybody sees ------------------------------------------------------------------------------------------------


def _compare(answers: dict[tuple[str, str], Answer]) -> None:
    screen = console()
    for user, (what, _, _) in lakehouse.PEOPLE.items():
        by_engine = {name: answer for (name, asked), answer in answers.items() if asked == user}
        agreed = next(iter(by_engine.values()))
        if any(answer != agreed for answer in by_engine.values()):
            raise Failure(f"the engines do not agree about what {user} sees", str(by_engine))
        table = Table(title=f"{user}, {what}: {agreed.count} rows", title_justify="left")
        table.add_column("engine")
        for column in agreed.first[0]:
            table.add_column(column)
        for name, answer in by_engine.items():
            for number, row in enumerate(answer.first[:2]):
                table.add_row("" if number else name, *(str(value) for value in row.values()))
        screen.print(table)


def _explain(admin: Session) -> None:
    screen = console()
    screen.print(Text("\nWhat is hidden, and why", style="bold"))
    for user in lakehouse.PEOPLE:
        asked = {"metalake": lakehouse.METALAKE, "table": f"lake.retail.{TABLE}", "user": user}
        told = admin.post(("headgate", "lens"), asked)["explanation"]
        for line in _lines(told):
            screen.print(Text(f"  {user}: {line}"))


def _lines(told: dict[str, Any]) -> list[str]:
    lines = []
    for step in told.get("policies", []):
        if not step["applies"]:
            continue
        does = [f"sees only rows where {step['rows']}"] if step.get("rows") else []
        does += [f"sees {column} as {mask}" for column, mask in step.get("masks", {}).items()]
        does += [f"does not see {column}" for column in step.get("hides", [])]
        lines += [f"{what} (policy '{step['policy']}')" for what in does]
    return lines or ["sees everything"]


# -- the server ---------------------------------------------------------------------------------------------------------


def _token(admin: Session, user: str) -> str:
    text: str = admin.post(("headgate", "tokens"), {"user": user, "expires": "1d"})["text"]
    return text


@contextmanager
def _server(*, keep_port: bool) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A development server with its worker in a folder of its own, which goes when the demo ends."""
    home = Path(tempfile.mkdtemp(prefix="headgate-demo-"))
    said, log = home / "said", home / "log"
    port = "8090" if keep_port and _free(8090) else "0"
    command = [sys.executable, "-c", "from headgate.cli import main; main()", "serve", "--dev"]
    with said.open("wb") as out, log.open("wb") as err:
        process = subprocess.Popen(
            [*command, "--port", port, "--home", str(home)],
            stdout=out,
            stderr=err,
            env={key: value for key, value in os.environ.items() if not key.startswith("HEADGATE_")},
        )
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


def _invite(url: str, tokens: dict[str, str]) -> None:
    screen = console()
    screen.print(f"\nThe server listens on {url} until Ctrl-C. In another terminal, from here:\n")
    ann = tokens["ann"]
    for line in (
        "export PATH=$PWD/.venv/bin:$PATH",
        f"export HEADGATE_URL={url} HEADGATE_METALAKE={lakehouse.METALAKE} HEADGATE_USER=admin",
        "headgate lens status",
        "headgate explain --user ann --on table:lake.retail.people",
        "headgate audit tail --no-follow",
        "",
        "# as ann, in any Iceberg client; this one is pyiceberg",
        'python -c "from pyiceberg.catalog import load_catalog; '
        f"print(load_catalog('shop', type='rest', uri='{url}/iceberg', warehouse='{lakehouse.WAREHOUSE}', "
        f"token='{ann}').load_table('retail.people').scan(limit=5).to_arrow())\"",
        "",
        "# change what she sees, and ask again",
        "headgate apply examples/retail",
    ):
        screen.print(Text("  " + line if line else ""), soft_wrap=True)


if __name__ == "__main__":
    main()
