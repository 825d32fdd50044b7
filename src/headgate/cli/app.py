"""All commands, and how a failure becomes a message and an exit code."""

import sys
from typing import Annotated

import typer
from rich.text import Text

from headgate import __version__
from headgate.cli import (
    audit,
    catalog,
    classify,
    decisions,
    doctor,
    governance,
    grants,
    group,
    key,
    lens,
    metalake,
    owner,
    policy,
    role,
    schema,
    serve,
    sync,
    table,
    tag,
    token,
    trials,
    user,
)
from headgate.cli.failure import Failure
from headgate.cli.output import console
from headgate.model.errors import Forbidden, HeadgateError, IllegalArgument, Unauthenticated

app = typer.Typer(
    name="headgate",
    help="One governance plane for a lakehouse of many catalogs and many engines.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("serve")(serve.serve)
app.command("worker")(serve.worker)
app.command("doctor")(doctor.doctor)
for _noun in (token, metalake, catalog, schema, table, user, group, role):
    app.add_typer(_noun.app)
app.add_typer(grants.grant)
app.add_typer(grants.revoke)
for _noun in (owner, tag, policy, key, audit, sync, lens):
    app.add_typer(_noun.app)
decisions.register(app)
governance.register(app)
trials.register(app)
classify.register(app)


def _version(asked: bool) -> None:
    if asked:
        print(f"headgate {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """One governance plane for a lakehouse of many catalogs and many engines."""


def main() -> None:
    """Run a command; a failure is told in one line with what to do next, never as a traceback."""
    try:
        app()
    except Failure as failure:
        _told(failure.message, failure.next)
        sys.exit(failure.code)
    except HeadgateError as error:
        _told(error.message, error.hint)
        sys.exit(_code(error))


def _code(error: HeadgateError) -> int:
    if isinstance(error, IllegalArgument):
        return 2
    return 3 if isinstance(error, Forbidden | Unauthenticated) else 1


def _told(message: str, next: str | None) -> None:
    screen = console(err=True)
    screen.print(Text(f"headgate: {message}"))
    if next:
        screen.print(Text(f"  next: {next}"))
