"""In this room a class name stands for one thing, a function is named by a verb of the trade, and a folder fits on a screen."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import headgate.sync

ROOM = Path(headgate.sync.__file__).parent
VAGUE = {"told", "said", "gave", "parted", "whose", "sight", "hand"}
"""Words that stood for parsing, rendering, translating, redacting and recording alike."""


def definitions(*sorts: type[ast.AST]) -> Iterator[tuple[str, Path]]:
    for path in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, sorts):
                yield node.name.strip("_"), path  # type: ignore[attr-defined]


def test_a_class_name_stands_for_one_thing() -> None:
    counted = Counter(name for name, _ in definitions(ast.ClassDef))
    assert not {name for name, times in counted.items() if times > 1}


def test_names_are_words_of_the_trade() -> None:
    named = definitions(ast.ClassDef, ast.FunctionDef)
    assert not {(name, path.name) for name, path in named if VAGUE & set(name.lower().split("_"))}
    assert not {path.name for path in ROOM.rglob("*.py") if VAGUE & set(path.stem.split("_"))}


def test_no_folder_is_crowded() -> None:
    folders = {path.parent for path in ROOM.rglob("*.py")}
    assert not {folder.name for folder in folders if len(list(folder.glob("*.py"))) > 15}
