"""The table of commands in docs/commands.md, written from the commands themselves."""

from collections.abc import Iterator
from typing import Any

import typer.main

from headgate.cli.app import app as whole
from headgate.cli.failure import Denied, Failure, Usage, WouldChange


def command_table() -> str:
    """One line per command: what it does, and the options that it must be given or knows besides those of all."""
    lines = ["| command | does | options |", "|---|---|---|"]
    shared = _options(dict(_commands(typer.main.get_command(whole), "headgate"))["headgate metalake list"])
    for path, command in _commands(typer.main.get_command(whole), "headgate"):
        does = (command.help or "").partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")
        options = [option for option in _options(command) if option not in shared]
        lines.append(
            f"| `{' '.join((path, *_places(command)))}` | {does} | {', '.join(f'`{option}`' for option in options)} |"
        )
    return "\n".join(lines) + "\n"


def exit_table() -> str:
    """One line per exit code."""
    rows = [
        (0, "It did what it said."),
        *((kind.code, kind.__doc__ or "") for kind in (Failure, Usage, Denied, WouldChange)),
    ]
    return (
        "\n".join(("| exit code | means |", "|---|---|", *(f"| {code} | {says} |" for code, says in rows)))
        + "\n"
    )


def _commands(at: Any, path: str) -> Iterator[tuple[str, Any]]:
    below = getattr(at, "commands", None)
    if below is None:
        yield path, at
    for name, command in (below or {}).items():
        yield from _commands(command, f"{path} {name}")


def _options(command: Any) -> list[str]:
    return [max(parameter.opts, key=len) for parameter in command.params if parameter.opts[0].startswith("-")]


def _places(command: Any) -> list[str]:
    """What may stand without an option, as the help shows it."""
    return [
        str(parameter.metavar)
        for parameter in command.params
        if parameter.param_type_name == "argument" and parameter.metavar
    ]
