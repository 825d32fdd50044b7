"""Which object a command is about: `--name ann` as well as `ann`, and `lake.sales.orders` for a table.

A function that takes a `Name`, with or without a `Catalog` and a `Schema`, gets the place where the name may stand without an
option. INVARIANT: both spellings mean the same, and a command that is given both and different ones does nothing.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from headgate.cli.failure import Usage

Name = Annotated[str, typer.Option("--name", help="Its name.")]
Catalog = Annotated[str, typer.Option("--catalog", help="The catalog.")]
Schema = Annotated[str, typer.Option("--schema", help="The schema.")]

_PARTS: Final[tuple[tuple[str, Any], ...]] = (("catalog", Catalog), ("schema", Schema), ("name", Name))
PLACE: Final = "named"
"""The parameter that takes what stands without an option."""


def naming(own: Sequence[inspect.Parameter]) -> tuple[str, ...]:
    """The parts of the name that a command takes, from the outermost."""
    taken = {parameter.name: parameter.annotation for parameter in own}
    return tuple(name for name, annotation in _PARTS if taken.get(name) is annotation)


def placed(own: Sequence[inspect.Parameter], parts: tuple[str, ...]) -> list[inspect.Parameter]:
    """The parameters of a command whose name may stand without an option, in front of the others."""
    if not parts:
        return list(own)
    optional = dict(_PARTS)
    help = f"{_written(parts)}, or the options {', '.join(f'--{part}' for part in parts)}."
    place = inspect.Parameter(
        PLACE,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[
            str | None, typer.Argument(metavar=f"[{_written(parts)}]", help=help, show_default=False)
        ],
    )
    return [
        place,
        *(
            parameter.replace(
                default=None, annotation=Annotated[str | None, optional[parameter.name].__metadata__[0]]
            )
            if parameter.name in parts
            else parameter
            for parameter in own
        ),
    ]


def resolve(parts: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, str]:
    """The parts of the name, from where they stand."""
    options = {part: given[part] for part in parts if given[part] is not None}
    text = given[PLACE]
    if text is None:
        return _complete(parts, options)
    read = _read(parts, options, text)
    for part, value in read.items():
        if options.get(part, value) != value:
            raise Usage(
                f"'{text}' and --{part} {options[part]} name different things", f"leave --{part} or it out"
            )
    return _complete(parts, {**read, **options})


def _read(parts: tuple[str, ...], options: Mapping[str, str], text: str) -> dict[str, str]:
    """What stands without an option: the whole name, or what the options leave open of it."""
    if len(parts) == 1:
        # A name of one part may hold dots.
        return {parts[0]: text}
    open = [part for part in parts if part not in options]
    words = text.split(".")
    for wanted in (open, parts[-len(words) :]):
        if len(words) == len(wanted):
            return dict(zip(wanted, words, strict=True))
    if len(open) == 1:
        return {open[0]: text}
    raise Usage(f"'{text}' is not the whole name", f"write {_written(parts)}")


def _complete(parts: tuple[str, ...], found: dict[str, str]) -> dict[str, str]:
    missing = [part for part in parts if part not in found]
    if missing:
        raise Usage(
            f"no {missing[0]} is given", f"write {_written(parts)}, or {', '.join(f'--{p}' for p in missing)}"
        )
    return found


def _written(parts: tuple[str, ...]) -> str:
    return ".".join(part.upper() for part in parts)
