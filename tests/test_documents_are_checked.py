"""Promise: the check of the documents notices files that are gone, decisions that are misnumbered and a glossary out of order."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "documents.py"


@pytest.fixture(scope="module")
def documents() -> ModuleType:
    spec = importlib.util.spec_from_file_location("documents", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_file_that_is_gone_is_named(documents: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`decide/verdict.py` and `decide/gone.py`, also in `tests/decide/naive.py`")
    assert list(documents.files(page)) == ["there is no src/headgate/decide/gone.py"]


def test_a_word_out_of_order_or_in_no_room_is_named(documents: ModuleType) -> None:
    text = (
        "| lens | what one sees | `decide` |\n| act | a deed | `nowhere` |\n| act | another | `steward` |\n"
    )
    assert list(documents.glossary(text)) == [
        "docs/glossary.md: 'act' stands behind 'lens'",
        "docs/glossary.md: 'act' stands behind 'act'",
        "docs/glossary.md: 'act' belongs to nowhere, which is no folder",
    ]


def test_a_gap_in_the_decisions_is_named(documents: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "decisions"
    folder.mkdir()
    (folder / "0001-first.md").write_text("# 0001 · First\n")
    (folder / "0003-third.md").write_text("# Third\n")
    (tmp_path / "README.md").write_text("[0001](decisions/0001-first.md)")
    assert list(documents.decisions(tmp_path)) == [
        "docs/decisions: 0003-third.md should be number 0002",
        "docs/decisions/0003-third.md: the title does not begin with its number",
        "docs/README.md does not list 0003-third.md",
    ]
