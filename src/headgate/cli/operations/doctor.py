"""`headgate doctor`: what is wrong with a server's store, for whoever can open it."""

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
    """Say what is wrong and what to do about it; exit code 1 if anything is."""
    # Only this command and the server need these rooms; the others start faster without them.
    from headgate.model.errors import HeadgateError, Unavailable
    from headgate.settings.server import load
    from headgate.steward.doctor import examine
    from headgate.store import Store, dropped

    format = Format(output)
    opened = Store(load({"home": home, "store": store}).store.hidden)
    try:
        opened.check()
        if release is not None:
            with opened.write("operator", "release") as tx:
                name = dropped.release(tx, release)
            done(f"The places of {name} are nobody's now.", None, format)
            return
        found = examine(opened)
    except HeadgateError as error:
        where = "name the server's --home or --store"
        if isinstance(error, Unavailable):
            raise Failure(error.message, f"{where} ({error.hint})" if error.hint else where) from None
        raise Failure(error.message, error.hint or where) from None
    finally:
        opened.close()
    show([msgspec.to_builtins(finding) for finding in found], ("check", "problem", "next"), format)
    if found:
        raise typer.Exit(1)
