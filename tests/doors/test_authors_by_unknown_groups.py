"""Who wrote a policy through a group that their token does not tell is the worst of both."""

import pytest

from headgate.decide import Op
from headgate.model.errors import Forbidden
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied, govern
from tests.doors.settled import LAKE, done


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)


def test_an_author_by_a_group_that_the_token_does_not_tell_is_the_worst_of_both(
    api: Api, steward: Steward
) -> None:
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "staff"}))
    text = "policy: probe\non: lake.cat.s.customers\nto: [everyone]\nexcept: [user:admin]\nrows: starts_with(ssn, 'DE0')\n"
    hide = "policy: hide-ssn\non: lake.cat.s.customers\nto: [group:staff]\nhide: [ssn]\n"
    applied(api, hide, text, whole=False)
    done(api("admin", "PUT", f"{LAKE}/owners/policy/probe", {"name": "staff", "type": "group"}))
    ref = ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "customers"))

    def reads(identity: Identity) -> bool:
        try:
            steward.lenses.of(steward.kernel.permit(identity, Op.LOAD_TABLE, ref))
        except Forbidden:
            return False
        return True

    assert reads(Identity("bob", frozenset()))
    assert not reads(Identity("bob", frozenset({"staff"})))
    assert not reads(Identity("bob", groups_known=False))
