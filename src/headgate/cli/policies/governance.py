"""`headgate plan`, `apply`, `export`, `lint`, `simulate`: policies as code."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from rich.tree import Tree

from headgate.cli.command import Yes, command, confirm, names, verbs
from headgate.cli.failure import Failure
from headgate.cli.output import Format, console
from headgate.cli.policies import documents
from headgate.cli.policies.documents import From
from headgate.cli.policies.views import As, Engine, Groups, Purpose, Table, show_view
from headgate.cli.session import Session

app = verbs()

Optional = Annotated[
    Path | None, typer.Option("-f", "--from", help="Policies that are not applied yet: a folder or a file.")
]
AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="There may be no policies at all.")]
Into = Annotated[Path | None, typer.Option("-o", "--into", help="A file to write to, instead of the screen.")]


@command(app, "plan")
def plan(session: Session, source: From, purpose: Purpose = None, engine: Engine = None) -> None:
    """Show what policies on disk would change: which policies, and whose view of which table."""
    sent = {**documents.read(source), "purpose": purpose, "engine": engine}
    answer = session.post(_path("plan"), sent, **_in(session))
    if session.format is not Format.TABLE:
        session.show(answer)
        return
    screen = console()
    screen.print(_changes(answer["changes"], "would be"))
    screen.print(_lenses(answer["lenses"]))
    for view in answer["wider"]:
        screen.print(
            Text(f"{_some(view['people'])} would see more of {_some(view['tables'])}", style="yellow")
        )
    if answer["unread"]:
        screen.print(Text(f"the columns of {_some(answer['unread'])} cannot be told now", style="yellow"))
    screen.print(Text(f"{answer['tables']} tables looked at, revision {answer['revision']}"))


@command(app, "apply")
def apply(session: Session, source: From, yes: Yes = False, allow_empty: AllowEmpty = False) -> None:
    """Make the policies those on disk, all of them or none; asks before it removes any or shows anybody more."""
    sent = {**documents.read(source, allow_empty=allow_empty), "allowEmpty": allow_empty}
    proposed = session.post(_path("apply"), {**sent, "dryRun": True}, **_in(session))
    if proposed["asks"] and not yes:
        screen = console(err=True)
        screen.print(_changes(proposed["changes"], "would be"))
        for ask in proposed["asks"]:
            screen.print(Text(ask, style="yellow"))
        confirm("Do it?", yes, look=f"look at it with 'headgate plan -f {source}'")
    answer = session.post(_path("apply"), {**sent, "plan": proposed["digest"]}, **_in(session))
    if session.format is Format.TABLE:
        console().print(_changes(answer["changes"], ""))
    else:
        session.show(answer)


@command(app, "export")
def export(session: Session, into: Into = None) -> None:
    """Write all policies as documents, in their one normal form."""
    text = session.get(_path("export"), **_in(session))["text"]
    if into is None:
        print(text, end="")
        return
    try:
        into.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failure(f"{into} cannot be written: {error}", "name another file") from None


@command(app, "lint")
def lint(session: Session, source: Optional = None) -> None:
    """Say what is odd about the policies that are there, or would be; the exit code is 1 if anything is that they do not accept themselves."""
    sent = documents.read(source) if source is not None else {"files": []}
    found = session.post(_path("lint"), sent, **_in(session))["findings"]
    session.show(found, "policy", "rule", "message", "next", "accepted")
    left = [finding for finding in found if finding["accepted"] is None]
    if left:
        raise Failure(
            f"{len(left)} {'finding' if len(left) == 1 else 'findings'}",
            f"change the policy, or write what is meant so into it: accept: {{{left[0]['rule']}: why}}",
        )


@command(app, "simulate")
def simulate(
    session: Session,
    source: From,
    user: As,
    table: Table,
    purpose: Purpose = None,
    engine: Engine = None,
    groups: Groups = None,
) -> None:
    """Show what someone would see of a table, and why, under policies that are not applied yet."""
    show_view(session, user, table, purpose, engine, names(groups), documents.read(source))


def _path(verb: str) -> tuple[str, ...]:
    return ("headgate", "policies", verb)


def _in(session: Session) -> dict[str, str]:
    return {"metalake": session.in_metalake()[1]}


def _changes(changes: list[dict[str, Any]], verb: str) -> Tree | Text:
    if not changes:
        return Text("policies: nothing changes")
    tree = Tree("policies")
    for change in changes:
        branch = tree.add(Text(f"{change['policy']} {verb} {change['change']}".replace("  ", " ")))
        before, after = change.get("before", "").splitlines(), change.get("after", "").splitlines()
        for line in (line for line in before if line not in after):
            branch.add(Text(f"- {line}", style="red"))
        for line in (line for line in after if line not in before):
            branch.add(Text(f"+ {line}", style="green"))
    return tree


def _lenses(effects: list[dict[str, Any]]) -> Tree | Text:
    if not effects:
        return Text("views: nobody's view changes")
    tree = Tree("views")
    for effect in effects:
        people, tables = effect["people"], effect["tables"]
        branch = tree.add(Text(f"{_some(people)} on {_some(tables)}"))
        branch.add(Text(f"- {effect['before']}", style="red"))
        branch.add(Text(f"+ {effect['after']}", style="green"))
    return tree


def _some(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
