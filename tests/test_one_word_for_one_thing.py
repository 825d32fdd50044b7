"""Promise: in every room a class name stands for one thing, everything has a name of the trade, and no folder is crowded."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "headgate"
ROOMS = tuple(sorted(folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()))
VAGUE = frozenset({"told", "said", "gave", "parted", "whose", "outlook", "foresight", "sight"})
"""Words that meant parse, render, translate, redact and record by turns, or nothing that anybody would guess."""


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for room in ROOMS:
        for file in sorted((SOURCE / room).rglob("*.py")):
            yield file.relative_to(SOURCE), ast.parse(file.read_text())


def shared(classes: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The files of every name that two classes have; an underscore before it makes no other name."""
    found: dict[str, list[str]] = defaultdict(list)
    for file, name in classes:
        found[name.lstrip("_")].append(file)
    return {name: files for name, files in found.items() if len(files) > 1}


def test_a_class_name_stands_for_one_thing() -> None:
    classes = [
        (str(file), node.name)
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    assert shared(classes) == {}


def test_two_classes_of_one_name_are_found() -> None:
    assert shared([("a.py", "Place"), ("b.py", "_Place"), ("b.py", "Label")]) == {"Place": ["a.py", "b.py"]}


def named(tree: ast.Module) -> Iterator[str]:
    """Everything that a module gives a name: functions, classes, parameters and variables."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.id


def vague(names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if VAGUE & set(name.lower().split("_"))})


def test_everything_is_named_by_what_it_is_or_does() -> None:
    found = {str(file): vague((*named(tree), file.stem)) for file, tree in trees()}
    assert {file: names for file, names in found.items() if names} == {}


def test_a_vague_name_is_found_wherever_it_is_given() -> None:
    text = "class Told: ...\ndef f(said): ...\n_MOST_TOLD = 1\nfor whose in x: ...\nif (gave := 1): ...\ng(told=1)"
    assert vague(named(ast.parse(text))) == ["Told", "_MOST_TOLD", "gave", "said", "whose"]


@pytest.mark.parametrize("room", ROOMS)
def test_no_folder_is_crowded(room: str) -> None:
    counts = {
        f.relative_to(SOURCE): len(list(f.glob("*.py"))) for f in (SOURCE / room, *(SOURCE / room).rglob("*"))
    }
    assert {str(folder): count for folder, count in counts.items() if count > 16} == {}
