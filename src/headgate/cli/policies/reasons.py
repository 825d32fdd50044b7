"""Why somebody may or may not do something, as a tree: what decides stands first, and what could not matter is left out."""

from typing import Any

from rich.text import Text
from rich.tree import Tree


def tree(why: dict[str, Any]) -> Tree:
    """The explanation of the server, for reading."""
    verdict = "may" if why["allowed"] else "may not"
    asked = why["operation"].replace("_", " ")
    top = Tree(
        Text(f"{why['user']} {verdict} {asked} on {why['type']} {why['object']}, revision {why['revision']}")
    )
    top.add(Text(why["summary"], style="green" if why["allowed"] else "red"))
    for word in ("groups", "roles"):
        if why.get(word):
            top.add(Text(f"{word}: {', '.join(why[word])}"))
    if not why.get("groups_known", True):
        top.add(Text("the token does not tell the groups: what any group denies counts"))
    _add(top, why["reason"])
    return top


def _add(tree: Tree, reason: dict[str, Any]) -> None:
    parts = reason.get("parts", [])
    if len(parts) == 1:
        _add(tree, parts[0])
        return
    text = f"{'yes' if reason['holds'] else 'no'}: {_asks(reason)}"
    branch = tree.add(Text(text, style="green" if reason["holds"] else "red"))
    for because in reason.get("because", []):
        branch.add(Text(because))
    if reason["asks"] == "any of" and reason["holds"]:
        # One way is enough: the others explain nothing.
        parts = [part for part in parts if part["holds"]]
    for part in parts:
        _add(branch, part)


def _asks(reason: dict[str, Any]) -> str:
    words = {"any of": "one of these is needed", "all of": "all of these are needed"}
    asked = str(reason["asks"])
    return words.get(asked, asked)
