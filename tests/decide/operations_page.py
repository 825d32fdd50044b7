"""The table of operations in docs/operations.md, written from the code: ``scripts/docs-operations``."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from headgate.decide import Op
from headgate.decide.requirements import All, Any, CallerFact, Has, Is, Requirement
from headgate.model.objects import ObjectType

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
_PLACE = re.compile(r"(?<=<!-- operations -->\n).*?(?=<!-- /operations -->)", re.DOTALL)

_WORDS = {
    CallerFact.OWNS_METALAKE: "owner of the metalake",
    CallerFact.OWNS_CATALOG: "owner of the catalog",
    CallerFact.OWNS_SCHEMA: "owner of the schema",
    CallerFact.OWNS_OBJECT: "owner of the object",
    CallerFact.MEMBER: "user of the metalake",
    CallerFact.SERVICE_ADMIN: "service admin",
    CallerFact.SELF: "oneself, one's group, a role one holds",
}


def words(requirement: Requirement, *, inside: bool = False) -> str:
    """A condition as a reader would say it."""
    match requirement:
        case Has(privilege):
            return f"`{privilege.name}`"
        case Is(fact):
            return _WORDS[fact]
        case Any(parts) | All(parts):
            flat = list(_flat(requirement, parts))
            joined = (" or " if isinstance(requirement, Any) else " and ").join(
                words(part, inside=True) for part in flat
            )
            return (f"({joined})" if inside and len(flat) > 1 else joined) or "anyone who proved who they are"


def _flat(whole: Requirement, parts: Iterable[Requirement]) -> Iterator[Requirement]:
    """The parts of a condition, with those of its own kind opened."""
    for part in parts:
        if type(part) is type(whole):
            yield from _flat(whole, part.parts)  # type: ignore[union-attr]
        else:
            yield part


def table() -> str:
    """Every operation, what it is asked of, and its condition."""
    lines = ["| operation | asked of | condition | a list shows |", "|---|---|---|---|"]
    for op in Op:
        shows = "" if op.value.shows is None else words(op.value.shows)
        asks = words(op.value.requirement)
        if op.value.whole:
            asks = f"({asks}) and sees all of {'it' if op.on is ObjectType.TABLE else 'every table in it'}"
        lines.append(f"| `{op.name.lower()}` | {op.on} | {asks} | {shows} |")
    return "\n".join(lines) + "\n"


def rendered(page: str) -> str:
    return _PLACE.sub(lambda _: table(), page)


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text()))
