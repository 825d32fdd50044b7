"""Checks the documents: every link resolves, and every test and every `headgate` command that is named exists."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import typer.main

from headgate.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"^\s*(?:\$ )?headgate ((?:[a-z][a-z-]*(?: |$))+)(.*)$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/.-]+)`")
OPTION = re.compile(r"(?<!\S)--[a-z-]+")


def main() -> None:
    wrong = [
        f"{page.relative_to(ROOT)}: {what}"
        for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
        for what in (*links(page), *tests(page), *commands(page))
    ]
    print("\n".join(wrong) or "the documents are true to the files and commands")
    sys.exit(1 if wrong else 0)


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
