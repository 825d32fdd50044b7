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


def read(source: Path, *, allow_empty: bool = False) -> dict[str, Any]:
    """The documents as the server takes them. A folder says all that there is; a file says nothing of the others."""
    if source.is_dir():
        files = sorted(p for p in source.rglob("*") if p.suffix in (".yaml", ".yml") and p.is_file())
        files = [p for p in files if not p.name.endswith(TESTS)]
        if not files and not allow_empty:
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
    except OSError as error:
        raise Usage(f"{file} cannot be read ({error.strerror})", "see that you may read it") from None
    except UnicodeDecodeError:
        raise Usage(f"{file} is not UTF-8 text", "save it as UTF-8") from None
