"""What the documentation site does beyond showing docs/: pages from beside that folder, links to files that are no pages, and
the decision records in its navigation. Loaded by mkdocs.yml."""

import posixpath
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File

ROOT: Final = Path(__file__).resolve().parent.parent
BESIDE: Final = {
    "README.md": "start.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Pages of the repository that stand beside docs/, and what they are called on the site."""
LINK: Final = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)")
FENCE: Final = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    records = sorted(path.name for path in (ROOT / "docs/decisions").glob("*.md"))
    config.nav.append({"Decisions": [f"decisions/{name}" for name in records]})
    return config


def on_files(files: Any, config: Any) -> Any:
    for source, page in BESIDE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links lead to pages of the site; where a file is no page, its path stands instead."""
    here = page.file.src_uri
    beside = {page: source for source, page in BESIDE.items()}
    at = beside.get(here, f"docs/{here}")

    def linked(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        path, mark, anchor = target.partition("#")
        if "://" in target or not path:
            return found[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(at), path))
        shown = BESIDE.get(file) or (file.removeprefix("docs/") if file.startswith("docs/") else None)
        if shown is None or not shown.endswith(".md"):
            return f"{text} (`{file}`)" if text.strip("`") != file else f"`{file}`"
        return f"[{text}]({posixpath.relpath(shown, posixpath.dirname(here) or '.')}{mark}{anchor})"

    # What stands in a block of code is no link.
    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(linked, part) for part in parts)
