"""Promise: every module of commands is registered in the one way, no folder is crowded, and help starts at once."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import headgate.cli
from headgate.cli import app as whole

FOLDERS = ("access", "metadata", "operations", "policies", "syncs")
SLOW = (
    "sqlalchemy",
    "alembic",
    "sqlglot",
    "pyspark",
    "pyarrow",
    "numpy",
    "uvicorn",
    "boto3",
    "httpx",
    "yaml",
)


def modules() -> dict[str, object]:
    names = [m.name for m in pkgutil.walk_packages(headgate.cli.__path__, "headgate.cli.") if not m.ispkg]
    return {name: importlib.import_module(name) for name in names}


def test_every_module_with_commands_has_an_app_and_is_listed() -> None:
    listed = {group.typer_instance for group in whole.app.registered_groups}
    for name, module in modules().items():
        assert not hasattr(module, "register"), f"{name} registers itself in a way of its own"
        own = getattr(module, "app", None)
        if isinstance(own, typer.Typer) and module is not whole:
            assert own in listed, f"{name} has commands that headgate.cli.app does not list"
    assert not whole.app.registered_commands


@pytest.mark.parametrize("folder", ["", *FOLDERS])
def test_no_folder_of_commands_is_crowded(folder: str) -> None:
    assert len(list(Path(headgate.cli.__path__[0], folder).glob("*.py"))) <= 15


def test_help_loads_no_room_that_it_does_not_need() -> None:
    asked = "import sys\nfrom headgate.cli.app import app\nprint(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "headgate.cli.operations.serve" in loaded
    assert sorted({name.partition(".")[0] for name in loaded} & set(SLOW)) == []
    assert "rich.progress" not in loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("headgate.")}
    assert rooms <= {"cli", "model", "settings", "pipelines", "engines"}
