"""Who may write policies on a schema learns nothing by that of the tables in it that they may not load."""

from tests.conftest import Api
from tests.doors.governed import TABLES, agreed, sent
from tests.doors.settled import LAKE, done, give, securable, settle


def test_no_refusal_tells_the_type_of_a_column_of_a_table_that_its_author_may_not_load(api: Api) -> None:
    """eve may write policies and put them on whatever she sees, which is `cat.s`, and may load no table in it. She writes one policy after the other, to
    nobody but herself, and looks which are refused: that tells that a table there has a column `salary`, and its type."""
    settle(api, "eve")
    columns = [{"name": "id", "type": "long"}, {"name": "salary", "type": "long"}]
    done(api("admin", "POST", TABLES, {"name": "hidden", "columns": columns}))
    give(
        api,
        "eve",
        "author",
        securable("metalake", "lake", "create_policy", "apply_policy"),
        securable("catalog", "cat", "use_catalog", "use_schema"),
    )
    assert api("eve", "GET", f"{TABLES}/hidden").status_code in (403, 404)
    told = {}
    for name, rows in (
        ("as-text", "starts_with(salary, 'x')"),
        ("as-number", "salary > 5"),
        ("missing", "starts_with(wages, 'x')"),
    ):
        text = f"policy: {name}\non: lake.cat.s\nto: [user:eve]\nrows: {rows}\n"
        answer = agreed(api, "eve", sent(text, whole=False))
        told[name] = answer.status_code
        if answer.status_code == 200:
            done(api("eve", "DELETE", f"{LAKE}/policies/{name}"))
    assert len(set(told.values())) == 1, told
