"""What `headgate sync` asks of the server, with a sign of life while it waits."""

import re
import threading
from pathlib import Path
from typing import Any, Final

import msgspec

from headgate.cli import output
from headgate.cli.failure import Failure, Usage
from headgate.cli.session import Session
from headgate.model.errors import HeadgateError

_AGE: Final = re.compile(r"([1-9][0-9]{0,4})([smh])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}


def age(text: str) -> float:
    """Read a time span such as 30s, 5m or 1h."""
    found = _AGE.fullmatch(text)
    if found is None:
        raise Usage(f"'{text}' is no time span", "write it as 30s, 5m or 1h")
    return int(found[1]) * _SECONDS[found[2]]


def question(source: str, target: str, principals: Path | None) -> dict[str, Any]:
    """A system or a file with a snapshot, a target, and who is who."""
    return {
        **({"snapshot": snapshot_of(Path(source))} if is_file(source) else {"source": source}),
        "target": target,
        "names": None if principals is None else principal_map(principals),
    }


def is_file(source: str) -> bool:
    """Whether a source is a snapshot in a file; systems are KIND:NAME."""
    return source.endswith((".json", ".yaml", ".yml"))


def snapshot_of(file: Path) -> Any:
    """The snapshot in a file, as it is sent."""
    from headgate.sync.snapshots.snapshot import PolicySnapshot

    try:
        return msgspec.to_builtins(PolicySnapshot.read(file.read_bytes()))
    except OSError as error:
        raise Usage(f"{file} cannot be read ({error.strerror})", "correct --from") from None
    except HeadgateError as error:
        raise Usage(f"{file}: {error}", "write it with headgate sync fetch --file") from None


def principal_map(file: Path) -> dict[str, str]:
    """The map of principals as the file has it; the server says what is wrong with an entry."""
    import yaml

    try:
        found = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"{file} cannot be read ({type(error).__name__})", "correct --names") from None
    except yaml.YAMLError:
        raise Usage(f"{file} is not YAML", "write lines such as  user:ann: ann@example.org") from None
    if not isinstance(found, dict) or not all(isinstance(v, str) for pair in found.items() for v in pair):
        raise Usage(f"{file} does not map names to names", "write lines such as  user:ann: ann@example.org")
    return found


def send(session: Session, what: str, body: Any, doing: str, target: str | None = None) -> Any:
    """Ask and wait for the end, however long; on a terminal with a bar that follows the push to the target."""
    screen = output.console(err=True)
    path = ("headgate", "sync", what)
    if not screen.is_terminal:
        return session.ask("POST", path, body, patience=None)
    answer: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            answer.append(session.ask("POST", path, body, patience=None))
        except BaseException as error:
            failure.append(error)

    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    # Left behind when the command is interrupted: the server brings the push to its end by itself.
    waiting = threading.Thread(target=work, daemon=True)
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(doing, total=None)
        waiting.start()
        while waiting.is_alive():
            waiting.join(0.5)
            if target is not None and waiting.is_alive():
                settled, steps = _how_far(session, target)
                bar.update(task, completed=settled, total=steps)
    if failure:
        raise failure[0]
    return answer[0]


def _how_far(session: Session, target: str) -> tuple[int, int | None]:
    try:
        pushes = session.get(("headgate", "sync", "pushes"), target=target)["pushes"]
    except Failure:
        return 0, None
    running = [push for push in pushes if push["state"] == "running"]
    return (running[0]["settled"], running[0]["steps"]) if running else (0, None)
