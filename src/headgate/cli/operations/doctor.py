"""`headgate doctor`: what is wrong with a server's machine, its store and what is behind it, for whoever can open the store."""

from typing import Annotated

import msgspec
import typer

from headgate.cli.command import Output, verbs
from headgate.cli.failure import Failure
from headgate.cli.operations.settings_options import option
from headgate.cli.output import AnswerFormat, Format, done, show
from headgate.settings.setting import HOME, STORE

app = verbs()

Home = Annotated[str | None, option(HOME)]
StoreUrl = Annotated[str | None, option(STORE)]
Release = Annotated[
    int | None,
    typer.Option("--release", help="Let go of the places of this dropped object: nobody's files lie there."),
]


@app.command("doctor")
def doctor(
    home: Home = None, store: StoreUrl = None, release: Release = None, output: Output = AnswerFormat.TABLE
) -> None:
    """Say what is wrong and what to do about it: Python, Spark and Java, the store, its clock and places, catalogs and their storage, issuers of tokens, workers. Exit code 1 if anything is."""
    # Only this command and the server need these rooms; the others start faster without them.
    from headgate.cli.operations import machine
    from headgate.model.errors import HeadgateError, Unavailable
    from headgate.settings.server import load
    from headgate.steward.doctor import examine_whole
    from headgate.store import Store, dropped

    format = Format(output)
    settings = load({"home": home, "store": store})
    opened = Store(settings.store.hidden)
    try:
        opened.check()
        if release is not None:
            with opened.write("operator", "release") as tx:
                name = dropped.release(tx, release)
            done(f"The places of {name} are nobody's now.", None, format)
            return
        # What the machine lacks is often why what is on it does not work, so it is named first.
        found = [*machine.examine(settings), *examine_whole(opened, settings.warehouse, settings.openings)]
    except HeadgateError as error:
        where = "name the server's --home or --store"
        if isinstance(error, Unavailable):
            raise Failure(error.message, f"{where} ({error.hint})" if error.hint else where) from None
        raise Failure(error.message, error.hint or where) from None
    finally:
        opened.close()
    if found or format is not Format.TABLE:
        show([msgspec.to_builtins(finding) for finding in found], ("check", "problem", "next"), format)
    else:
        done(
            "Nothing is wrong with Python, Spark, Java, the store, its clock, places, catalogs, issuers and workers.",
            None,
            format,
        )
    if found:
        raise typer.Exit(1)
