"""`headgate plan`, `apply`, `undo`, `export`, `lint`, `simulate`: policies as code."""

from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace
from rich.text import Text
from rich.tree import Tree

from headgate.cli.command import PlanOutput, Yes, command, confirm, names, verbs
from headgate.cli.failure import Failure, Usage, WouldChange
from headgate.cli.output import Format, console
from headgate.cli.policies import comments, documents, saved_plans
from headgate.cli.policies.documents import From
from headgate.cli.policies.views import As, Engine, Groups, Purpose, Table, show_view
from headgate.cli.session import Session

app = verbs()

Optional = Annotated[
    Path | None, typer.Option("-f", "--from", help="Policies that are not applied yet: a folder or a file.")
]
Out = Annotated[
    Path | None, typer.Option("--out", help="Keep the plan in this file, for 'headgate apply FILE'.")
]
Detailed = Annotated[
    bool, typer.Option("--detailed-exitcode", help="End with 4 if anything would change, and with 0 if not.")
]
Saved = Annotated[
    Path | None,
    typer.Argument(metavar="[PLAN]", help="A plan that 'headgate plan --out' kept.", show_default=False),
]
To = Annotated[int, typer.Option("--to", min=0, help="The revision, as 'headgate policy history' shows it.")]
AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="There may be no policies at all.")]
Into = Annotated[Path | None, typer.Option("-o", "--into", help="A file to write to, instead of the screen.")]


@command(app, "plan", output=PlanOutput)
def plan(
    session: Session,
    source: From,
    out: Out = None,
    detailed: Detailed = False,
    purpose: Purpose = None,
    engine: Engine = None,
) -> None:
    """Show what policies on disk would change: which policies, whose view of which table, and who could not write any more."""
    if out is not None and (purpose or engine):
        raise Usage(
            "a plan that is kept is for all purposes and engines",
            "leave out --out, or --purpose and --engine",
        )
    sent = {**documents.read(source), "purpose": purpose, "engine": engine}
    answer = session.post(_path("plan"), sent, **_in(session))
    if out is not None:
        saved_plans.save(out, session.in_metalake()[1], sent, answer)
    if session.format is Format.MARKDOWN:
        print(comments.comment(answer), end="")
    elif session.format is Format.TABLE:
        _show_plan(answer)
    else:
        session.show(answer)
    if detailed and answer["changes"]:
        count = len(answer["changes"])
        raise WouldChange(f"{count} {'policy' if count == 1 else 'policies'} would change")


def _show_plan(answer: dict[str, Any]) -> None:
    screen = console()
    screen.print(_changes(answer["changes"], "would be"))
    screen.print(_lenses(answer["lenses"]))
    for view in answer["wider"]:
        screen.print(
            Text(f"{_some(view['people'])} would see more of {_some(view['tables'])}", style="yellow")
        )
    for lost in answer["writers"]:
        text = f"{_some(lost['people'])} could not write {_some(lost['tables'])} any more"
        screen.print(Text(f"{text}: who sees a part of a table changes nothing of it", style="yellow"))
    if answer["unread"]:
        screen.print(Text(f"the columns of {_some(answer['unread'])} cannot be told now", style="yellow"))
    screen.print(Text(f"{answer['tables']} tables looked at, revision {answer['revision']}"))


@command(app, "apply")
def apply(
    session: Session,
    plan: Saved = None,
    source: Optional = None,
    yes: Yes = False,
    allow_empty: AllowEmpty = False,
) -> None:
    """Make the policies those on disk, or do what a saved plan showed: all of it or nothing. Asks before it removes any policy or shows anybody more."""
    if (plan is None) == (source is None):
        raise Usage(
            "one thing must be applied", "name documents with -f, or a plan that 'headgate plan --out' kept"
        )
    if source is not None:
        sent = {**documents.read(source, allow_empty=allow_empty), "allowEmpty": allow_empty}
        _apply(session, sent, yes, look=f"look at it with 'headgate plan -f {source}'")
        return
    assert plan is not None
    saved = saved_plans.load(plan)
    within = replace(session, metalake=session.metalake or saved.metalake)
    if within.metalake != saved.metalake:
        raise Usage(f"the plan is for metalake '{saved.metalake}'", f"add --metalake {saved.metalake}")
    sent = {"files": saved.files, "whole": saved.whole, "allowEmpty": allow_empty}
    _apply(within, sent, yes, look=f"look at it in {plan}", saved=saved)


@command(app, "undo")
def undo(session: Session, to: To, yes: Yes = False) -> None:
    """Make the policies what they were at a revision, all of them or none. Asks as 'apply' does, and takes the same rights."""
    text = session.get(_path("past"), **_in(session), revision=to)["text"]
    sent = {"files": [{"file": f"revision {to}", "text": text}], "whole": True, "allowEmpty": True}
    _apply(session, sent, yes, look="look at what has changed with 'headgate policy history'")


def _apply(
    session: Session,
    sent: dict[str, Any],
    yes: bool,
    *,
    look: str,
    saved: saved_plans.SavedPlan | None = None,
) -> None:
    proposed = session.post(_path("apply"), {**sent, "dryRun": True}, **_in(session))
    if saved is not None:
        saved_plans.hold_against(saved, proposed)
    if proposed["asks"] and not yes:
        screen = console(err=True)
        screen.print(_changes(proposed["changes"], "would be"))
        for ask in proposed["asks"]:
            screen.print(Text(ask, style="yellow"))
        confirm("Do it?", yes, look=look)
    answer = session.post(_path("apply"), {**sent, "plan": proposed["digest"]}, **_in(session))
    if session.format is not Format.TABLE:
        session.show(answer)
        return
    screen = console()
    screen.print(_changes(answer["changes"], ""))
    if answer.get("warming"):
        screen.print(Text(f"views are being made ready: {_some(answer['warming'])} ('headgate lens status')"))
    if answer["changes"]:
        screen.print(Text(f"to have it as before: headgate undo --to {answer['since']}"))


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
