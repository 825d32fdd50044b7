"""Whether something is there is told to those who may know it: the right is asked before anything is read or looked up."""

from typing import Any

from tests.conftest import Api
from tests.doors.governed import HIDE, READ, TABLES, applied, govern, sent
from tests.doors.settled import LAKE, done, give, refused, securable

APPLY = "/api/headgate/policies/apply?metalake=lake"


def test_without_the_right_every_document_is_answered_alike(api: Api) -> None:
    govern(api)
    applied(api, HIDE)
    texts = (HIDE, HIDE.replace("[ssn", "[email"), HIDE.replace("lake.cat.s", "lake.none"), "policy: [", "")
    told = {
        api("bob", "POST", APPLY, sent(text, whole=whole)).text for text in texts for whole in (True, False)
    }
    assert len(told) == 1
    assert "not authorized" in told.pop()


def test_who_may_write_policies_learns_nothing_of_those_they_may_not_see(api: Api) -> None:
    govern(api)
    applied(api, HIDE)
    give(api, "bob", "author", securable("metalake", "lake", "create_policy"))
    texts = (HIDE, HIDE.replace("[ssn", "[email"))
    assert len({api("bob", "POST", APPLY, sent(text, whole=False)).text for text in texts}) == 1
    assert "hide-ssn" not in api("bob", "POST", APPLY, sent(HIDE.replace("hide-ssn", "x"))).text
    # A table that is not there and one that is not for bob are told alike.
    done(api("admin", "PUT", f"{LAKE}/permissions/users/bob/revoke", {"roleNames": ["reader-bob"]}))
    there, none = (
        api("bob", "POST", APPLY, sent(HIDE.replace("hide-ssn", "x").replace("lake.cat.s", on), whole=False))
        for on in ("lake.cat.s.customers", "lake.cat.s.customerz")
    )
    assert there.status_code == none.status_code == 403
    assert there.text.replace("customers", "customerz") == none.text


def held(answer: Any) -> list[str]:
    return [one["fullName"] for one in done(answer)["role"]["securableObjects"]]


def test_a_held_role_names_only_what_its_holder_may_know(api: Api) -> None:
    govern(api)
    done(api("admin", "POST", TABLES, {"name": "secret", "columns": [{"name": "id", "type": "long"}]}))
    barred = securable("table", "cat.s.secret", "!select_table", "!modify_table")
    give(api, "ann", "mixed", securable("catalog", "cat", *READ), barred)
    assert refused(api("ann", "GET", f"{TABLES}/secret"))
    assert held(api("ann", "GET", f"{LAKE}/roles/mixed")) == ["cat"]
    assert held(api("admin", "GET", f"{LAKE}/roles/mixed")) == ["cat", "cat.s.secret"]
