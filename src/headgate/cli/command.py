"""How a command is written: a function that takes a session; the options all commands share are added to it.

Every module of commands has an `app`, made by `group` or `verbs`, and `headgate.cli.app` lists the modules.
"""

import inspect
import re
import sys
from collections.abc import Callable
from typing import Annotated, Any, Final, get_args

import typer

from headgate.cli import naming
from headgate.cli.failure import Failure, Usage
from headgate.cli.naming import Catalog as Catalog
from headgate.cli.naming import Name as Name
from headgate.cli.naming import Schema as Schema
from headgate.cli.output import AnswerFormat, Format, PlanFormat, ReportFormat
from headgate.cli.profiles import LOCAL, sign_in
from headgate.cli.secret_values import reveal
from headgate.cli.session import Session

Url = Annotated[
    str | None,
    typer.Option("--url", envvar="HEADGATE_URL", help=f"Where the server is (default: {LOCAL})."),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="HEADGATE_TOKEN",
        show_envvar=True,
        help="Who you are, proven; better as @file:PATH, @env:NAME or @prompt.",
    ),
]
Login = Annotated[
    str | None,
    typer.Option("--login", envvar="HEADGATE_USER", help="Who you are, believed by a --dev server only."),
]
Metalake = Annotated[str | None, typer.Option("--metalake", envvar="HEADGATE_METALAKE", help="The metalake.")]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        envvar="HEADGATE_PROFILE",
        help="The profile that 'headgate login' kept (default: the last).",
    ),
]
Output = Annotated[
    AnswerFormat, typer.Option("--output", help="How to show the answer.", case_sensitive=False)
]
ReportOutput = Annotated[
    ReportFormat,
    typer.Option("--output", help="How to show the answer; junit is a test report.", case_sensitive=False),
]
PlanOutput = Annotated[
    PlanFormat,
    typer.Option(
        "--output",
        help="How to show the answer; markdown is a comment for a review.",
        case_sensitive=False,
    ),
]


def _shared(output: Any) -> list[inspect.Parameter]:
    """The options that all commands share; what they offer as --output is not the same for all."""
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, annotation, default in (
            ("url", Url, None),
            ("token", Token, None),
            ("login", Login, None),
            ("metalake", Metalake, None),
            ("profile", ProfileName, None),
            ("output", output, get_args(output)[0].TABLE),
        )
    ]


# -- options that many commands have --------------------------------------------------------------------------

Comment = Annotated[str | None, typer.Option("--comment", help="What it is for.")]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--properties",
        help="k=v,k=v; a comma in a value is written '\\,'. May be repeated. "
        "A secret: k=@file:PATH, k=@env:NAME or k=@prompt.",
    ),
]
Rename = Annotated[str | None, typer.Option("--rename", help="Its new name.")]
Remove = Annotated[str | None, typer.Option("--remove", help="Properties to remove: k,k")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
On = Annotated[str, typer.Option("--on", help="The object as TYPE:NAME, e.g. table:lake.sales.orders.")]
Force = Annotated[bool, typer.Option("--force", help="Even if it is in use or not empty.")]


def group(name: str, help: str) -> typer.Typer:
    """A noun with its verbs."""
    return typer.Typer(name=name, help=help, no_args_is_help=True, rich_markup_mode=None)


def verbs() -> typer.Typer:
    """Commands that have no noun before them."""
    return typer.Typer(rich_markup_mode=None)


def command(
    app: typer.Typer, name: str, *, output: Any = Output
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register `function(session, …)` as a command with the shared options; `output` says how it can answer."""
    options = _shared(output)

    def register(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in list(signature.parameters.values())[1:]
        ]

        parts = naming.naming(own)

        def run(context: typer.Context, **given: Any) -> None:
            shared = {parameter.name: given.pop(parameter.name) for parameter in options}
            if parts:
                given |= naming.resolve(parts, given)
                given.pop(naming.PLACE)
            format = Format(shared.pop("output"))
            function(session(format, flags_of(context), **shared), **given)

        parameters = [_CONTEXT, *naming.placed(own, parts), *options]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__doc__ = function.__doc__
        app.command(name)(run)
        return function

    return register


_CONTEXT: Final = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def flags_of(context: typer.Context) -> frozenset[str]:
    """The parameters that stood on the command line, not in the environment."""
    return frozenset(
        name
        for name in context.params
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"
    )


def session(format: Format, flags: frozenset[str], **given: str | None) -> Session:
    """The session that flags, variables and the profile lead to."""
    signed = sign_in(flags=flags, **given)
    return Session(
        url=signed.url,
        token=signed.token,
        login=signed.login,
        metalake=signed.metalake,
        profile=signed.profile,
        format=format,
    )


def confirm(question: str, yes: bool, *, look: str) -> None:
    """Ask before something is done that is hard to take back; a no is a failure."""
    need_answer(yes, look=look)
    if not yes and not typer.confirm(question, err=True):
        raise Failure("nothing was changed")


def need_answer(yes: bool, *, look: str) -> None:
    """Refuse where nobody can be asked and nobody said yes before; `look` says how to see first what would be done."""
    if not yes and not sys.stdin.isatty():
        raise Usage("nobody can be asked here", f"{look}, then add --yes")


def pairs(texts: list[str] | None) -> dict[str, str]:
    """Read ``k=v,k=v``, given once or several times."""
    found: dict[str, str] = {}
    for part in (part for text in texts or () for part in names(text)):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise Usage(
                f"'{part}' is not key=value", "write --properties k=v,k=v, and a comma in a value as '\\,'"
            )
        if key.strip() in found:
            raise Usage(f"property '{key.strip()}' is given twice", "give it once")
        found[key.strip()] = reveal(value.strip(), key.strip())
    return found


def names(text: str | None) -> list[str]:
    """Read ``a,b``; a comma after a backslash belongs to the name."""
    parts = (part.replace("\\,", ",").strip() for part in re.split(r"(?<!\\),", text or ""))
    return [part for part in parts if part]


def object_of(text: str) -> tuple[str, str]:
    """Read ``TYPE:NAME``."""
    type, colon, name = text.partition(":")
    if not colon or not name:
        raise Usage(f"'{text}' does not name an object", "write TYPE:NAME, e.g. table:lake.sales.orders")
    return type.lower(), name


def updates(
    rename: str | None, comment: str | None, properties: list[str] | None, remove: str | None
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
