"""Checks the documents: every page is in the overview and every command on its page, every link resolves, every file, test and `headgate` command that is named exists, decisions are
numbered without gaps, the glossary has each word once and in order, and the tables that are written from the code are up to
date. ``scripts/documents.py --write`` writes those tables anew."""

import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import typer.main

from headgate.catalogs.page import property_table
from headgate.cli.app import app
from headgate.cli.page import command_table, exit_table
from headgate.doors.page import error_table, metric_table, route_tables
from headgate.engines.config.page import examples, ways_table
from headgate.language.masks.page import mask_table
from headgate.language.page import function_table
from headgate.settings.page import setting_table

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"^\s*(?:\$ )?headgate ((?:[a-z][a-z-]*(?: |$))+)(.*)$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/.-]+)`")
ROOMS = "|".join(sorted(room.name for room in (ROOT / "src/headgate").iterdir() if room.is_dir()))
FILE = re.compile(rf"(?<![\w/.])((?:{ROOMS})/[\w/]+\.py)")
"""A file of a room, as pages name it: below src/headgate."""
WORD = re.compile(r"^\| ([^|]+?) \| .+ \| `([\w/]+)` \|$", re.MULTILINE)
OPTION = re.compile(r"(?<!\S)--[a-z-]+")
TITLE = re.compile(r"# (.+)\n(?:<!-- says: (.+) -->\n)?")
"""How a page begins: its title, and what the overview says of it."""
LISTED = re.compile(r"^\| \[[^\]]*\]\(([^)]+)\) \|", re.MULTILINE)


def page_table(root: Path = ROOT) -> str:
    """One line per page, with its title and what it says. The order is that of the overview; a new page comes last."""
    docs = root / "docs"
    before = (docs / "README.md").read_text().partition("<!-- /pages -->")[0]
    listed = [name for name in LISTED.findall(before) if (docs / name).is_file()]
    every = [page.relative_to(docs).as_posix() for page in sorted(docs.glob("**/*.md"))]
    own = [name for name in every if name != "README.md" and not name.startswith("decisions/")]
    lines = ["| page | says |", "|---|---|"]
    for name in dict.fromkeys([*listed, *own]):
        begin = TITLE.match((docs / name).read_text())
        title, says = (begin[1], begin[2]) if begin else (name, None)
        lines.append(f"| [{title}]({name}) | {says or ''} |")
    return "\n".join(lines) + "\n"


def unsaid(text: str) -> Iterator[str]:
    """The pages of which the overview says nothing."""
    for name in re.findall(r"^\| \[[^\]]*\]\(([^)]+)\) \|  \|$", text, re.MULTILINE):
        yield f"docs/{name} does not begin with its title and <!-- says: … -->, for the overview"


WRITTEN: dict[str, Callable[[], str]] = {
    "commands": command_table,
    "exit-codes": exit_table,
    "errors": error_table,
    "functions": function_table,
    "masks": mask_table,
    "metrics": metric_table,
    "pages": page_table,
    "properties": property_table,
    "routes": route_tables,
    "settings": setting_table,
    "engine ways": ways_table,
    "engine settings": examples,
}
"""The tables that are written from the code, by the name that their markers have on a page."""


def main() -> None:
    pages = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    if "--write" in sys.argv[1:]:
        for page in pages:
            page.write_text(rendered(page.read_text()))
    wrong = [
        f"{page.relative_to(ROOT)}: {what}"
        for page in pages
        for what in (*links(page), *tests(page), *files(page), *commands(page), *tables(page))
    ]
    wrong += [*glossary((ROOT / "docs/glossary.md").read_text()), *decisions(ROOT / "docs")]
    wrong += unsaid((ROOT / "docs/README.md").read_text())
    here = "".join(page.read_text() for page in pages)
    wrong += [f"no page has the table '{name}'" for name in WRITTEN if f"<!-- {name} -->" not in here]
    print("\n".join(wrong) or "the documents are true to the files and commands")
    sys.exit(1 if wrong else 0)


def rendered(text: str) -> str:
    """A page with its written tables as the code has them."""
    for name, table in WRITTEN.items():
        place = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", re.DOTALL)
        if place.search(text):
            text = place.sub(lambda _, table=table: table(), text)
    return text


def tables(page: Path) -> Iterator[str]:
    """Whether a page has a table that is not what the code says."""
    if rendered(page.read_text()) != page.read_text():
        yield "a table that is written from the code is out of date: run scripts/documents.py --write"


def links(page: Path) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    for target in LINK.findall(page.read_text()):
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"the link {target} leads nowhere"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"the link {target} leads to no heading"


def tests(page: Path) -> Iterator[str]:
    """The tests that a page names and that are not there."""
    for path in TEST.findall(page.read_text()):
        if not (ROOT / path).exists():
            yield f"there is no {path}"


def files(page: Path) -> Iterator[str]:
    """The files of rooms that a page names and that are not there."""
    for path in sorted(set(FILE.findall(page.read_text()))):
        if not (ROOT / "src/headgate" / path).exists():
            yield f"there is no src/headgate/{path}"


def glossary(text: str) -> Iterator[str]:
    """What is wrong with the glossary: a word out of order or twice, or a room that is not there."""
    rows = WORD.findall(text)
    for (before, _), (word, _) in pairwise(rows):
        if before >= word:
            yield f"docs/glossary.md: '{word}' stands behind '{before}'"
    for word, room in rows:
        if not (ROOT / "src/headgate" / room).is_dir():
            yield f"docs/glossary.md: '{word}' belongs to {room}, which is no folder"


def decisions(docs: Path) -> Iterator[str]:
    """What is wrong with the decision records: a gap, a title with another number, or one that the overview lacks."""
    overview = (docs / "README.md").read_text()
    for number, record in enumerate(sorted((docs / "decisions").glob("*.md")), 1):
        if not record.name.startswith(f"{number:04}-"):
            yield f"docs/decisions: {record.name} should be number {number:04}"
        if not record.read_text().startswith(f"# {record.name[:4]} · "):
            yield f"docs/decisions/{record.name}: the title does not begin with its number"
        if f"[{record.name[:4]}](decisions/{record.name})" not in overview:
            yield f"docs/README.md does not list {record.name}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(page: Path) -> Iterator[str]:
    """The commands and options of a page that do not exist."""
    for block in re.findall(r"```(?:sh|console)?\n(.*?)```", page.read_text(), re.DOTALL):
        for words, rest in COMMAND.findall(block.replace("\\\n", " ")):
            known, options = resolve(words.split())
            if known is not None:
                yield f"there is no command 'headgate {known}'"
            else:
                yield from (
                    f"'headgate {words.strip()}' has no option {option}"
                    for option in OPTION.findall(rest.partition("#")[0])
                    if option not in options
                )


def resolve(words: list[str]) -> tuple[str | None, set[str]]:
    """Walk down the commands; the words if they lead nowhere, and the options at their end."""
    at = typer.main.get_command(app)
    for number, word in enumerate(words):
        below = getattr(at, "commands", None)
        if below is None:
            break
        if word not in below:
            return " ".join(words[: number + 1]), set()
        at = below[word]
    return None, {name for parameter in at.params for name in getattr(parameter, "opts", [])} | {"--help"}


if __name__ == "__main__":
    main()
