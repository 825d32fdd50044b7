"""Policy documents on disk: read from a file or a folder, written back."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from headgate.cli.failure import Usage

TESTS: Final = ".test.yaml"
"""How files of tests end; they lie beside the policies and are none."""

From = Annotated[
    Path,
    typer.Option("-f", "--from", help="A folder of *.yaml, which is the whole; or a file, which is a part."),
]


def read(source: Path) -> dict[str, Any]:
    """The documents as the server takes them. A folder says all that there is; a file says nothing of the others."""
    if source.is_dir():
        files = sorted(p for p in source.rglob("*") if p.suffix in (".yaml", ".yml") and p.is_file())
        files = [p for p in files if not p.name.endswith(TESTS)]
        if not files:
            raise Usage(
                f"{source} holds no policies", "a folder is the whole: name one with *.yaml files in it"
            )
    elif source.is_file():
        files = [source]
    else:
        raise Usage(f"{source} is not there", "name a folder of *.yaml files, or one file")
    return {"files": [{"file": str(p), "text": text(p)} for p in files], "whole": source.is_dir()}


def text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"{file} cannot be read: {error}", "policies are UTF-8 text") from None
