"""How a command is written: a function that takes a session; the options all commands share are added to it.

Every module of commands has an `app`, made by `group` or `verbs`, and `headgate.cli.app` lists the modules.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from headgate.cli.failure import Usage
from headgate.cli.output import Format
from headgate.cli.session import Session

Url = Annotated[str, typer.Option("--url", envvar="HEADGATE_URL", help="Where the server is.")]
Token = Annotated[
    str | None,
    typer.Option("--token", envvar="HEADGATE_TOKEN", show_envvar=True, help="Who you are, proven."),
]
Login = Annotated[
    str | None,
    typer.Option("--login", envvar="HEADGATE_USER", help="Who you are, believed by a --dev server only."),
]
Metalake = Annotated[str | None, typer.Option("--metalake", envvar="HEADGATE_METALAKE", help="The metalake.")]
Output = Annotated[Format, typer.Option("--output", help="How to show the answer.", case_sensitive=False)]

_SHARED = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, annotation, default in (
        ("url", Url, "http://127.0.0.1:8090"),
        ("token", Token, None),
        ("login", Login, None),
        ("metalake", Metalake, None),
        ("output", Output, Format.TABLE),
    )
]

# -- options that many commands have --------------------------------------------------------------------------

Name = Annotated[str, typer.Option("--name", help="Its name.")]
Catalog = Annotated[str, typer.Option("--catalog", help="The catalog.")]
Schema = Annotated[str, typer.Option("--schema", help="The schema.")]
Comment = Annotated[str | None, typer.Option("--comment", help="What it is for.")]
Properties = Annotated[str | None, typer.Option("--properties", help="k=v,k=v")]
Rename = Annotated[str | None, typer.Option("--rename", help="Its new name.")]
Remove = Annotated[str | None, typer.Option("--remove", help="Properties to remove: k,k")]
On = Annotated[str, typer.Option("--on", help="The object as TYPE:NAME, e.g. table:lake.sales.orders.")]
Force = Annotated[bool, typer.Option("--force", help="Even if it is in use or not empty.")]


def group(name: str, help: str) -> typer.Typer:
    """A noun with its verbs."""
    return typer.Typer(name=name, help=help, no_args_is_help=True, rich_markup_mode=None)


def verbs() -> typer.Typer:
    """Commands that have no noun before them."""
    return typer.Typer(rich_markup_mode=None)


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register `function(session, …)` as a command with the shared options."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in list(signature.parameters.values())[1:]
        ]

        def run(**given: Any) -> None:
            shared = {parameter.name: given.pop(parameter.name) for parameter in _SHARED}
            function(Session(format=shared.pop("output"), **shared), **given)

        parameters = [*own, *_SHARED]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__doc__ = function.__doc__
        app.command(name)(run)
        return function

    return register


def pairs(text: str | None) -> dict[str, str]:
    """Read ``k=v,k=v``."""
    found: dict[str, str] = {}
    for part in names(text):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise Usage(f"'{part}' is not key=value", "write --properties k=v,k=v")
        found[key.strip()] = value.strip()
    return found


def names(text: str | None) -> list[str]:
    """Read ``a,b``."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def object_of(text: str) -> tuple[str, str]:
    """Read ``TYPE:NAME``."""
    type, colon, name = text.partition(":")
    if not colon or not name:
        raise Usage(f"'{text}' does not name an object", "write TYPE:NAME, e.g. table:lake.sales.orders")
    return type.lower(), name


def updates(
    rename: str | None, comment: str | None, properties: str | None, remove: str | None
) -> dict[str, Any]:
    """The common changes of an object, as the server reads them."""
    changes: list[dict[str, str]] = []
    if rename is not None:
        changes.append({"@type": "rename", "newName": rename})
    if comment is not None:
        changes.append({"@type": "updateComment", "newComment": comment})
    changes += [
        {"@type": "setProperty", "property": key, "value": value} for key, value in pairs(properties).items()
    ]
    changes += [{"@type": "removeProperty", "property": key} for key in names(remove)]
    if not changes:
        raise Usage("nothing to change", "give --rename, --comment, --properties or --remove")
    return {"updates": changes}
