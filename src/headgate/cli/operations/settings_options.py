"""The options of commands that take settings of the server, made from the records of the settings."""

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from headgate.settings.setting import SETTINGS, Command, Setting


def option(setting: Setting) -> Any:
    """The option of a command for a setting."""
    flag = setting.flag
    assert flag is not None
    return typer.Option(flag, help=setting.option_help)


def taking_settings(
    command: Command, settings: Iterable[Setting] = SETTINGS
) -> Callable[[Callable[[dict[str, Any]], None]], Callable[..., None]]:
    """Make `function(flags)` a command that takes the flags of every setting that is for it."""

    def decorate(function: Callable[[dict[str, Any]], None]) -> Callable[..., None]:
        own = [setting for setting in settings if command in setting.commands]

        def run(**flags: Any) -> None:
            for setting in own:
                if setting.turns_off:
                    flags[setting.name] = False if flags[setting.name] else None
            function(flags)

        parameters = [
            inspect.Parameter(
                s.name,
                inspect.Parameter.KEYWORD_ONLY,
                # None unless the flag is given, so that the environment and the file count.
                default=None,
                annotation=Annotated[s.form.of_flag | None, option(s)],
            )
            for s in own
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__doc__ = function.__doc__
        return run

    return decorate
