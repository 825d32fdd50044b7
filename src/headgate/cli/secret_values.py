"""Values that need not stand on the command line: `@file:PATH`, `@env:NAME` and `@prompt`; `@@…` stands for `@…`.

Whoever lists the processes of a machine reads their arguments, and a shell keeps them. Only these three spellings mean something
else than what they say, so a value such as `@team` stays as it is.
"""

import os
import sys
from pathlib import Path
from typing import Final

import typer

from headgate.cli.failure import Usage

FILE: Final = "@file:"
ENVIRONMENT: Final = "@env:"
PROMPT: Final = "@prompt"


def reveal(text: str, what: str) -> str:
    """The value that is meant; `what` names it to whoever is asked for it."""
    if text.startswith("@@"):
        return text[1:]
    if text.startswith(FILE):
        return _of_file(Path(text.removeprefix(FILE)).expanduser(), what)
    if text.startswith(ENVIRONMENT):
        return _of_environment(text.removeprefix(ENVIRONMENT), what)
    return ask(what) if text == PROMPT else text


def ask(what: str) -> str:
    """Ask for a value without showing it."""
    if not sys.stdin.isatty():
        raise Usage(f"nobody can be asked for {what} here", f"write it as {FILE}PATH or {ENVIRONMENT}NAME")
    return str(typer.prompt(what, hide_input=True, err=True))


def _of_file(path: Path, what: str) -> str:
    try:
        # An editor ends a file with a line break, which is no part of the secret.
        return path.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise Usage(f"{what}: {path} cannot be read ({error.strerror})", "name another file") from None
    except UnicodeDecodeError:
        raise Usage(f"{what}: {path} is not UTF-8 text", "save it as UTF-8") from None


def _of_environment(name: str, what: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise Usage(f"{what}: the variable '{name}' is not set", "set it, or name another one")
    return value
