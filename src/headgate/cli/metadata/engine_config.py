"""`headgate engine-config`: settings of an engine for a catalog, ready to paste."""

from typing import Annotated

import typer
from rich.text import Text

from headgate.cli.command import Catalog, command, verbs
from headgate.cli.output import Format, console
from headgate.cli.session import Session
from headgate.engines.config.names import ConfigFormat, EngineName, Through, parse_format

app = verbs()

Engine = Annotated[EngineName, typer.Option("--engine", help="The engine.", case_sensitive=False)]
Way = Annotated[
    Through,
    typer.Option(
        "--through",
        help="headgate: the Iceberg door, under its policies. native: the system behind it, without them.",
        case_sensitive=False,
    ),
]
Form = Annotated[
    ConfigFormat | None,
    typer.Option("--format", help="How to write them, of the engine's formats.", case_sensitive=False),
]
Server = Annotated[
    str | None, typer.Option("--server", help="Where engines reach the server, if not at --url.")
]


@command(app, "engine-config")
def engine_config(
    session: Session,
    engine: Engine,
    catalog: Catalog,
    through: Way = Through.HEADGATE,
    format: Form = None,
    server: Server = None,
) -> None:
    """Write the settings with which an engine reads a catalog, ready to paste. They hold no secrets."""
    asked = {
        "metalake": session.in_metalake()[1],
        "catalog": catalog,
        "engine": engine,
        "through": through,
        "format": parse_format(engine, format),
        "server": server or session.url,
    }
    config = session.get(("headgate", "engine-config"), **asked)["config"]
    if session.format is not Format.TABLE:
        session.show(config)
        return
    # As it is: a table would wrap lines that are to be pasted.
    print(config["text"], end="")
    if config["warning"]:
        console(err=True).print(Text(config["warning"]))
