"""All commands, and how a failure becomes a message and an exit code."""

import sys
from typing import Annotated

import typer
from rich.text import Text

from headgate import __version__
from headgate.cli import guide
from headgate.cli.access import grants, group, owner, role, signing, token, user
from headgate.cli.failure import Failure
from headgate.cli.metadata import catalog, classify, engine_config, metalake, schema, table, tag, view
from headgate.cli.operations import audit, doctor, serve
from headgate.cli.output import console
from headgate.cli.policies import decisions, governance, key, lens, policy, trials
from headgate.cli.syncs import sync
from headgate.model.errors import Forbidden, HeadgateError, IllegalArgument, Unauthenticated

app = typer.Typer(
    name="headgate",
    help="One governance plane for a lakehouse of many catalogs and many engines.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _module in (
    serve, doctor, signing, token, metalake, catalog, schema, table, view, user, group, role, grants, owner, tag, policy, key, audit,
    sync, lens, decisions, governance, trials, classify, engine_config,
):  # fmt: skip
    app.add_typer(_module.app)


def _version(asked: bool) -> None:
    if asked:
        print(f"headgate {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """One governance plane for a lakehouse of many catalogs and many engines."""
    if context.invoked_subcommand is None:
        guide.show()


def main() -> None:
    """Run a command; a failure is one line with what to do next, never as a traceback."""
    try:
        app()
    except Failure as failure:
        _print_failure(failure.message, failure.next)
        sys.exit(failure.code)
    except HeadgateError as error:
        _print_failure(error.message, error.hint)
        sys.exit(_code(error))


def _code(error: HeadgateError) -> int:
    if isinstance(error, IllegalArgument):
        return 2
    return 3 if isinstance(error, Forbidden | Unauthenticated) else 1


def _print_failure(message: str, next: str | None) -> None:
    screen = console(err=True)
    screen.print(Text(f"headgate: {message}"))
    if next:
        screen.print(Text(f"  next: {next}"))
