"""A hidden column of a Hive table is named nowhere in its description, whatever letters its metastore has for it."""

from pathlib import Path

from tests.catalogs import glue_server
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import lake as _lake
from tests.doors.iceberg.test_hive_tables_are_governed_and_not_yet_read import GRAVITINO, glue, openings
from tests.people import People

__all__ = ["_lake", "glue", "openings"]


def make(tmp_path: Path, named: str) -> None:
    stored = {
        "Columns": [{"Name": n, "Type": "string"} for n in ("ssn", "name")],
        "SerdeInfo": {"SerializationLibrary": "x"},
        "Location": f"file://{tmp_path}/tables/s/t",
        "NumberOfBuckets": 4,
        "BucketColumns": [named],
        "SortColumns": [{"Column": named, "SortOrder": 1}],
    }
    glue_server.backend().create_table("s", "t", {"Name": "t", "StorageDescriptor": stored}, None)


def test_buckets_and_sort_orders_name_no_hidden_column_in_other_letters(
    api: Api, glue: str, people: People, tmp_path: Path
) -> None:
    """Another writer bucketed and sorted `t` by `SSN`, and calls the column `ssn`. A policy hides it from ann."""
    make(tmp_path, "SSN")
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    applied(api, "policy: p\non: lake.aws\nto: [user:ann]\nhide: [ssn]\n")
    answer = api("ann", "GET", f"{GRAVITINO}/t")
    assert answer.status_code == 200, answer.text
    assert "ssn" not in answer.text.lower(), answer.text


def test_buckets_and_sort_orders_name_no_hidden_column_by_its_former_name(
    api: Api, glue: str, people: People, tmp_path: Path
) -> None:
    """`ssn` is renamed here, and its metastore goes on to bucket by the former name. Both names are hidden from ann."""
    make(tmp_path, "ssn")
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    applied(api, "policy: p\non: lake.aws\nto: [user:ann]\nhide: [ssn]\n")
    rename = {"@type": "renameColumn", "oldFieldName": ["ssn"], "newFieldName": "insured"}
    assert api("admin", "PUT", f"{GRAVITINO}/t", {"updates": [rename]}).status_code == 200
    answer = api("ann", "GET", f"{GRAVITINO}/t")
    assert answer.status_code == 200, answer.text
    assert "insured" not in answer.text
    assert "ssn" not in answer.text, answer.text
