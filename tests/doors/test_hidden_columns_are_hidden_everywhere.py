"""What a policy hides shows in no description of the table: details, layout, properties, partitions, statistics, tags."""

from typing import Any

import pytest

from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import DENY, HIDE, MASK, ROWS, TABLES, applied, govern
from tests.doors.scans import scanned
from tests.doors.settled import LAKE, done, failed, give, refused, securable
from tests.lenses.copyist import copy_all


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)


def table(api: Api, user: str) -> Any:
    return done(api(user, "GET", f"{TABLES}/customers"))["table"]


def names(shown: Any) -> list[str]:
    return [column["name"] for column in shown["columns"]]


def test_details_leave_out_columns_fields_layout_and_properties(api: Api) -> None:
    whole = table(api, "ann")
    assert "ssn" in str(whole)
    applied(api, HIDE)
    shown = table(api, "ann")
    assert names(shown) == ["id", "region", "email", "home"]
    assert [f["name"] for f in shown["columns"][3]["type"]["fields"]] == ["street"]
    assert shown["partitioning"] == [], "as the governed document has it"
    assert shown["properties"].keys() == {"provider", "format-version", "current-snapshot-id"}
    assert "ssn" not in str(shown)
    assert "zip" not in str(shown)


def test_owners_and_authors_are_bound_and_the_excepted_are_not(api: Api) -> None:
    applied(api, HIDE)
    assert "ssn" not in names(table(api, "admin")), "the owner of everything, who wrote the policy"
    done(api("admin", "PUT", f"{LAKE}/groups/privacy/members", {"users": ["ann"], "groups": []}))
    assert "ssn" in names(table(api, "ann"))


def test_masked_columns_and_filtered_rows_do_not_change_the_schema(api: Api) -> None:
    before = table(api, "ann")
    applied(api, MASK, ROWS)
    after = table(api, "ann")
    for part in ("columns", "partitioning", "sortOrders", "distribution", "indexes"):
        assert after[part] == before[part]
    assert "location" not in after["properties"], "nobody needs it who may not read what lies there"


def test_a_denial_is_403_with_the_policy_and_is_audited(api: Api) -> None:
    applied(api, DENY)
    answer = api("bob", "GET", f"{TABLES}/customers")
    assert refused(answer)
    assert "policy 'nobody'" in answer.json()["message"]
    assert names(table(api, "ann"))
    events = done(api("admin", "GET", "/api/headgate/audit?metalake=lake&user=bob&allowed=false"))["events"]
    assert any("nobody" in str(event["details"]) for event in events)


def test_a_hidden_column_cannot_be_altered_or_tagged_and_its_tags_do_not_show(api: Api) -> None:
    on = f"{LAKE}/objects/column/cat.s.customers.ssn/tags"
    done(api("admin", "POST", on, {"tagsToAdd": ["pii"]}))
    give(api, "ann", "tagger", securable("metalake", "lake", "apply_tag"))
    give(api, "ann", "writer", securable("catalog", "cat", "modify_table"))
    assert "cat.s.customers.ssn" in str(done(api("ann", "GET", f"{LAKE}/tags/pii/objects")))
    applied(api, HIDE)
    told = done(api("ann", "GET", f"{LAKE}/tags/pii/objects"))
    assert "ssn" not in str(told)
    assert "cat.s.customers.email" in str(told)
    assert api("ann", "GET", on).status_code == 404
    assert api("ann", "POST", on, {"tagsToRemove": ["pii"]}).status_code == 404
    rename = {"@type": "renameColumn", "oldFieldName": ["ssn"], "newFieldName": "x"}
    missing = {**rename, "oldFieldName": ["nowhere"]}
    answers = [api("ann", "PUT", f"{TABLES}/customers", {"updates": [u]}) for u in (rename, missing)]
    assert [answer.status_code for answer in answers] == [403, 403]
    assert answers[0].json() == answers[1].json(), "who may change nothing does not learn what is there"


def test_a_renamed_column_stays_hidden_and_a_dropped_one_denies(api: Api) -> None:
    done(api("admin", "POST", TABLES, {"name": "plain", "columns": [{"name": "id", "type": "long"}, {"name": "ssn", "type": "string"}]}))  # fmt: skip
    applied(api, HIDE.replace("[group:privacy]", "[user:admin]"))
    rename = {"@type": "renameColumn", "oldFieldName": ["ssn"], "newFieldName": "number"}
    done(api("admin", "PUT", f"{TABLES}/plain", {"updates": [rename]}))
    assert names(done(api("ann", "GET", f"{TABLES}/plain"))["table"]) == ["id"]
    drop = {"@type": "deleteColumn", "fieldName": ["number"], "ifExists": False}
    done(api("admin", "PUT", f"{TABLES}/plain", {"updates": [drop]}))
    answer = api("ann", "GET", f"{TABLES}/plain")
    assert refused(answer)
    assert "policy 'hide-ssn'" in answer.json()["message"]
    assert "column" not in answer.json()["message"], "which one was hidden is nothing for her"
    events = done(api("admin", "GET", "/api/headgate/audit?metalake=lake&user=ann&allowed=false"))["events"]
    assert any("column ssn is gone" in str(event["details"]) for event in events)


def test_a_policy_that_cannot_be_evaluated_quotes_nothing_to_the_reader(api: Api) -> None:
    """Its reasons name columns, and may quote what it says."""
    done(api("admin", "DELETE", f"{TABLES}/customers"))
    applied(
        api,
        HIDE.replace("[group:privacy]", "[user:admin]"),
        "policy: odd\non: lake.cat.s\nto: [user:ann]\nrows: starts_with(ssn, 'X-')\n",
    )
    columns = [{"name": "id", "type": "long"}, {"name": "ssn", "type": "long"}]
    done(api("admin", "POST", TABLES, {"name": "late", "columns": columns}))
    answer = api("ann", "GET", f"{TABLES}/late")
    assert refused(answer)
    told = answer.json()["message"]
    assert "policy 'odd': it cannot be evaluated on this table" in told
    assert not any(word in told for word in ("ssn", "starts_with", "X-", "long", "types"))


def test_statistics_are_for_those_who_see_everything(api: Api) -> None:
    statistics = f"{LAKE}/objects/table/cat.s.customers/statistics"
    done(api("admin", "PUT", statistics, {"updates": {"custom-ssn-min": "1"}}))
    partition = {"updates": [{"partitionName": "region=EU", "statistics": {"custom-n": 1}}]}
    done(api("admin", "PUT", statistics + "/partitions", partition))
    assert done(api("ann", "GET", statistics))["statistics"]
    applied(api, ROWS)
    assert done(api("ann", "GET", statistics))["statistics"] == []
    assert done(api("ann", "GET", statistics + "/partitions"))["partitionStatistics"] == []
    assert done(api("admin", "GET", statistics))["statistics"]


def test_partitions_show_no_hidden_value_and_no_row_that_is_filtered(api: Api, steward: Steward) -> None:
    fill(steward)
    partitions = f"{TABLES}/customers/partitions"
    assert done(api("ann", "GET", partitions))["names"] == [
        "region=EU/ssn=1",
        "region=EU/ssn=2",
        "region=US/ssn=3",
    ]
    applied(api, ROWS)
    assert done(api("ann", "GET", partitions))["names"] == ["region=EU/ssn=1", "region=EU/ssn=2"]
    assert done(api("bob", "GET", partitions))["names"] == ["region=US/ssn=3"]
    assert failed(api("ann", "GET", partitions + "/region=US%2Fssn=3"))[0] == 404
    steward.waiting.patience = 0
    applied(api, "policy: other\non: lake\nto: [everyone]\nrows: id + 0 = 1\n")
    assert failed(api("ann", "GET", partitions))[0] == 503, "they are listed once the copies are made"
    copy_all(steward)
    shown = done(api("ann", "GET", partitions))["names"]
    assert len(shown) == 3, "this copyist finds a row in every file"
    applied(api, HIDE)
    assert failed(api("ann", "GET", partitions))[0] == 503
    copy_all(steward)
    answer = api("ann", "GET", partitions)
    assert "not partitioned" in answer.text, "a layout by a hidden column is none"
    assert "ssn" not in answer.text


def fill(steward: Steward) -> None:
    """Three rows in three partitions, appended as an engine would."""
    import pyarrow as pa
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.table import Table

    from headgate.catalogs.iceberg.describing.descriptions import parsed
    from headgate.catalogs.interface import IcebergCatalog
    from headgate.steward.metadata.shapes import place
    from headgate.store import pointers

    authority = steward.kernel.authority()
    node = authority.find(ObjectRef.parse("lake", ObjectType.TABLE, "cat.s.customers"))
    assert node is not None
    adapter = steward.catalogs.opened(authority.objects[node.chain[1][0]])
    assert isinstance(adapter, IcebergCatalog)
    document = adapter.document(place(authority, node))
    metadata = parsed(document.metadata)
    catalog = NoopCatalog("test")
    table = Table(("s", "customers"), metadata, document.location or "", adapter.storage.io, catalog)  # type: ignore[attr-defined]
    rows = [
        {"id": number, "region": region, "email": None, "ssn": ssn, "home": None}
        for number, region, ssn in ((1, "EU", "1"), (2, "EU", "2"), (3, "US", "3"))
    ]
    transaction = table.transaction()
    transaction.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    updates = [update.model_dump(mode="json", by_alias=True) for update in transaction._updates]
    staged = adapter.commit_document(place(authority, node), [], updates)
    with steward.kernel.store.write("test", "append") as tx:
        staged.commit(tx, node.id)
    assert pointers.location(steward.kernel.store, node.id) != document.location


# -- through the Iceberg door ---------------------------------------------------------------------------------------

ICEBERG = "/iceberg/v1/lake.cat/namespaces/s/tables/customers"


def test_the_iceberg_document_names_nothing_that_is_hidden(api: Api) -> None:
    assert "ssn" in api("ann", "GET", ICEBERG).text
    applied(api, HIDE)
    answer = api("ann", "GET", ICEBERG)
    assert answer.status_code == 200, answer.text
    assert "ssn" not in answer.text
    assert "zip" not in answer.text
    applied(api, HIDE.replace("[ssn, home.zip]", "[ssn, home]"))
    assert "home" not in str(api("ann", "GET", ICEBERG).json()["metadata"]["schemas"])


def test_a_denial_is_told_to_iceberg_clients_too(api: Api) -> None:
    applied(api, DENY)
    answer = api("bob", "GET", ICEBERG)
    assert answer.status_code == 403
    assert "policy 'nobody'" in answer.text
    assert api("bob", "POST", f"{ICEBERG}/plan", {}).status_code == 403
    assert api("ann", "GET", ICEBERG).status_code == 200


def test_plans_hand_out_only_files_that_hold_nothing_else(api: Api, steward: Steward) -> None:
    fill(steward)
    steward.scans.patience = 60
    first = api("ann", "POST", f"{ICEBERG}/plan", {})
    assert len(first.json().get("file-scan-tasks", [])) == 3, first.text
    applied(api, ROWS)
    assert len(scanned(api, "ann", ICEBERG)["file-scan-tasks"]) == 2
    assert len(scanned(api, "bob", ICEBERG)["file-scan-tasks"]) == 1
    steward.scans.patience = 0.2
    for policy in ("policy: other\non: lake\nto: [everyone]\nrows: ends_with(region, 'U')\n", MASK):
        applied(api, policy)
        answer = api("ann", "POST", f"{ICEBERG}/plan", {}).json()
        assert answer.keys() == {"status", "plan-id"}, "a filter that is not exact proves nothing"
