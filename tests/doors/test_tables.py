"""Tables, partitions and statistics through the Gravitino door."""

import re
import threading
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.native import Native
from headgate.store import pointers
from tests.conftest import Api
from tests.people import People

CATALOG = "/api/metalakes/lake/catalogs/cat"
TABLES = CATALOG + "/schemas/s/tables"
STATISTICS = "/api/metalakes/lake/objects/table/cat.s.t/statistics"
COLUMNS = [
    {"name": "id", "type": "long", "nullable": False, "comment": "key"},
    {"name": "region", "type": "string"},
    {"name": "at", "type": "timestamp_tz"},
]
SALES = {
    "name": "t",
    "comment": "sales",
    "columns": COLUMNS,
    "properties": {"k": "v"},
    "partitioning": [
        {"strategy": "identity", "fieldName": ["region"]},
        {"strategy": "bucket", "numBuckets": 4, "fieldNames": [["id"]]},
    ],
    "sortOrders": [{"sortTerm": {"type": "field", "fieldName": ["id"]}, "direction": "desc"}],
    "distribution": {"strategy": "none", "number": 0, "funcArgs": []},
    "indexes": [],
}


@pytest.fixture(autouse=True)
def _lake(api: Api) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    catalogs = "/api/metalakes/lake/catalogs"
    api("admin", "POST", catalogs, {"name": "cat", "type": "relational", "provider": "lakehouse-iceberg"})
    assert api("admin", "POST", CATALOG + "/schemas", {"name": "s"}).status_code == 200


def sales(api: Api, **more: Any) -> dict[str, Any]:
    """A new table as it is loaded: the answer to its making has only the properties that were asked for."""
    made = api("admin", "POST", TABLES, {**SALES, **more})
    assert made.status_code == 200, made.text
    table: dict[str, Any] = api("admin", "GET", f"{TABLES}/{made.json()['table']['name']}").json()["table"]
    assert {**table, "properties": {"k": "v"}} == made.json()["table"]
    return table


def names(api: Api, user: str, tables: str = TABLES) -> list[str]:
    return [i["name"] for i in api(user, "GET", tables).json()["identifiers"]]


def test_a_table_is_created_listed_loaded_and_dropped(api: Api, tmp_path: Path) -> None:
    made = sales(api)
    assert (made["name"], made["comment"], made["properties"]["k"]) == ("t", "sales", "v")
    assert made["columns"][0] == {**COLUMNS[0], "autoIncrement": False}
    assert made["partitioning"] == SALES["partitioning"]
    assert made["sortOrders"][0]["nullOrdering"] == "nulls_last"
    assert (made["distribution"]["strategy"], made["indexes"]) == ("none", [])
    assert made["audit"]["creator"] == "admin"
    assert re.match(
        f"file://{tmp_path}/warehouse/lake/cat-[0-9a-f]{{12}}/s/t-", made["properties"]["location"]
    )
    listed = api("admin", "GET", TABLES).json()["identifiers"]
    assert listed == [{"namespace": ["lake", "cat", "s"], "name": "t"}]
    assert api("admin", "GET", f"{TABLES}/t").json()["table"] == made
    again = api("admin", "POST", TABLES, SALES)
    assert (again.status_code, again.json()["type"]) == (409, "TableAlreadyExistsException")
    missing = api("admin", "GET", f"{TABLES}/none")
    assert (missing.status_code, missing.json()["type"]) == (404, "NoSuchTableException")
    nowhere = api("admin", "GET", f"{CATALOG}/schemas/none/tables")
    assert (nowhere.status_code, nowhere.json()["type"]) == (404, "NoSuchSchemaException")
    assert api("admin", "DELETE", f"{CATALOG}/schemas/s").json()["type"] == "NonEmptySchemaException"
    folder = Path(made["properties"]["location"].removeprefix("file://"))
    assert api("admin", "DELETE", f"{TABLES}/t").json() == {"code": 0, "dropped": True}
    assert folder.is_dir()
    assert api("admin", "DELETE", f"{TABLES}/t").json() == {"code": 0, "dropped": False}
    folder = Path(sales(api)["properties"]["location"].removeprefix("file://"))
    assert api("admin", "DELETE", f"{TABLES}/t?purge=True").json() == {"code": 0, "dropped": True}
    assert not folder.exists()


def test_every_update_of_the_api_reaches_the_table(api: Api) -> None:
    sales(api)
    updates = [
        {"@type": "updateComment", "newComment": "new"},
        {"@type": "setProperty", "property": "a", "value": "b"},
        {"@type": "removeProperty", "property": "k"},
        {
            "@type": "addColumn",
            "fieldName": ["n"],
            "type": "integer",
            "comment": "c",
            "position": {"after": "id"},
        },
        {"@type": "addColumn", "fieldName": ["l"], "type": {"type": "list", "elementType": "string"}},
        {"@type": "updateColumnType", "fieldName": ["n"], "newType": "long"},
        {"@type": "updateColumnComment", "fieldName": ["n"], "newComment": "number"},
        {"@type": "updateColumnNullability", "fieldName": ["id"], "nullable": True},
        {"@type": "updateColumnPosition", "fieldName": ["at"], "newPosition": "first"},
        {"@type": "renameColumn", "oldFieldName": ["region"], "newFieldName": "area"},
        {"@type": "deleteColumn", "fieldName": ["l"], "ifExists": False},
        {"@type": "deleteColumn", "fieldName": ["l"], "ifExists": True},
        {"@type": "rename", "newName": "u"},
    ]
    altered = api("admin", "PUT", f"{TABLES}/t", {"updates": updates})
    assert altered.status_code == 200, altered.text
    table = altered.json()["table"]
    assert api("admin", "GET", f"{TABLES}/u").json()["table"] == table
    assert (table["name"], table["comment"], table["properties"]["a"]) == ("u", "new", "b")
    assert "k" not in table["properties"]
    assert [c["name"] for c in table["columns"]] == ["at", "id", "n", "area"]
    assert table["columns"][1]["nullable"] is True
    assert (table["columns"][2]["type"], table["columns"][2]["comment"]) == ("long", "number")
    assert table["partitioning"][0]["fieldName"] == ["area"]
    assert table["audit"]["lastModifier"] == "admin"
    assert names(api, "admin") == ["u"]
    missing = {"updates": [{"@type": "deleteColumn", "fieldName": ["none"]}]}
    refused = api("admin", "PUT", f"{TABLES}/u", missing)
    assert (refused.status_code, refused.json()["type"]) == (404, "NoSuchColumnException")


def test_bad_tables_and_updates_are_refused_and_change_nothing(api: Api) -> None:
    for name in ("", "..", "a*", "x" * 1_000_000, "a\x00b"):
        assert api("admin", "POST", TABLES, {**SALES, "name": name}).status_code == 400, name[:10]
    deep: Any = "string"
    for _ in range(400):
        deep = {"type": "list", "elementType": deep}
    for columns in ([], [{"name": "a"}], [{"name": "a", "type": 7}], [{"name": "a", "type": deep}]):
        answer = api("admin", "POST", TABLES, {"name": "t", "columns": columns})
        assert (answer.status_code, answer.json()["code"]) == (400, 1001), answer.text[:200]
    assert names(api, "admin") == []
    made = sales(api)
    for update in (
        {"@type": "explode"},
        {"@type": "rename", "newName": "a/../b"},
        {"@type": "addColumn", "fieldName": [], "type": "string"},
        {"@type": "addColumn", "fieldName": ["x"], "type": "char(4)"},
        {"@type": "setProperty", "property": "write.data.path", "value": "/etc"},
        {
            "@type": "addTableIndex",
            "index": {"indexType": "PRIMARY_KEY", "name": "i", "fieldNames": [["id"]]},
        },
    ):
        body = {"updates": [{"@type": "updateComment", "newComment": "x"}, update]}
        assert api("admin", "PUT", f"{TABLES}/t", body).status_code == 400, update
    assert api("admin", "GET", f"{TABLES}/t").json()["table"] == made


def test_who_may_not_gets_403_on_every_operation(api: Api, people: People) -> None:
    sales(api)
    people.may("ann", "USE_CATALOG USE_SCHEMA", "catalog", "cat")
    every = [
        ("POST", TABLES, {**SALES, "name": "mine"}),
        ("GET", f"{TABLES}/t", None),
        ("GET", f"{TABLES}/none", None),
        ("PUT", f"{TABLES}/t", {"updates": []}),
        ("DELETE", f"{TABLES}/t", None),
        ("GET", f"{TABLES}/t/partitions", None),
        ("POST", f"{TABLES}/t/partitions", {"partitions": []}),
        ("GET", f"{TABLES}/t/partitions/p", None),
        ("DELETE", f"{TABLES}/t/partitions/p", None),
        ("GET", STATISTICS, None),
        ("PUT", STATISTICS, {"updates": {"custom-a": 1}}),
        ("POST", STATISTICS, {"names": ["custom-a"]}),
        ("GET", STATISTICS + "/partitions", None),
        ("PUT", STATISTICS + "/partitions", {"updates": []}),
        ("POST", STATISTICS + "/partitions", {"drops": []}),
    ]
    for user in ("ann", "stranger"):
        for method, path, body in every:
            answer = api(user, method, path, body)
            assert (answer.status_code, answer.json()["code"]) == (403, 1008), (user, method, path)
    assert names(api, "ann") == []
    people.may("ann", "SELECT_TABLE", "table", "cat.s.t")
    assert names(api, "ann") == ["t"]
    assert api("ann", "GET", f"{TABLES}/t?privileges=SELECT_TABLE").status_code == 200
    assert api("ann", "GET", f"{TABLES}/t?privileges=SELECT_TABLE,MODIFY_TABLE").status_code == 403
    assert api("ann", "GET", f"{TABLES}/t?privileges=select_table").status_code == 400
    assert api("ann", "PUT", f"{TABLES}/t", {"updates": []}).status_code == 403
    people.may("ann", "MODIFY_TABLE CREATE_TABLE", "catalog", "cat")
    assert api("ann", "GET", f"{TABLES}/t?privileges=MODIFY_TABLE").status_code == 200
    assert api("ann", "PUT", f"{TABLES}/t", {"updates": []}).status_code == 200
    assert api("ann", "DELETE", f"{TABLES}/t").status_code == 403
    assert api("ann", "POST", TABLES, {**SALES, "name": "mine"}).status_code == 200
    assert api("ann", "DELETE", f"{TABLES}/mine").json()["dropped"] is True


def test_a_table_moves_only_for_who_may_drop_it_here_and_create_it_there(api: Api, people: People) -> None:
    made = sales(api)
    api("admin", "POST", CATALOG + "/schemas", {"name": "other"})
    move = {"updates": [{"@type": "rename", "newName": "moved", "newSchemaName": "other"}]}
    people.may("ann", "USE_CATALOG USE_SCHEMA MODIFY_TABLE", "catalog", "cat")
    people.may("ann", "CREATE_TABLE", "schema", "cat.other")
    assert api("ann", "PUT", f"{TABLES}/t", move).status_code == 403
    gone = {"updates": [{"@type": "rename", "newName": "moved", "newSchemaName": "none"}]}
    assert api("admin", "PUT", f"{TABLES}/t", gone).json()["type"] == "NoSuchSchemaException"
    assert api("admin", "PUT", f"{TABLES}/t", move).json()["table"]["name"] == "moved"
    assert names(api, "admin") == []
    assert names(api, "admin", CATALOG + "/schemas/other/tables") == ["moved"]
    loaded = api("admin", "GET", CATALOG + "/schemas/other/tables/moved").json()["table"]
    assert loaded["columns"] == made["columns"]
    sales(api)
    back = {"updates": [{"@type": "rename", "newName": "t", "newSchemaName": "s"}]}
    taken = api("admin", "PUT", CATALOG + "/schemas/other/tables/moved", back)
    assert (taken.status_code, taken.json()["type"]) == (409, "TableAlreadyExistsException")


def test_tables_of_a_disabled_catalog_cannot_be_reached(api: Api) -> None:
    sales(api)
    api("admin", "PATCH", CATALOG, {"inUse": False})
    for method, path, body in (
        ("GET", TABLES, None),
        ("POST", TABLES, {**SALES, "name": "u"}),
        ("GET", f"{TABLES}/t", None),
        ("PUT", f"{TABLES}/t", {"updates": []}),
        ("DELETE", f"{TABLES}/t", None),
        ("GET", f"{TABLES}/t/partitions", None),
        ("GET", STATISTICS, None),
    ):
        answer = api("admin", method, path, body)
        assert (answer.status_code, answer.json()["type"]) == (409, "CatalogNotInUseException"), path


def test_a_catalog_without_tables_says_so(api: Api) -> None:
    files = "/api/metalakes/lake/catalogs/files"
    api("admin", "POST", "/api/metalakes/lake/catalogs", {"name": "files", "type": "fileset"})
    api("admin", "POST", files + "/schemas", {"name": "s"})
    for method, body in (("GET", None), ("POST", SALES)):
        answer = api("admin", method, files + "/schemas/s/tables", body)
        assert (answer.status_code, answer.json()["code"]) == (405, 1006)


def test_two_alters_at_once_lose_nothing(api: Api) -> None:
    """One of two alters from the same state gets 409; what was acknowledged is there."""
    sales(api)
    answers: dict[str, int] = {}
    meet = threading.Barrier(2, timeout=20)
    original = Native.alter_table

    def together(self: Any, *args: Any) -> Any:
        staged = original(self, *args)
        meet.wait()
        return staged

    def add(name: str) -> None:
        body = {"updates": [{"@type": "addColumn", "fieldName": [name], "type": "string"}]}
        answers[name] = api("admin", "PUT", f"{TABLES}/t", body).status_code

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Native, "alter_table", together)
        threads = [threading.Thread(target=add, args=(name,)) for name in ("x", "y")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(answers.values()) == [200, 409]
    won = next(name for name, status in answers.items() if status == 200)
    columns = api("admin", "GET", f"{TABLES}/t").json()["table"]["columns"]
    assert [c["name"] for c in columns] == ["id", "region", "at", won]


def test_of_two_who_create_one_table_at_once_one_does(api: Api, tmp_path: Path) -> None:
    meet = threading.Barrier(2, timeout=20)
    answers: list[int] = []
    original = Native.create_table

    def together(self: Any, *args: Any) -> Any:
        staged = original(self, *args)
        meet.wait()
        return staged

    def create() -> None:
        answers.append(api("admin", "POST", TABLES, SALES).status_code)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Native, "create_table", together)
        threads = [threading.Thread(target=create) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(answers) == [200, 409]
    assert len(list(tmp_path.rglob("*.metadata.json"))) == 1
    assert api("admin", "GET", f"{TABLES}/t").status_code == 200


def test_a_crash_before_the_transaction_commits_leaves_the_table_as_it_was(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sales(api)

    def crash(*args: object) -> None:
        raise RuntimeError("power is gone")

    monkeypatch.setattr(pointers, "swap", crash)
    monkeypatch.setattr(pointers, "point", crash)
    update = {"updates": [{"@type": "rename", "newName": "u"}, {"@type": "updateComment", "newComment": "x"}]}
    assert api("admin", "PUT", f"{TABLES}/t", update).status_code == 500
    assert api("admin", "POST", TABLES, {**SALES, "name": "v"}).status_code == 500
    monkeypatch.undo()
    assert names(api, "admin") == ["t"]
    assert api("admin", "GET", f"{TABLES}/t").json()["table"] == made
    assert api("admin", "PUT", f"{TABLES}/t", update).json()["table"]["name"] == "u"
    assert api("admin", "POST", TABLES, {**SALES, "name": "v"}).status_code == 200


def test_partitions_of_an_iceberg_table_follow_its_rows(api: Api) -> None:
    sales(api)
    assert api("admin", "GET", f"{TABLES}/t/partitions").json() == {"code": 0, "names": []}
    assert api("admin", "GET", f"{TABLES}/t/partitions?details=true").json() == {"code": 0, "partitions": []}
    missing = api("admin", "GET", f"{TABLES}/t/partitions/region=eu")
    assert (missing.status_code, missing.json()["type"]) == (404, "NoSuchPartitionException")
    added = api("admin", "POST", f"{TABLES}/t/partitions", {"partitions": []})
    assert (added.status_code, added.json()["code"]) == (405, 1006)
    assert api("admin", "DELETE", f"{TABLES}/t/partitions/region=eu").status_code == 405


def test_statistics_are_kept_for_tables_and_partitions(api: Api) -> None:
    sales(api)
    values = {"custom-rows": 7, "custom-note": "x", "custom-list": [1, 2.5], "custom-object": {"a": True}}
    assert api("admin", "PUT", STATISTICS, {"updates": values}).json() == {"code": 0}
    api("admin", "PUT", STATISTICS, {"updates": {"custom-rows": 8}})
    found = api("admin", "GET", STATISTICS).json()["statistics"]
    assert {s["name"]: s["value"] for s in found} == {**values, "custom-rows": 8}
    rows = next(s for s in found if s["name"] == "custom-rows")
    assert (rows["reserved"], rows["modifiable"], rows["audit"]["lastModifier"]) == (False, True, "admin")
    for bad in ({"rows": 1}, {"custom-": 1}, {}, {"custom-a": 1, "row-count": 2}):
        assert api("admin", "PUT", STATISTICS, {"updates": bad}).status_code == 400, bad
    assert api("admin", "POST", STATISTICS, {"names": ["custom-note"]}).json()["dropped"] is True
    assert api("admin", "POST", STATISTICS, {"names": ["custom-note"]}).json()["dropped"] is False
    partitions = STATISTICS + "/partitions"
    body = {"updates": [{"partitionName": p, "statistics": {"custom-rows": n}} for n, p in enumerate("abc")]}
    assert api("admin", "PUT", partitions, body).json() == {"code": 0}

    def listed(query: str = "") -> list[str]:
        return [
            p["partitionName"] for p in api("admin", "GET", partitions + query).json()["partitionStatistics"]
        ]

    assert listed() == ["a", "b", "c"]
    assert listed("?from=a&to=c") == ["a", "b"]
    assert listed("?from=a&to=c&fromInclusive=false&toInclusive=true") == ["b", "c"]
    drops = {"drops": [{"partitionName": "a", "statisticNames": ["custom-rows"]}]}
    assert api("admin", "POST", partitions, drops).json()["dropped"] is True
    assert listed() == ["b", "c"]
    assert len(api("admin", "GET", STATISTICS).json()["statistics"]) == 3
    schema = api("admin", "GET", "/api/metalakes/lake/objects/schema/cat.s/statistics")
    assert (schema.status_code, schema.json()["code"]) == (405, 1006)
    api("admin", "DELETE", f"{TABLES}/t")
    assert api("admin", "GET", STATISTICS).json()["type"] == "NoSuchTableException"
    sales(api)
    assert api("admin", "GET", STATISTICS).json()["statistics"] == []
