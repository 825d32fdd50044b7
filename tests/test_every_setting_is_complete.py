"""Promise: a setting is one record; flags, variables, the file, the help, the errors and the page are made from it."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer.main

from headgate.cli.app import app
from headgate.model.errors import IllegalArgument
from headgate.settings.page import setting_table
from headgate.settings.server import Settings, load
from headgate.settings.setting import PORT, SETTINGS, SPARK_REMOTE, WORKERS, Setting, register

MADE_OF = {
    "openings": {"places", "hosts", "warehouse", "largest_document"},
    "oidc": set(),
    "connections": set(),
}
"""Fields of the settings that are put together from several records, or stand in the file only."""
OTHERS = {"config", "places", "hosts", "largest_document"}
"""Records that lead to no field of their own."""
EXAMPLES: dict[str, tuple[str, Any]] = {
    "port": ("1234", 1234),
    "workers": ("3", 3),
    "largest_document": ("7", 7),
    "spark_remote": ("sc://a:1", None),
    "hosts": ("a.example:1", None),
}


@pytest.mark.parametrize("part", ["form", "default_text", "help"])
def test_a_record_that_lacks_a_part_is_refused_by_name(part: str) -> None:
    with pytest.raises(TypeError, match=f"'port' has no '{part}'"):
        register([replace(PORT, **{part: None})])  # type: ignore[arg-type]


def test_no_part_of_a_record_can_be_left_out() -> None:
    parts = {f.name: getattr(PORT, f.name) for f in fields(Setting)}
    for name in parts:
        with pytest.raises(TypeError, match=name):
            Setting(**{key: value for key, value in parts.items() if key != name})


def test_a_setting_that_can_be_given_nowhere_or_clashes_is_refused() -> None:
    with pytest.raises(TypeError, match="'port' can be given nowhere"):
        register([replace(PORT, flag=None, variable=None, key=None, commands=())])
    with pytest.raises(TypeError, match="'port' has a flag without a command"):
        register([replace(PORT, commands=())])
    with pytest.raises(TypeError, match="two settings have the variable 'HEADGATE_PORT'"):
        register([PORT, replace(WORKERS, variable="HEADGATE_PORT")])


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_command_takes_exactly_the_flags_of_the_records(command: str) -> None:
    group: Any = typer.main.get_command(app)
    options = {opt: p.help for p in group.commands[command].params for opt in p.opts if opt != "--help"}
    assert options == {s.flag: s.option_help for s in SETTINGS if command in s.commands}


def test_every_field_of_the_settings_comes_from_a_record() -> None:
    names = {field.name for field in msgspec.structs.fields(Settings)}
    assert names == {s.name for s in SETTINGS} - OTHERS | MADE_OF.keys()


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s.variable and s.key], ids=lambda s: s.name)
def test_every_source_of_a_setting_is_read(tmp_path: Path, setting: Setting) -> None:
    assert setting.variable is not None
    assert setting.key is not None
    text, value = EXAMPLES.get(setting.name, ("s3://somewhere", None))
    toml = (
        f"{value}"
        if isinstance(value, int)
        else f'["{text}"]'
        if setting.form.of_file == tuple[str, ...]
        else f'"{text}"'
    )
    (tmp_path / "headgate.toml").write_text(f"{setting.key} = {toml}\n")
    home = {"home": str(tmp_path)}
    by_file = load(home, {})
    (tmp_path / "headgate.toml").unlink()
    assert by_file == load({**home, setting.name: text}, {}) == load(home, {setting.variable: text})
    assert by_file != load(home, {})


@pytest.mark.parametrize(
    ("flags", "environment", "setting"),
    [
        ({"port": 70_000}, {}, PORT),
        ({}, {"HEADGATE_PORT": "x"}, PORT),
        ({}, {"HEADGATE_WORKERS": "0"}, WORKERS),
        ({"spark_remote": "http://x"}, {}, SPARK_REMOTE),
    ],
)
def test_an_error_names_the_flag_the_variable_and_the_key(
    tmp_path: Path, flags: dict[str, Any], environment: dict[str, str], setting: Setting
) -> None:
    with pytest.raises(IllegalArgument) as refused:
        load({"home": str(tmp_path), **flags}, environment)
    for source in (setting.flag, setting.variable, f"'{setting.key}' in headgate.toml"):
        assert source is not None
        assert source in (refused.value.hint or "")


def test_an_empty_variable_opens_nothing(tmp_path: Path) -> None:
    settings = load(
        {"home": str(tmp_path)}, {"HEADGATE_HOST": "", "HEADGATE_STORE": "", "HEADGATE_WAREHOUSE": ""}
    )
    assert settings == load({"home": str(tmp_path)}, {})
    assert settings.host == "127.0.0.1"


def test_the_page_has_the_settings_as_they_are() -> None:
    page = (Path(__file__).parents[1] / "docs" / "server.md").read_text()
    assert setting_table() in page, "run scripts/documents.py --write"


def test_the_worker_is_left_out_by_flag_or_file(tmp_path: Path) -> None:
    home = {"home": str(tmp_path)}
    assert load(home, {}).worker
    assert not load({**home, "worker": False}, {}).worker
    (tmp_path / "headgate.toml").write_text("worker = false\n")
    assert not load(home, {}).worker
