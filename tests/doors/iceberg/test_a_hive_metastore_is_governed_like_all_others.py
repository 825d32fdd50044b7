"""Catalogs of a Hive Metastore through both doors: declared with what they need alone, governed, and missed by their name."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.openings import Openings
from headgate.catalogs.registry import CatalogDefinition, Registry
from headgate.model.errors import Forbidden
from headgate.model.objects import CatalogType
from headgate.store import Store
from tests.catalogs import hive_server
from tests.catalogs.any_metastore import BreakingWire
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import SCHEMA
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People

HIVE, ICEBERG = {}, {"catalog-backend": "hive"}
HIDE = "policy: few\non: lake.hms\nto: [user:ann]\ncolumns: {c: has_tag('pii')}\nhide: [c]\n"
URIS = "thrift://127.0.0.1:9083"


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path)


@pytest.fixture
def wire(hive_metastore: int) -> Iterator[BreakingWire]:
    hive_server.emptied(hive_metastore)
    found = BreakingWire(hive_metastore)
    yield found
    found.cut()
    hive_server.emptied(hive_metastore)


def declare(api: Api, name: str, more: dict[str, str], **declared: str) -> Any:
    provider = "lakehouse-iceberg" if "catalog-backend" in more else "hive"
    named = {key.replace("__", "."): value for key, value in declared.items()}
    body = {"name": name, "type": "relational", "provider": provider, "properties": {**more, **named}}
    return api("admin", "POST", f"{LAKE}/catalogs", body)


@pytest.mark.parametrize("kind", [HIVE, {"metastore-type": "hive"}, ICEBERG], ids=["hive", "said", "iceberg"])
def test_it_is_declared_with_what_it_needs_and_nothing_else(
    api: Api, tmp_path: Path, kind: dict[str, str]
) -> None:
    place = f"file://{tmp_path}/hms"
    for more, key in (
        ({}, "metastore.uris"),
        ({"metastore__uris": "thrift://elsewhere.example:9083"}, "elsewhere.example:9083"),
        ({"metastore__uris": f"{URIS},thrift://elsewhere.example"}, "elsewhere.example:9083"),
        ({"metastore__uris": "http://127.0.0.1:9083"}, "metastore.uris"),
        ({"metastore__uris": URIS, "uri": URIS}, "uri"),
        ({"metastore__uris": URIS, "aws-region": "us-east-1"}, "aws-region"),
        ({"metastore__uris": URIS, "jdbc-url": "jdbc:sqlite:/x"}, "jdbc-url"),
        ({"metastore__uris": URIS, "hive.metastore.sasl.enabled": "true"}, "hive.metastore.sasl.enabled"),
        ({"metastore__uris": URIS, "warehouse": "file:///elsewhere"}, "warehouse"),
    ):
        answer = declare(api, "hms", kind, **more)
        assert (answer.status_code, answer.json()["code"]) == (400, 1001), answer.text
        assert key in answer.json()["message"]
    assert declare(api, "hms", kind, metastore__uris=URIS, warehouse=place).status_code == 200
    for key, value in (("metastore.uris", "thrift://localhost:9083"), ("warehouse", f"{place}2")):
        change = {"updates": [{"@type": "setProperty", "property": key, "value": value}]}
        assert api("admin", "PUT", f"{LAKE}/catalogs/hms", change).status_code == 400


def test_a_host_that_is_closed_later_is_asked_no_more(store: Store, tmp_path: Path) -> None:
    properties = {"metastore.uris": URIS, "warehouse": f"file://{tmp_path}/hms"}
    definition = CatalogDefinition("lake/hms", CatalogType.RELATIONAL, "hive", properties, "hms")
    closing = Registry(store, None, opened(tmp_path, hosts=("127.0.0.1:9084",)))
    with pytest.raises(Forbidden, match=r"metastore\.uris"):
        closing.open(definition)
    Registry(store, None, opened(tmp_path, hosts=("127.0.0.1:9083",))).open(definition)


@pytest.mark.real
def test_hive_tables_are_described_under_policies_and_refused_by_the_iceberg_door(
    api: Api, wire: BreakingWire, tmp_path: Path, people: People
) -> None:
    declared = {"metastore__uris": wire.url, "warehouse": f"file://{tmp_path}/hms"}
    assert declare(api, "hms", HIVE, **declared).status_code == 200
    schemas = f"{LAKE}/catalogs/hms/schemas"
    assert api("admin", "POST", schemas, {"name": "s"}).status_code == 200
    columns = [{"name": n, "type": "string"} for n in ("ssn", "name")]
    made = api("admin", "POST", f"{schemas}/s/tables", {"name": "t", "columns": columns})
    assert made.status_code == 200, made.text
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    api("admin", "POST", f"{LAKE}/tags", {"name": "pii"})
    tagging = f"{LAKE}/objects/column/hms.s.t.ssn/tags"
    assert api("admin", "POST", tagging, {"tagsToAdd": ["pii"]}).status_code == 200
    applied(api, HIDE)
    rename = {"@type": "renameColumn", "oldFieldName": ["ssn"], "newFieldName": "number"}
    assert api("admin", "PUT", f"{schemas}/s/tables/t", {"updates": [rename]}).status_code == 200
    for who, seen in (("admin", ["number", "name"]), ("ann", ["name"])):
        table = api(who, "GET", f"{schemas}/s/tables/t").json()["table"]
        assert [column["name"] for column in table["columns"]] == seen
    assert api("admin", "GET", "/iceberg/v1/lake.hms/namespaces/s/tables/t").status_code == 406


@pytest.mark.real
def test_iceberg_tables_are_made_committed_to_and_dropped(
    api: Api, wire: BreakingWire, tmp_path: Path
) -> None:
    declared = {"metastore__uris": wire.url, "warehouse": f"file://{tmp_path}/hms"}
    assert declare(api, "hms", ICEBERG, **declared).status_code == 200
    door = "/iceberg/v1/lake.hms/namespaces"
    assert api("admin", "POST", door, {"namespace": ["s"]}).status_code == 200
    assert api("admin", "POST", f"{door}/s/tables", {"name": "t", "schema": SCHEMA}).status_code == 200
    update = {"action": "set-properties", "updates": {"k": "v"}}
    commit = api("admin", "POST", f"{door}/s/tables/t", {"requirements": [], "updates": [update]})
    assert commit.status_code == 200, commit.text
    shown = api("admin", "GET", f"{LAKE}/catalogs/hms/schemas/s/tables/t").json()["table"]
    assert shown["properties"]["k"] == "v"
    wire.cut()
    gone = api("admin", "GET", f"{LAKE}/catalogs/hms/schemas/s/tables/t")
    assert gone.status_code == 502
    assert "Hive Metastore of catalog 'hms'" in gone.json()["message"]
    lost = api("admin", "POST", f"{door}/s/tables/t", {"requirements": [], "updates": [update]})
    assert lost.status_code in (503, 504)
    wire.mend()
    deadline = time.monotonic() + 10
    while (back := api("admin", "GET", f"{door}/s/tables/t").status_code) != 200:
        assert back == 503
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert api("admin", "DELETE", f"{door}/s/tables/t?purgeRequested=true").status_code == 204
    assert api("admin", "GET", f"{door}/s/tables/t").status_code == 404
    assert not list((tmp_path / "hms").rglob("*.json"))
