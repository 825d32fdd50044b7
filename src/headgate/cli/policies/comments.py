"""A plan in Markdown, as a comment for whoever reviews the policies. It begins with a mark by which a later one can replace it."""

import re
from collections.abc import Iterator
from typing import Any, Final

MARK: Final = "<!-- headgate plan -->"
_MOST: Final = 50
"""Lines of one list; a comment has an end."""


def comment(answer: dict[str, Any]) -> str:
    """The comment for a plan."""
    return "\n".join(_lines(answer)) + "\n"


def _lines(answer: dict[str, Any]) -> Iterator[str]:
    changes = answer["changes"]
    yield from (MARK, f"### Headgate: {_count(changes)}", "")
    if answer["asks"]:
        yield from ("> [!WARNING]", *(f"> {_plain(ask)}" for ask in answer["asks"]), "")
    for lost in answer["writers"]:
        yield f"- :lock: {_names(lost['people'])} could not write {_names(lost['tables'])} any more"
    for table in answer["unread"][:_MOST]:
        yield f"- :grey_question: the columns of {_code(table)} cannot be told now"
    if answer["writers"] or answer["unread"]:
        yield ""
    for change in changes[:_MOST]:
        yield from _change(change)
    yield from _rest(changes)
    if answer["lenses"]:
        yield from ("| who | tables | sees now | would see |", "|---|---|---|---|")
        for effect in answer["lenses"][:_MOST]:
            sides = (_code(effect["before"]), _code(effect["after"]))
            yield f"| {_names(effect['people'])} | {_names(effect['tables'])} | {sides[0]} | {sides[1]} |"
        yield from ("", *_rest(answer["lenses"]))
    else:
        yield from ("Nobody's view changes.", "")
    yield f"<sub>{answer['tables']} tables looked at, revision {answer['revision']}</sub>"


def _change(change: dict[str, Any]) -> Iterator[str]:
    before, after = change.get("before", "").splitlines(), change.get("after", "").splitlines()
    diff = [f"- {line}" for line in before if line not in after]
    diff += [f"+ {line}" for line in after if line not in before]
    fence = _fence("\n".join(diff))
    yield f"<details><summary>policy <code>{_html(change['policy'])}</code> would be {change['change']}</summary>"
    yield from ("", f"{fence}diff", *diff, fence, "", "</details>", "")


def _rest(items: list[Any]) -> Iterator[str]:
    if len(items) > _MOST:
        yield from (f"… and {len(items) - _MOST} more", "")


def _count(changes: list[dict[str, Any]]) -> str:
    if not changes:
        return "no policy changes"
    kinds = [change["change"] for change in changes]
    counted = (f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    return f"{len(changes)} {'policy' if len(changes) == 1 else 'policies'} ({', '.join(counted)})"


def _names(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(_code(name) for name in names[:most]) + more


def _code(text: str) -> str:
    """Text as it is: no name and no expression can write Markdown, nor end a cell of a table."""
    one_line = " ".join(text.split()).replace("|", "\\|")
    fence = "`" * (_longest(one_line) + 1)
    pad = " " if "`" in one_line else ""
    return f"{fence}{pad}{one_line}{pad}{fence}"


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|@!&~])", r"\\\1", " ".join(text.split()))


def _html(text: str) -> str:
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _fence(text: str) -> str:
    return "`" * max(3, _longest(text) + 1)


def _longest(text: str) -> int:
    """The longest row of backticks in a text."""
    return max((len(row) for row in re.findall(r"`+", text)), default=0)
