"""docs/operations.md has the operations as they are, and docs/authority.md names only tests that exist."""

import re

from tests.decide.operations_page import PAGE, rendered


def test_the_table_of_operations_is_that_of_the_code() -> None:
    page = PAGE.read_text()
    assert rendered(page) == page, "run scripts/docs-operations"
    assert "| `load_table` | table |" in page


def test_every_test_that_the_page_names_exists() -> None:
    root = PAGE.parents[1]
    page = (PAGE.parent / "authority.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 10
    for file, function in named:
        assert (root / file).is_file(), file
        assert not function or f"def {function}(" in (root / file).read_text(), function
