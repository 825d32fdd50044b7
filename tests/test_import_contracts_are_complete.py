"""Promise: the import contracts speak of every room, so that a new room or a new driver is not forgotten."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = {
    path.stem if path.suffix == ".py" else path.name
    for path in (ROOT / "src" / "headgate").iterdir()
    if not path.name.startswith("__")
}
MAY = {
    "Only pipelines imports Spark": {"pipelines"},
    "Only store knows SQL": {"store"},
    "Only doors knows HTTP servers": {"doors"},
    "Only cli knows the terminal": {"cli"},
    "Only catalogs, vending, sync and engines know other people's systems": {
        "catalogs",
        "vending",
        "sync",
        "engines",
    },
}
"""The rooms that a contract lets import what it forbids to all others."""


def contracts() -> dict[str, dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {contract["name"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


@pytest.mark.parametrize("name", MAY)
def test_what_one_room_knows_is_forbidden_to_every_other(name: str) -> None:
    sources = {module.removeprefix("headgate.") for module in contracts()[name]["source_modules"]}
    assert sources == ROOMS - MAY[name]


def test_every_room_has_its_layer() -> None:
    layers = contracts()["A room imports the rooms below it, never one above"]
    assert layers["exhaustive"]
    assert {layer.strip("()") for layer in layers["layers"]} >= ROOMS


def test_no_door_imports_the_store() -> None:
    contract = contracts()["No door imports the store: it asks the steward"]
    assert contract["source_modules"] == ["headgate.doors"]
    assert "ignore_imports" not in contract
