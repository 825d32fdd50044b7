"""A class name stands for one thing in the whole house, so that a reader who meets it anywhere knows what it is."""

import ast
from collections import defaultdict
from pathlib import Path

import headgate

HOUSE = Path(headgate.__file__).parent


def shared_names(root: Path) -> dict[str, list[str]]:
    """The modules of every name that two classes have; an underscore before it makes no other name."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name.lstrip("_")].append(path.relative_to(root).as_posix())
    return {name: modules for name, modules in homes.items() if len(modules) > 1}


def test_no_two_classes_share_a_name() -> None:
    assert not shared_names(HOUSE)


def test_two_classes_of_one_name_are_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "vending.py").write_text("class Place: ...\n")
    (tmp_path / "labels.py").write_text("class _Place: ...\nclass Label: ...\n")
    assert shared_names(tmp_path) == {"Place": ["labels.py", "vending.py"]}
