"""Who sees a part of a table does not decide that they are the ones who enforce it."""

import pytest

from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied, govern
from tests.doors.settled import LAKE, done, refused

HIDE = "policy: hide-ssn\non: lake.cat.s\nto: [everyone]\nexcept: [user:admin]\nmask:\n  ssn: replace_with_null(ssn)\n"


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    """ann is the user of an engine that the metalake names; the catalog does not delegate to it, and she owns it."""
    govern(api)
    applied(api, HIDE)
    trusted = {"@type": "setProperty", "property": "headgate.trusted-engines", "value": "ann"}
    done(api("admin", "PUT", LAKE, {"updates": [trusted]}))
    done(api("admin", "PUT", f"{LAKE}/owners/catalog/cat", {"name": "ann", "type": "user"}))


def test_a_catalog_is_not_delegated_to_its_restricted_owner(api: Api, steward: Steward) -> None:
    where = "/iceberg/v1/lake.cat/namespaces/s/tables/customers"
    own = api("admin", "GET", where).json()["metadata"]["location"]
    before = api("ann", "GET", where)
    assert before.status_code == 200
    assert own not in before.text
    delegate = {"@type": "setProperty", "property": "headgate.enforce", "value": "delegate"}
    answer = api("ann", "PUT", f"{LAKE}/catalogs/cat", {"updates": [delegate]})
    after = api("ann", "GET", where)
    print(
        answer.status_code,
        "| the table itself is given:",
        own in after.text,
        after.json().get("read-restrictions"),
    )
    assert refused(answer)


def test_originals_are_not_told_by_statistics_either(api: Api) -> None:
    """The control."""
    more = {"@type": "setProperty", "property": "headgate.originals", "value": "statistics"}
    assert refused(api("ann", "PUT", f"{LAKE}/catalogs/cat", {"updates": [more]}))
