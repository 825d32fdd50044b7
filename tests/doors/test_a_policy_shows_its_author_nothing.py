"""Who writes a policy learns nothing from what it does to their own view of what others hide from them."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.governed import DENY, HIDE, MASK, ROWS, TABLES, applied, govern, sent
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


@pytest.mark.parametrize("to", ["[user:bob]", "[group:privacy]", "[user:bob, user:eve]"])
def test_nobody_writes_for_others_about_what_they_do_not_see(api: Api, to: str) -> None:
    """Two who see nothing of a column would read it together: one writes filters, the other looks at what remains."""
    applied(api, HIDE)
    together = PROBE.replace("[user:ann]", to)
    assert "do not see as it is" in why(api("ann", "POST", APPLY, sent(together, whole=False)))
    assert refused(api("ann", "POST", APPLY, sent(together + "purpose: [guess]\n", whole=False)))


def test_nor_does_who_cannot_read_the_table(api: Api) -> None:
    applied(api, HIDE)
    give(api, "eve", "policies", securable("metalake", "lake", "create_policy", "apply_policy"))
    give(api, "eve", "ways", securable("catalog", "cat", "use_catalog", "use_schema"))
    text = PROBE.replace("lake.cat.s.customers", "lake.cat.s").replace("[user:ann]", "[user:ann, user:eve]")
    answer = api("eve", "POST", APPLY, sent(text, whole=False))
    assert "customers" not in why(answer), "a table that eve may not load is not named"
    # Whom nothing keeps the column from may write about it, for others as well.
    applied(api, HIDE.replace("[group:privacy]", "[group:privacy, user:eve]"))
    applied(api, text, user="eve", whole=False)
    assert verdict(api, "ann")["lens"]["rows"]
    assert verdict(api, "eve")["lens"]["rows"]


def test_what_is_hidden_later_is_not_told_by_filters_that_were_written_before(api: Api) -> None:
    together = PROBE.replace("[user:ann]", "[user:bob]")
    for digit in "012":
        text = together.replace("probe", f"probe{digit}").replace("DE0", f"DE{digit}")
        applied(api, text + f"purpose: [guess{digit}]\n", user="ann", whole=False)
    applied(api, HIDE, whole=False)
    assert verdict(api, "bob").get("lens") is None
    assert "who wrote it" in why(
        api("bob", "GET", f"{TABLES}/customers", headers={"Headgate-Purpose": "guess1"})
    )
    # Neither does a new owner make it another's word; whoever sees the column writes it again.
    for digit in "012":
        done(api("ann", "PUT", f"{LAKE}/owners/policy/probe{digit}", {"name": "admin", "type": "user"}))
    assert verdict(api, "bob").get("lens") is None
    done(api("admin", "PATCH", f"{LAKE}/policies/probe0", {"enable": False}))
    done(api("admin", "PATCH", f"{LAKE}/policies/probe0", {"enable": True}))
    assert verdict(api, "bob").get("lens") is None
    for digit in "012":
        applied(api, together.replace("probe", f"probe{digit}").replace("DE0", f"FR{digit}"), whole=False)
    assert verdict(api, "bob")["lens"]["rows"]


def test_filters_over_what_only_their_readers_do_not_see_stay(api: Api) -> None:
    applied(api, HIDE.replace("[everyone]", "[user:bob]"))
    applied(api, PROBE.replace("[user:ann]", "[user:bob]"), user="ann", whole=False)
    assert verdict(api, "bob")["lens"]["rows"]
    assert verdict(api, "bob")["lens"]["hidden"] == ["ssn", "home.zip"]


@pytest.mark.parametrize("on", ["lake.cat.s.customers", "lake.cat.s"])
@pytest.mark.parametrize(
    "says",
    [
        "hide: [tax]",
        "rows: ssn > 5",
        "rows: region = tax",
        "rows: home.zip + 1 = 2",
        'mask:\n  ssn: "noisy(ssn, 5)"',
    ],
)
def test_no_type_and_no_other_name_of_hidden_columns_is_told_to_who_writes_policies(
    api: Api, says: str, on: str
) -> None:
    """What cannot be evaluated is refused, and says what is wrong to those who see all columns."""
    applied(api, HIDE, DENY)
    powers = ("create_policy", "apply_policy")
    for user in ("ann", "bob"):
        give(api, user, f"powers-{user}", securable("metalake", "lake", *powers))
    give(api, "eve", "powers-eve", securable("metalake", "lake", *powers, "use_catalog", "use_schema"))
    text = f"policy: mine\non: {on}\nto: [user:bob]\n{says}\n"
    for user, hidden in (
        ("ann", ("string", "ssn", "zip")),
        ("bob", ("string", "ssn", "home", "email")),
        ("eve", ("string", "ssn", "home", "email", "never had")),
    ):
        answer = api(user, "POST", "/api/headgate/policies/apply?metalake=lake", sent(text, whole=False)).text
        api("admin", "DELETE", f"{LAKE}/policies/mine")
        assert not [word for word in hidden if word in answer and word not in text], (user, answer)
