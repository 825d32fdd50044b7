"""A federated catalog's server says where its tables lie; what belongs to somebody else is not reached through it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.openings import Openings
from headgate.steward import Steward
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import SCHEMA, create
from tests.doors.lake import LAKE, id_of
from tests.openings import opened
from tests.people import People

FED = "/iceberg/v1/lake.fed/namespaces/r/tables"
GRAVITINO = f"{LAKE}/catalogs/fed/schemas/r/tables"
VENDS = {
    "s3-access-key-id": "k",
    "s3-secret-access-key": "x",
    "s3-region": "us-east-1",
    "s3-role-arn": "arn:aws:iam::000000000000:role/any",
}
HIDE = """\
policy: hide-a
on: lake.fed.r.t
to: [user:ann]
hide: [a]
"""


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    """A bucket as well: the federated catalog gives out access to its storage."""
    return opened(tmp_path, "s3://bucket", "s3://theirs")


@pytest.fixture
def remote(api: Api) -> Iterator[AnyRest]:
    with any_rest() as remote:
        declare(api, remote)
        yield remote


def declare(api: Api, remote: AnyRest) -> None:
    catalog = {
        "name": "fed",
        "type": "relational",
        "provider": "lakehouse-iceberg",
        "properties": {"catalog-backend": "rest", "uri": remote.url, **VENDS},
    }
    made = api("admin", "POST", f"{LAKE}/catalogs", catalog)
    assert made.status_code == 200, made.text


def every_way(api: Api, name: str) -> list[Any]:
    """All that reads a table, at both doors."""
    return [
        api("admin", "GET", f"{FED}/{name}"),
        api("admin", "POST", f"{FED}/{name}/plan", {}),
        api("admin", "GET", f"{FED}/{name}/credentials"),
        api("admin", "GET", f"{GRAVITINO}/{name}"),
        api("admin", "GET", f"{GRAVITINO}/{name}/partitions"),
        api("admin", "POST", f"{FED}/{name}", {"requirements": [], "updates": []}),
    ]


def test_a_federated_table_in_the_place_of_another_is_refused_everywhere(api: Api, remote: AnyRest) -> None:
    place = create(api).json()["metadata"]["location"]
    remote.put("honest", "s3://theirs/honest")
    assert api("admin", "GET", f"{FED}/honest").status_code == 200
    dropped = create(api, "gone").json()["metadata"]["location"]
    assert api("admin", "DELETE", "/iceberg/v1/lake.cat/namespaces/s/tables/gone").status_code == 204
    bad = {
        "same": (place, {}),
        "below": (f"{place}/data", {}),
        "above": (place.rpartition("/")[0], {}),
        "spelled": (place.replace("file://", "file:") + "/", {}),
        "dropped": (dropped, {}),
        "property": ("s3://theirs/property", {"write.data.path": f"{place}/data"}),
        "beside": ("s3a://theirs/honest/metadata", {}),
        "governed": ("s3://theirs/_headgate/x", {}),
    }
    for name, (location, properties) in bad.items():
        remote.put(name, location, **properties)
        for answer in every_way(api, name):
            assert answer.status_code == 403, (name, answer.request.url, answer.text)
            assert "cat.s.t" not in answer.text, "whose it is is not told"
    # What moves into another's place later is refused from then on.
    remote.tables["honest"]["location"] = place
    assert {answer.status_code for answer in every_way(api, "honest")} == {403}
    remote.tables["honest"]["location"] = "s3://theirs/honest"
    assert api("admin", "GET", f"{FED}/honest").status_code == 200
    remote.put("twin", "s3://theirs/twin", id=remote.tables["honest"]["table-uuid"])
    assert api("admin", "GET", f"{FED}/twin").status_code == 403, "nor the uuid of another"


def test_a_place_that_the_other_server_chose_is_taken_back_if_it_is_anothers(
    api: Api, remote: AnyRest
) -> None:
    place = create(api).json()["metadata"]["location"]
    remote.choose = place
    for how in ({}, {"stage-create": True}):
        refused = api("admin", "POST", FED, {"name": "u", "schema": SCHEMA, **how})
        assert refused.status_code in (400, 403), refused.text
    assert "u" not in remote.tables, "what cannot be its own does not stay there either"
    remote.choose = "s3://theirs/u"
    assert api("admin", "POST", FED, {"name": "u", "schema": SCHEMA}).status_code == 200


def test_a_federated_table_keeps_what_restricts_it_when_it_comes_back(
    api: Api, remote: AnyRest, steward: Steward, people: People
) -> None:
    """Renamed behind our back, or in a catalog that is declared again."""
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    remote.put("t", "s3://theirs/t")
    assert api("admin", "GET", f"{FED}/t").status_code == 200
    applied(api, HIDE)
    remote.tables["moved"] = remote.tables.pop("t")
    assert api("admin", "GET", f"{FED}/moved").status_code == 403, "still the other row's"
    assert api("admin", "DELETE", f"{FED}/t").status_code == 204, "which is gone there already"
    answers = [api("ann", "GET", f"{GRAVITINO}/moved") for _ in range(2)]
    assert answers[0].status_code == 503, "nothing is shown before its policies are back"
    assert [column["name"] for column in answers[1].json()["table"]["columns"]] == []
    former = id_of(steward, "table", "fed.r.moved")
    assert api("admin", "DELETE", f"{LAKE}/catalogs/fed?force=true").json()["dropped"] is True
    declare(api, remote)
    answers = [api("ann", "GET", f"{GRAVITINO}/moved") for _ in range(2)]
    assert answers[0].status_code == 503
    assert [column["name"] for column in answers[1].json()["table"]["columns"]] == []
    assert id_of(steward, "table", "fed.r.moved") != former


def test_no_server_is_asked_to_register_a_file_in_the_place_of_another(api: Api, remote: AnyRest) -> None:
    place = create(api).json()["metadata"]["location"]
    for name in ("missing", "there"):
        body = {"name": "x", "metadata-location": f"{place}/metadata/{name}.metadata.json"}
        answer = api("admin", "POST", "/iceberg/v1/lake.fed/namespaces/r/register", body)
        assert answer.status_code == 400
        assert "belongs to another table" in answer.text
