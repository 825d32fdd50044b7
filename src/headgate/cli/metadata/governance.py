"""What governs a table, for `headgate table details`: its tags, what the caller sees of it, and which policies restrict it.

INVARIANT: nothing here is worked out; it is what the server tells the caller. Which policies there are, it tells those who may ask
about others; everybody else hears only which columns are masked for them.
"""

from typing import Any

from headgate.cli.failure import Failure
from headgate.cli.session import Session


def of_table(session: Session, table: str) -> dict[str, Any]:
    """Tags of the table and its columns, and the caller's own view."""
    _, metalake = session.in_metalake()
    tags = session.get(("headgate", "tags"), metalake=metalake, table=table)
    found: dict[str, Any] = {"tags": tags["tags"], "columnTags": tags["columns"]}
    try:
        user = session.get(("headgate", "whoami"))["user"]
        asked = {"metalake": metalake, "table": table, "user": user}
        found["view"] = session.post(("headgate", "lens"), asked)["explanation"]
    except Failure as failure:
        # Who may see that a table is there need not be able to read it.
        found["view"] = None
        found["problem"] = failure.message
    return found


def summary(governed: dict[str, Any]) -> dict[str, Any]:
    """Lines for the table on the screen."""
    lines: dict[str, Any] = {}
    if governed["tags"]:
        lines["tags"] = [_tag(tag) for tag in governed["tags"]]
    view = governed["view"]
    if view is None:
        return {**lines, "you see": f"not told: {governed['problem']}"}
    lens = view["lens"]
    if lens is None:
        lines["you see"] = ["nothing", *view.get("denials", [])]
    elif lens["whole"]:
        lines["you see"] = "all of it"
    else:
        rows = [f"rows where {lens['rows']}"] if lens.get("rows") else []
        lines["you see"] = ["a part of it", *rows, *(f"not {name}" for name in lens.get("hidden", []))]
    policies = [f"{step['policy']} on {step['on']}: {_effect(step)}" for step in view.get("policies", [])]
    return {**lines, "policies": policies} if policies else lines


def columns(rows: list[dict[str, Any]], governed: dict[str, Any]) -> list[dict[str, Any]]:
    """The columns with their tags, and how they are shown to the caller."""
    lens = (governed["view"] or {}).get("lens") or {}
    masks, tags = lens.get("masks", {}), governed["columnTags"]
    return [
        {
            **row,
            "tags": ", ".join(_tag(tag) for tag in tags.get(row["name"], [])),
            "shown as": masks.get(row["name"]),
        }
        for row in rows
    ]


def _effect(step: dict[str, Any]) -> str:
    return "applies to you" if step["applies"] else f"does nothing for you{_why(step)}"


def _why(step: dict[str, Any]) -> str:
    return f" ({step['why']})" if step.get("why") else ""


def _tag(tag: dict[str, Any]) -> str:
    text = tag["name"] if tag["value"] is None else f"{tag['name']}={tag['value']}"
    return f"{text} (inherited)" if tag.get("inherited") else text
