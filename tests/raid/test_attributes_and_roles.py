"""What is known of a person, and the roles of groups that a token tells, keep what they keep."""

import pytest

from headgate.decide import Op
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import TABLES, applied, govern
from tests.doors.settled import LAKE, done, give, refused, securable
from tests.raid.test_words_of_somebody_who_may_not_see_stay_theirs import PROBE, claimed

__all__ = ["claimed"]


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)


def hidden(steward: Steward, user: str, **more: object) -> set[str]:
    ref = ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "customers"))
    seen = steward.lenses.of(steward.kernel.permit(Identity(user, **more), Op.LOAD_TABLE, ref))  # type: ignore[arg-type]
    return {".".join(seen.shape.path(id)) for id in seen.lens.hidden}


def test_who_comes_back_under_the_same_name_is_bound_by_what_was_known_of_them(
    api: Api, steward: Steward
) -> None:
    """ann holds no role of her own, so managing users is enough to remove her."""
    applied(
        api,
        "policy: p\non: lake.cat.s\nto: [everyone]\nexcept: [user:admin]\nwhen: coalesce(principal.region, 'none') = 'EU'\nhide: [ssn]\n",
    )
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "readers"}))
    done(api("admin", "PUT", f"{LAKE}/permissions/groups/readers/grant", {"roleNames": ["reader-ann"]}))
    done(api("admin", "PUT", f"{LAKE}/permissions/users/ann/revoke", {"roleNames": ["reader-ann"]}))
    assert hidden(steward, "ann", groups=frozenset({"readers"})) == {"ssn"}
    give(api, "bob", "users", securable("metalake", "lake", "manage_users"))
    assert refused(api("bob", "PUT", f"{LAKE}/users/ann/attributes", {}))
    gone = api("bob", "DELETE", f"{LAKE}/users/ann")
    print(gone.status_code, gone.text[:200])
    if gone.status_code == 200:
        done(api("bob", "POST", f"{LAKE}/users", {"name": "ann"}))
        assert hidden(steward, "ann", groups=frozenset({"readers"})) == {"ssn"}


def test_the_roles_of_a_tokens_groups_keep_a_column_from_the_writer_of_a_filter(
    api: Api, claimed: Api
) -> None:
    give(api, "ann", "author", securable("metalake", "lake", "create_policy", "apply_policy"))
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "staff"}))
    done(api("admin", "POST", f"{LAKE}/roles", {"name": "clerks", "securableObjects": []}))
    done(api("admin", "PUT", f"{LAKE}/permissions/groups/staff/grant", {"roleNames": ["clerks"]}))
    applied(api, PROBE, user="ann", whole=False)
    applied(api, "policy: hide-ssn\non: lake.cat.s\nto: [role:clerks]\nhide: [ssn]\n", whole=False)
    ann = claimed("ann", "GET", f"{TABLES}/customers", groups="staff")
    assert ann.status_code == 200
    assert "ssn" not in ann.text
    assert refused(claimed("bob", "GET", f"{TABLES}/customers", groups="staff"))


def test_a_table_is_not_dropped_out_of_the_tags_that_a_waiting_policy_asks_for(
    api: Api, steward: Steward
) -> None:
    """As for schemas: another under its name would bear none of them."""
    from tests.doors.test_waiting_policies_are_not_shed import SCOPED

    done(api("admin", "POST", f"{LAKE}/tags", {"name": "scope"}))
    done(api("admin", "PUT", f"{LAKE}/owners/schema/cat.s", {"name": "ann", "type": "user"}))
    applied(api, SCOPED)
    answer = api("ann", "DELETE", f"{TABLES}/customers")
    print(answer.status_code)
    if answer.status_code == 200:
        columns = [{"name": "id", "type": "long"}, {"name": "email", "type": "string"}]
        done(api("ann", "POST", TABLES, {"name": "customers", "columns": columns}))
        # Here the nightly load writes; then the day comes that the policy waits for.
        done(api("admin", "POST", f"{LAKE}/objects/table/cat.s.customers/tags", {"tagsToAdd": ["scope"]}))
        assert hidden(steward, "ann") == {"email"}
