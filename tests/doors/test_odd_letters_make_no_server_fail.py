"""Comments and names with letters that a database does not take are refused, and make no server fail."""

import pytest

from tests.conftest import Api
from tests.doors.test_tables_of_databases_are_governed import TABLES, Run, openings, run

__all__ = ["openings", "run"]

pytestmark = pytest.mark.real


@pytest.mark.parametrize("comment", ["a\0b", "\0", "it's \\' -- %s %% %(x)s :x"])
def test_a_comment(api: Api, run: Run, comment: str) -> None:
    columns = [{"name": "a", "type": "varchar(200)", "comment": comment}]
    answer = api("admin", "POST", TABLES, {"name": "t", "columns": columns, "comment": comment})
    assert answer.status_code in (200, 400), answer.text
    if answer.status_code == 200:
        table = api("admin", "GET", f"{TABLES}/t").json()["table"]
        assert (table["comment"], table["columns"][0]["comment"]) == (comment, comment)


@pytest.mark.parametrize("text", ["a\\' OR 1=1 -- ", "%s%%", "%(x)s", ":x", "a''b", "\\", "'"])
def test_a_default(api: Api, run: Run, text: str) -> None:
    value = {"type": "literal", "dataType": "varchar(200)", "value": text}
    columns = [{"name": 'a%s"`', "type": "varchar(200)", "defaultValue": value}]
    answer = api("admin", "POST", TABLES, {"name": "t%s", "columns": columns})
    assert answer.status_code in (200, 400), answer.text
    if answer.status_code == 200:
        table = api("admin", "GET", f"{TABLES}/t%25s").json()["table"]
        assert table["columns"][0]["defaultValue"]["value"] == text
