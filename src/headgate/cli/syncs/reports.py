"""How plans and results of a synchronisation are shown: to people, to scripts and to pipelines that read JUnit."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.table import Table
from rich.text import Text

from headgate.cli import output
from headgate.cli.failure import Failure
from headgate.cli.junit import JunitCase, as_junit, keep
from headgate.cli.output import Format

MOST: Final = 50
"""Rows of a table that people are shown; JSON has them all."""

_WIDENS: Final = "refused as it would widen"
_BAD: Final = ("failed", _WIDENS)
_UNSUPPORTED: Final = "skipped as unsupported"


def snapshot_text(snapshot: Any, format: Format) -> str:
    """A snapshot in its stable form; a table would not show it whole, so people get YAML."""
    from headgate.sync.snapshots.snapshot import PolicySnapshot

    read = PolicySnapshot.read(msgspec.json.encode(snapshot))
    return (read.to_json() if format is Format.JSON else read.to_yaml()).decode()


def failed(target: str, failure: Failure) -> dict[str, Any]:
    """The result of a push that the server refused as a whole."""
    detail = failure.message if failure.next is None else f"{failure.message} ({failure.next})"
    item = {"change": "push", "what": target, "outcome": "failed", "detail": detail}
    return {
        "target": target,
        "push": None,
        "ok": False,
        "items": [item],
        "losses": [],
        "gains": [],
        "loses": [],
        "unlisted": 0,
        "notes": [],
        "open": [],
    }


class Drift:
    """Tells whether a target strayed by itself or the source has changed."""

    def __init__(self) -> None:
        self.last: dict[str, str] = {}

    def seen(self, target: str, plan: dict[str, Any]) -> str:
        """One line about a target before it is pushed to."""
        before, self.last[target] = self.last.get(target), plan["content"]
        if not plan["changes"]:
            refused = f", {len(plan['refused'])} refused" if plan["refused"] else ""
            left = (
                f", {len(plan['open'])} stay open that the source keeps from people" if plan["open"] else ""
            )
            return f"{target}: in step{refused}{left}"
        count = f"{len(plan['changes'])} {'change' if len(plan['changes']) == 1 else 'changes'}"
        if before is None:
            return f"{target}: {count} to bring it in step"
        if before == plan["content"]:
            return f"{target}: drift, {count} to bring it back: {_first(plan)}"
        return f"{target}: the source has changed, {count} follow"


def _first(plan: dict[str, Any]) -> str:
    text = "; ".join(f"{change['change']} '{change['what']}'" for change in plan["changes"][:3])
    return text + ("; …" if len(plan["changes"]) > 3 else "")


# -- before -----------------------------------------------------------------------------------------------------


def difference(found: dict[str, Any], source: str, target: str, format: Format) -> None:
    if format is not Format.TABLE:
        print(output.text(found, format))
        return
    say = output.console().print
    if found["same"]:
        say(Text(f"{source} and {target} say and allow the same"))
        return
    _lines(say, f"only {source} says", found["added"])
    _lines(say, f"only {target} says", found["removed"])
    _shifts(say, f"would gain in {target}", found["gains"])
    _shifts(say, f"would lose in {target}", found["loses"])


def plan_shown(plans: list[dict[str, Any]], format: Format, *, beside: bool = False) -> None:
    if format is Format.JUNIT:
        print(junit_text(planned_results(plans)), end="")
        return
    if format is not Format.TABLE:
        print(output.text(plans, format))
        return
    say = output.console(err=beside).print
    for plan in plans:
        say(
            Text(
                f"{plan['target']}: {len(plan['changes'])} changes, {plan['already']} already so,"
                f" {len(plan['refused'])} refused, {len(plan['losses'])} not carried over as they are"
            )
        )
        _lines(say, "changes", [f"{c['change']}: {c['what']}" for c in plan["changes"]])
        _lines(say, "put there by others, and taken away", plan["foreign"])
        _lines(say, "refused", [f"{r['what']}: {r['why']}" for r in plan["refused"]])
        _lines(say, "not carried over as they are", plan["losses"])
        _lines(say, STAYS_OPEN, open_lines(plan))
        _shifts(say, "gain", plan["gains"])
        _shifts(say, "lose", plan["loses"])
        if plan["unlisted"]:
            say(Text(f"  {plan['unlisted']:,} more gains and losses are not listed"))


STAYS_OPEN: Final = "stays open, though the source keeps it from them"


def open_lines(found: dict[str, Any]) -> list[str]:
    """What stays open in a target, with what others put there that keeps it so."""
    return [
        f"{each['user']}: {each['action']} on {each['object']}, as {'; '.join(each['by']) or 'no grant binds them'}"
        for each in found["open"]
    ]


def clashes(found: list[str]) -> None:
    _lines(output.console(err=True).print, "changed on both sides", found)


def _lines(say: Any, title: str, lines: list[str]) -> None:
    if not lines:
        return
    say(Text(f"  {title}:"))
    for line in lines[:MOST]:
        say(Text(f"    {line}"))
    if len(lines) > MOST:
        say(Text(f"    … and {len(lines) - MOST} more (--output json shows all)"))


def _shifts(say: Any, title: str, shifts: list[dict[str, str]]) -> None:
    """Who gains or loses what, one line for each user and object."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for shift in shifts:
        grouped.setdefault((shift["user"], shift["object"]), []).append(shift["action"])
    _lines(say, title, [f"{user} on {object}: {', '.join(what)}" for (user, object), what in grouped.items()])


# -- after ------------------------------------------------------------------------------------------------------


def results(done: list[dict[str, Any]], format: Format, file: Path | None) -> None:
    """Show what became of every item, and keep the JUnit report if one is asked for."""
    keep(junit_text(done), file)
    if format is Format.JUNIT:
        print(junit_text(done), end="")
    elif format is not Format.TABLE:
        print(output.text(done, format))
    else:
        _table(done)


def _table(done: list[dict[str, Any]]) -> None:
    screen = output.console()
    table = Table("target", "push", "outcome", "items")
    for result in done:
        counts = Counter(item["outcome"] for item in result["items"]) or Counter({"nothing to do": 0})
        for outcome, count in sorted(counts.items()):
            table.add_row(*map(Text, (result["target"], str(result["push"] or ""), outcome, str(count))))
    screen.print(table)
    for result in done:
        bad = [item for item in result["items"] if item["outcome"] in (*_BAD, _UNSUPPORTED)]
        lines = [f"{i['change']}: {i['what']}: {i['outcome']}: {i['detail']}" for i in bad]
        _lines(screen.print, f"not done in {result['target']}", lines)
        _lines(screen.print, f"to look at in {result['target']}", result["notes"])
        _lines(screen.print, f"{STAYS_OPEN} in {result['target']}", open_lines(result))


def junit_text(done: list[dict[str, Any]]) -> str:
    """One suite for each target, one case for each item."""
    return as_junit((f"sync {result['target']}", _cases(result)) for result in done)


def _cases(result: dict[str, Any]) -> Iterator[JunitCase]:
    target = result["target"]
    for item in result["items"]:
        name, outcome = f"{item['change']}: {item['what']}", f"{item['outcome']}: {item['detail']}"
        if item["outcome"] in _BAD:
            yield JunitCase(target, name, "failure", outcome)
        elif item["outcome"] == _UNSUPPORTED:
            yield JunitCase(target, name, "skipped", outcome)
        else:
            yield JunitCase(target, name)
    for note in result["notes"]:
        yield JunitCase(target, "note", "failure", note)
    for line in open_lines(result):
        yield JunitCase(target, "stays open", "failure", line)


def planned_results(plans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Plans in the form of results, for reports on what would be done."""
    return [
        {
            "target": plan["target"],
            "items": [
                *({**change, "outcome": "would be done", "detail": ""} for change in plan["changes"]),
                *(
                    {"change": "add", "what": refused["what"], "outcome": _WIDENS, "detail": refused["why"]}
                    for refused in plan["refused"]
                ),
            ],
            "notes": [],
            "open": plan["open"],
        }
        for plan in plans
    ]
