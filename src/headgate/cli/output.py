"""How answers are shown: a table for people, JSON and YAML for scripts."""

import enum
import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


class Format(enum.StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    JUNIT = "junit"
    """For pipelines that read test reports; of commands that make one only."""
    MARKDOWN = "markdown"
    """For comments on a change under review; of `headgate plan` only."""


class PlanFormat(enum.StrEnum):
    """What a plan offers."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"


class ReportFormat(enum.StrEnum):
    """What commands offer that make a report."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    JUNIT = "junit"


class AnswerFormat(enum.StrEnum):
    """What every command offers, also those that make no report."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def console(*, err: bool = False) -> Console:
    """A console that never cuts what goes into a pipe."""
    stream = sys.stderr if err else sys.stdout
    return Console(stderr=err, width=None if stream.isatty() else 200, highlight=False, soft_wrap=err)


def show(value: Any, columns: Sequence[str], format: Format) -> None:
    if format is Format.TABLE:
        console().print(_rows(value, columns) if isinstance(value, list) else _members(value))
    else:
        print(text(value, format))


def done(message: str, value: Any, format: Format) -> None:
    if format is Format.TABLE:
        console().print(Text(message))
    else:
        print(text({"done": message} if value is None else value, format))


def text(value: Any, format: Format) -> str:
    assert format in (Format.JSON, Format.YAML), "a command that offers another form writes it itself"
    if format is Format.YAML:
        # Commands start faster without it, and few are asked for it.
        import yaml

        return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True)).rstrip("\n")
    return json.dumps(value, indent=2, ensure_ascii=False)


def _rows(items: list[Any], columns: Sequence[str]) -> Table | Text:
    if not items:
        return Text("(none)")
    table = Table(*columns)
    for item in items:
        table.add_row(*(Text(_cell(item.get(c) if isinstance(item, dict) else item)) for c in columns))
    return table


def _members(value: Any) -> Table | Text:
    if not isinstance(value, dict):
        return Text(_cell(value))
    table = Table(show_header=False)
    for key, member in value.items():
        table.add_row(Text(key), Text(_cell(member)))
    return table


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "\n".join(f"{key} = {_cell(member)}" for key, member in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(_cell(member) for member in value)
    return str(value)
