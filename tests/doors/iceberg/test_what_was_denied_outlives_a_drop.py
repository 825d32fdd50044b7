"""What a role denied on a table is denied again when the table comes back: nobody lifts it for themselves in between."""

import pytest

from tests.conftest import Api
from tests.doors.iceberg.conftest import create
from tests.doors.iceberg.test_a_place_belongs_to_one_object import TABLES, register
from tests.doors.lake import LAKE
from tests.people import People

DENIED = {"privileges": [{"name": "SELECT_TABLE", "condition": "DENY"}]}


@pytest.mark.parametrize("dropped", [False, True], ids=["there", "dropped"])
def test_a_role_that_denies_something_on_a_table_is_not_deleted_by_who_may_not_revoke_it(
    api: Api, people: People, dropped: bool
) -> None:
    made = create(api).json()
    people.may("eve", "USE_CATALOG USE_SCHEMA SELECT_TABLE CREATE_ROLE", "metalake", "lake")
    assert api("eve", "POST", f"{LAKE}/roles", {"name": "r", "securableObjects": []}).status_code == 200
    denying = f"{LAKE}/permissions/roles/r/table/cat.s.t/grant"
    assert api("admin", "PUT", denying, DENIED).status_code == 200
    holding = f"{LAKE}/permissions/users/eve/grant"
    assert api("admin", "PUT", holding, {"roleNames": ["r"]}).status_code == 200
    assert api("eve", "GET", f"{TABLES}/t").status_code in (403, 404)
    if dropped:
        assert api("admin", "DELETE", f"{TABLES}/t").status_code == 204
    deleted = api("eve", "DELETE", f"{LAKE}/roles/r")
    if dropped:
        assert register(api, "admin", "t", made["metadata-location"]).status_code == 200
    assert api("eve", "GET", f"{TABLES}/t").status_code in (403, 404), (
        "it comes back with all that restricted it"
    )
    assert deleted.status_code == 403
