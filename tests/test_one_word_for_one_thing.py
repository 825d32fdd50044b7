"""Promise: in every room a class name stands for one thing, functions are named by verbs of the trade, and no folder is crowded."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "headgate"
ROOMS = tuple(sorted(folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()))
VAGUE = frozenset({"told", "said", "gave", "parted", "whose"})
"""Words that meant parse, render, translate, redact and record by turns."""


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for room in ROOMS:
        for file in sorted((SOURCE / room).rglob("*.py")):
            yield file.relative_to(SOURCE), ast.parse(file.read_text())


def test_a_class_name_stands_for_one_thing() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for file, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(file))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_functions_are_named_by_what_they_do() -> None:
    vague = [
        f"{file}: {node.name}"
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.strip("_") in VAGUE
    ]
    assert vague == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_folder_is_crowded(room: str) -> None:
    counts = {
        f.relative_to(SOURCE): len(list(f.glob("*.py"))) for f in (SOURCE / room, *(SOURCE / room).rglob("*"))
    }
    assert {str(folder): count for folder, count in counts.items() if count > 16} == {}
