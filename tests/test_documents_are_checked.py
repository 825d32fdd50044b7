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


def test_the_overview_lists_every_page_in_its_order_and_new_ones_last(
    documents: ModuleType, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    (docs / "sync").mkdir(parents=True)
    (docs / "decisions").mkdir()
    (docs / "decisions/0001-first.md").write_text("# 0001 · First\n")
    (docs / "b.md").write_text("# Bee\n<!-- says: of bees -->\n")
    (docs / "a.md").write_text("# Ay\nWords.\n")
    (docs / "sync/README.md").write_text("# Sync\n<!-- says: of sync -->\n")
    (docs / "README.md").write_text(
        "<!-- pages -->\n| [x](gone.md) | |\n| [x](b.md) | |\n<!-- /pages -->\n| [y](a.md) | |\n"
    )
    table = documents.page_table(tmp_path)
    assert table.splitlines()[2:] == [
        "| [Bee](b.md) | of bees |",
        "| [Ay](a.md) |  |",
        "| [Sync](sync/README.md) | of sync |",
    ]
    assert [line.split()[0] for line in documents.unsaid(table)] == ["docs/a.md"]


def test_every_command_is_on_its_page(documents: ModuleType) -> None:
    text = (SCRIPT.parent.parent / "docs/commands.md").read_text()
    assert documents.rendered(text) == text
    lines = [line for line in text.splitlines() if line.startswith("| `headgate ")]
    assert len(lines) > 80
    without = text.replace(lines[7] + "\n", "")
    assert documents.rendered(without) == text, "one that is missing is noticed"
