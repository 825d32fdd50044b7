"""Who writes a policy learns nothing from what it does to their own view of what others hide from them."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.governed import HIDE, MASK, ROWS, TABLES, applied, govern, sent
from tests.doors.settled import LAKE, done, give, refused, securable

APPLY = "/api/headgate/policies/apply?metalake=lake"
PROBE = """\
policy: probe
on: lake.cat.s.customers
to: [user:ann]
rows: starts_with(ssn, 'DE0')
"""


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)
    give(api, "ann", "author", securable("metalake", "lake", "create_policy", "apply_policy"))


def verdict(api: Api, user: str) -> Any:
    asked = {"metalake": "lake", "table": "cat.s.customers", "user": user}
    return done(api("admin", "POST", "/api/headgate/lens", asked))["explanation"]


def why(answer: Any) -> str:
    assert refused(answer)
    return str(answer.json()["message"])


@pytest.mark.parametrize(
    "probe",
    [
        PROBE,
        PROBE.replace("on: lake.cat.s.customers", "on: lake.cat"),
        PROBE.replace("[user:ann]", "[everyone]"),
        PROBE + "purpose: [guess]\n",
        PROBE + "from: 2999-01-01T00:00:00Z\n",
        PROBE.replace("rows:", "when: context.engine = 'x'\nrows:"),
        PROBE.replace("starts_with(ssn, 'DE0')", "id > 0 AND (region = 'x' OR ssn IS NULL)"),
        PROBE.replace("starts_with(ssn, 'DE0')", "home.zip = '1'"),
    ],
    ids=["one", "above", "everyone", "purpose", "later", "engine", "inside", "nested"],
)
def test_an_author_uses_only_columns_that_they_see(api: Api, probe: str) -> None:
    applied(api, HIDE)
    assert "do not see as it is" in why(api("ann", "POST", APPLY, sent(probe, whole=False)))
    applied(
        api,
        HIDE.replace(
            "hide: [ssn, home.zip]", "mask:\n  ssn: show_last_4(ssn)\n  home.zip: replace_with_null(home.zip)"
        ),
    )
    assert "do not see as it is" in why(api("ann", "POST", APPLY, sent(probe, whole=False)))


def test_a_mask_that_counts_rows_is_not_for_an_author_who_sees_a_part_of_them(api: Api) -> None:
    applied(api, ROWS)
    counting = PROBE.replace("rows: starts_with(ssn, 'DE0')", "mask:\n  ssn: k_anonymous(ssn, 2)")
    assert refused(api("ann", "POST", APPLY, sent(counting, whole=False)))


def test_a_policy_that_comes_to_use_a_hidden_column_later_denies_its_author(api: Api) -> None:
    applied(api, PROBE, user="ann", whole=False)
    assert verdict(api, "ann")["lens"]["rows"]
    applied(api, HIDE, whole=False)
    assert "policy 'probe'" in why(api("ann", "GET", f"{TABLES}/customers"))
    # Neither a new owner nor a change by somebody else makes it another's question.
    done(api("ann", "PUT", f"{LAKE}/owners/policy/probe", {"name": "bob", "type": "user"}))
    assert verdict(api, "ann").get("lens") is None
    applied(api, PROBE.replace("DE0", "DE1"), whole=False)
    assert verdict(api, "ann").get("lens") is None
    # For others it is a filter like any other.
    applied(api, PROBE.replace("[user:ann]", "[user:bob]"), whole=False)
    assert verdict(api, "ann")["lens"]["hidden"] == ["ssn", "home.zip"]
    done(api("admin", "PUT", f"{LAKE}/owners/policy/probe", {"name": "admin", "type": "user"}))
    assert verdict(api, "bob")["lens"]["rows"]


def test_a_policy_that_is_enabled_later_is_asked_about_then(api: Api) -> None:
    applied(api, PROBE + "enabled: false\n", user="ann", whole=False)
    applied(api, HIDE, whole=False)
    assert refused(api("ann", "PATCH", f"{LAKE}/policies/probe", {"enable": True}))


def test_who_may_change_what_hides_the_column_may_use_it(api: Api) -> None:
    applied(api, HIDE, MASK)
    done(api("admin", "PUT", f"{LAKE}/owners/policy/hide-ssn", {"name": "ann", "type": "user"}))
    applied(api, PROBE, user="ann", whole=False)
    assert verdict(api, "ann")["lens"]["rows"]


def test_who_cannot_read_the_table_may_write_about_all_of_it(api: Api) -> None:
    applied(api, HIDE)
    give(api, "eve", "policies", securable("metalake", "lake", "create_policy", "apply_policy"))
    give(api, "eve", "ways", securable("catalog", "cat", "use_catalog", "use_schema"))
    text = PROBE.replace("lake.cat.s.customers", "lake.cat.s").replace("[user:ann]", "[user:ann, user:eve]")
    applied(api, text, user="eve", whole=False)
    assert verdict(api, "ann")["lens"]["rows"]
    give(api, "eve", "reader", securable("catalog", "cat", "select_table"))
    assert refused(api("eve", "GET", f"{TABLES}/customers")), "and sees nothing of it once they can"
