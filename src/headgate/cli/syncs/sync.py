"""`headgate sync`: policies of other systems, fetched, compared, pushed, watched and taken back."""

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.text import Text

from headgate.cli import output
from headgate.cli.command import ReportOutput, Yes, command, confirm, group, names
from headgate.cli.failure import Denied, Failure, Usage
from headgate.cli.junit import keep
from headgate.cli.output import Format
from headgate.cli.session import Session
from headgate.cli.syncs.reports import (
    Drift,
    clashes,
    difference,
    failed,
    junit_text,
    plan_shown,
    planned_results,
    results,
    snapshot_text,
)
from headgate.cli.syncs.requests import age, is_file, question, send
from headgate.cli.syncs.spark import compared

app = group("sync", "Policies of other systems: fetch, compare, push, keep in step.")

From = Annotated[
    str,
    typer.Option(
        "--from", help="The source as KIND:NAME, e.g. headgate:lake; diff and push also take a file."
    ),
]
To = Annotated[str, typer.Option("--to", help="The target as KIND:NAME; a push takes several: A,B.")]
Names = Annotated[
    Path | None,
    typer.Option("--names", help="A YAML file that says who of the source is who in the target."),
]
Mode = Annotated[str, typer.Option("--mode", help="merge keeps what others put there, overwrite removes it.")]
Junit = Annotated[Path | None, typer.Option("--junit", help="Also write a JUnit report to this file.")]
Owners = Annotated[bool, typer.Option("--owners", help="Carry owners over, too.")]
Option = Annotated[bool, typer.Option("--grant-option", help="Carry the right to hand on over, too.")]
Create = Annotated[bool, typer.Option("--create-principals", help="Make users that the target lacks.")]
Tags = Annotated[bool, typer.Option("--tags", help="Carry tags over, too.")]


@command(app, "connections")
def connections(session: Session) -> None:
    """List the systems that the server is connected with."""
    found = session.get(("headgate", "sync", "connections"))["connections"]
    session.show(found, "name", "kind", "metalakes")


@command(app, "fetch")
def fetch(
    session: Session,
    source: From,
    file: Annotated[
        Path | None, typer.Option("--file", help="Write the snapshot here (.json, .yaml).")
    ] = None,
) -> None:
    """Read the policies of a system as a canonical snapshot."""
    snapshot = send(session, "fetch", {"source": source}, f"reading {source}")["snapshot"]
    if file is None:
        print(snapshot_text(snapshot, session.format), end="")
        return
    form = Format.YAML if file.suffix in (".yaml", ".yml") else Format.JSON
    try:
        file.write_text(snapshot_text(snapshot, form))
    except OSError as error:
        raise Failure(f"{file} cannot be written ({error.strerror})", "choose another --file") from None
    session.done(f"the policies of {source} are in {file}", {"file": str(file), "source": source})


@command(app, "diff")
def diff(
    session: Session,
    source: From,
    target: To,
    principals: Names = None,
    spark: Annotated[bool, typer.Option("--spark", help="Compare on Spark, for large systems.")] = False,
    spark_master: Annotated[
        str | None, typer.Option("--spark-master", help="Compare on this cluster (default local[*]).")
    ] = None,
    spark_remote: Annotated[
        str | None, typer.Option("--spark-remote", help="Compare on this Spark Connect server: sc://…")
    ] = None,
) -> None:
    """Show what differs, and who would gain or lose what if the target became as the source. Ends with 1 if any does."""
    body = question(source, target, principals)
    if spark_master and spark_remote:
        raise Usage("Spark runs in one place", "give --spark-master or --spark-remote")
    if spark or spark_master or spark_remote:
        found = compared(session, body, spark_master, spark_remote)
    else:
        found = send(session, "diff", body, f"comparing {source} with {target}")["difference"]
    difference(found, source, target, session.format)
    if not found["same"]:
        raise typer.Exit(1)


@command(app, "push", output=ReportOutput)
def push(
    session: Session,
    source: From,
    targets: To,
    mode: Mode = "merge",
    principals: Names = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan only.")] = False,
    yes: Yes = False,
    owners: Owners = False,
    grant_option: Option = False,
    create_principals: Create = False,
    tags: Tags = False,
    junit: Junit = None,
) -> None:
    """Show what a push would do and who gains or loses what, ask, and do it."""
    asked = _asked(source, targets, mode, principals, owners, grant_option, create_principals, tags)
    plans = [_planned(session, body) for body in asked]
    if dry_run:
        keep(junit_text(planned_results(plans)), junit)
        plan_shown(plans, session.format)
        if any(plan["refused"] or plan["open"] for plan in plans):
            raise typer.Exit(1)
        return
    _agree(plans, yes, session.format, "look at it with --dry-run")
    done = [
        _pushed(session, {**body, "plan": plan["digest"]}) for body, plan in zip(asked, plans, strict=True)
    ]
    _report(session, done, junit)


@command(app, "watch", output=ReportOutput)
def watch(
    session: Session,
    source: From,
    targets: To,
    every: Annotated[str, typer.Option("--every", help="How often: 30s, 5m, 1h.")] = "5m",
    mode: Mode = "merge",
    principals: Names = None,
    yes: Yes = False,
    owners: Owners = False,
    grant_option: Option = False,
    create_principals: Create = False,
    tags: Tags = False,
    junit: Junit = None,
) -> None:
    """Keep targets in step with a source, and tell of drift. Ctrl-C ends it after the push under way."""
    asked = _asked(source, targets, mode, principals, owners, grant_option, create_principals, tags)
    if is_file(source):
        raise Usage("a file does not change by itself", "watch a system: --from KIND:NAME")
    seconds = age(every)
    plans = [_planned(session, body) for body in asked]
    _agree(plans, yes, session.format, "look at it with 'headgate sync push --dry-run'")
    stopped = threading.Event()
    good = _watched(session, asked, seconds, stopped, junit)
    if not good:
        raise typer.Exit(1)


@command(app, "in-step", output=ReportOutput)
def in_step(
    session: Session,
    source: From,
    target: To,
    prefer: Annotated[
        str, typer.Option("--prefer", help="Whose change counts where both changed it: source, target.")
    ] = "neither",
    principals: Names = None,
    yes: Yes = False,
    junit: Junit = None,
) -> None:
    """Take to each of two systems what only the other changed since both were last in step."""
    if prefer not in ("neither", "source", "target"):
        raise Usage(f"'{prefer}' is no side", "use --prefer source or --prefer target")
    confirm(
        f"Change both {source} and {target}?",
        yes,
        look=f"compare them with 'headgate sync diff --from {source} --to {target}'",
    )
    body = {**question(source, target, principals), "prefer": prefer}
    done = send(session, "in-step", body, f"{source} and {target}", target)
    clashes(done["clashes"])
    _report(session, [done["source"], done["target"]], junit, good=not done["clashes"])


@command(app, "resume", output=ReportOutput)
def resume(session: Session, target: To, junit: Junit = None) -> None:
    """Bring a push that died to its end."""
    _report(
        session, [send(session, "resume", {"target": target}, f"resuming {target}", target)["result"]], junit
    )


@command(app, "undo", output=ReportOutput)
def undo(
    session: Session,
    target: Annotated[str | None, typer.Option("--to", help="The target whose last push is undone.")] = None,
    push: Annotated[int | None, typer.Option("--push", help="The number of the push.")] = None,
    yes: Yes = False,
    junit: Junit = None,
) -> None:
    """Take back the last push to a target: it holds again what it held before."""
    if target is None and push is None:
        raise Usage("nothing to undo is named", "give --push ID, or --to KIND:NAME for the last push to it")
    last = f"the last push to {target}"
    listed = target if target is not None else "KIND:NAME"
    confirm(
        f"Undo {f'push {push}' if push is not None else last}?",
        yes,
        look=f"see what was pushed with 'headgate sync pushes --to {listed}'",
    )
    body = {"target": target, "push": push}
    _report(session, [send(session, "undo", body, "undoing", target)["result"]], junit)


@command(app, "pushes")
def pushes(session: Session, target: To) -> None:
    """List the pushes to a target, newest first."""
    found = session.get(("headgate", "sync", "pushes"), target=target)["pushes"]
    session.show(found, "id", "source", "mode", "state", "actor", "startTime", "endTime", "settled", "steps")


# -- the parts of a push ----------------------------------------------------------------------------------------


def _asked(
    source: str,
    targets: str,
    mode: str,
    principals: Path | None,
    owners: bool,
    grant_option: bool,
    create_principals: bool,
    tags: bool,
) -> list[dict[str, Any]]:
    """One request for each target."""
    if mode not in ("merge", "overwrite"):
        raise Usage(f"'{mode}' is no mode", "use --mode merge or --mode overwrite")
    if not names(targets):
        raise Usage("no target is named", "write --to KIND:NAME")
    return [
        {
            **question(source, target, principals),
            "mode": mode,
            "owners": owners,
            "grantOption": grant_option,
            "createPrincipals": create_principals,
            "tags": tags,
        }
        for target in dict.fromkeys(names(targets))
    ]


def _planned(session: Session, body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = send(session, "plan", body, f"planning {body['target']}")["plan"]
    return found


def _pushed(session: Session, body: dict[str, Any]) -> dict[str, Any]:
    target = body["target"]
    try:
        done: dict[str, Any] = send(session, "push", body, f"pushing to {target}", target)["result"]
    except Denied:
        raise
    except Failure as failure:
        # The other targets have their own results, and all of them are told.
        return failed(target, failure)
    return done


def _agree(plans: list[dict[str, Any]], yes: bool, format: Format, look: str) -> None:
    """Show the plans and ask. What scripts read goes to stdout, so the plans go beside it."""
    if yes and format is not Format.TABLE:
        return
    plan_shown(plans, Format.TABLE, beside=format is not Format.TABLE)
    if any(plan["changes"] for plan in plans):
        confirm("Do it?", yes, look=look)


def _report(session: Session, done: list[dict[str, Any]], junit: Path | None, good: bool = True) -> None:
    results(done, session.format, junit)
    if not good or not all(result["ok"] for result in done):
        raise typer.Exit(1)


def _watched(
    session: Session,
    asked: list[dict[str, Any]],
    seconds: float,
    stopped: threading.Event,
    junit: Path | None,
) -> bool:
    """Rounds until somebody stops it; whether the last one left every target in step."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    drift = Drift()
    good = True
    say = output.console(err=True).print
    try:
        while not stopped.is_set():
            done: list[dict[str, Any]] = []
            closed = True
            for body in asked:
                target = body["target"]
                try:
                    plan = _planned(session, body)
                    say(Text(drift.seen(target, plan)))
                    closed = closed and not plan["open"]
                    if plan["changes"]:
                        done.append(_pushed(session, {**body, "plan": plan["digest"]}))
                except Denied:
                    raise
                except Failure as failure:
                    say(Text(f"{target}: {failure.message}; tried again in the next round"))
                    done.append(failed(target, failure))
            if done:
                results(done, session.format, junit)
            good = closed and all(result["ok"] for result in done)
            stopped.wait(seconds)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    say(Text("stopped"))
    return good
