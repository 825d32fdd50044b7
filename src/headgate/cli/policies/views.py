"""What someone sees of a table, as a tree on the terminal or as the server's JSON."""

from typing import Annotated, Any

import typer
from rich.text import Text
from rich.tree import Tree

from headgate.cli.output import Format, console
from headgate.cli.session import Session

As = Annotated[str, typer.Option("--as", help="Whose view: a user of the metalake.")]
Table = Annotated[str, typer.Option("--table", help="The table: CATALOG.SCHEMA.TABLE.")]
Purpose = Annotated[str | None, typer.Option("--purpose", help="The purpose that the request states.")]
Engine = Annotated[str | None, typer.Option("--engine", help="The engine that the request names.")]
Groups = Annotated[str | None, typer.Option("--groups", help="Groups that their token would carry: g,h")]


def show_view(
    session: Session,
    user: str,
    table: str,
    purpose: str | None,
    engine: str | None,
    groups: list[str],
    policies: dict[str, Any] | None = None,
) -> None:
    """Ask for a view and show it."""
    asked: dict[str, Any] = {
        "metalake": session.in_metalake()[1],
        "table": table,
        "user": user,
        "groups": groups,
    }
    asked |= {"purpose": purpose, "engine": engine, "policies": policies}
    answer = session.post(("headgate", "lens"), asked)
    if session.format is Format.TABLE:
        console().print(_tree(answer))
    else:
        session.show({key: value for key, value in answer.items() if key != "code"})


def _tree(answer: dict[str, Any]) -> Tree:
    why = answer["explanation"]
    tree = Tree(Text(f"{why['user']} on {why['table']}, revision {why['revision']}"))
    may = "may load the table" if answer["mayLoad"] else "may not load the table"
    tree.add(Text(f"{may}: {answer['because']}", style="" if answer["mayLoad"] else "red"))
    _person(tree.add(Text("known as")), why)
    lens = why["lens"]
    if lens is None:
        branch = tree.add(Text("denied", style="red"))
        for denial in why.get("denials", []):
            branch.add(Text(denial))
    else:
        branch = tree.add(
            Text("sees the whole table" if lens["whole"] else f"sees through lens {lens['id'][:12]}")
        )
        _parts(branch, lens, lens.get("hidden", []))
    policies = tree.add(Text("policies"))
    for step in why.get("policies", []):
        mark = "applies" if step["applies"] else "does nothing"
        reason = f": {step['why']}" if step.get("why") else ""
        on = policies.add(Text(f"{step['policy']} on {step['on']} {mark}{reason}"))
        _parts(on, step, step.get("hides", []))
        for name in step.get("overruled", []):
            on.add(Text(f"mask of {name} gives way"))
    return tree


def _person(tree: Tree, why: dict[str, Any]) -> None:
    for word in ("groups", "roles"):
        if why.get(word):
            tree.add(Text(f"{word}: {', '.join(why[word])}"))
    for name, value in why.get("attributes", {}).items():
        tree.add(Text(f"{name} = {value if isinstance(value, str) else ', '.join(value)}"))


def _parts(tree: Tree, answer: dict[str, Any], hidden: list[str]) -> None:
    if answer.get("rows"):
        tree.add(Text(f"rows where {answer['rows']}"))
    for name, mask in answer.get("masks", {}).items():
        tree.add(Text(f"{name} = {mask}"))
    for name in hidden:
        tree.add(Text(f"{name} is not there"))
