"""Tokens of a mask's key: whoever writes guesses under the key of others learns nothing of what it hides."""

import hashlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.decide import Op
from headgate.model.errors import Forbidden
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from headgate.store import audit
from tests.conftest import Api
from tests.doors.governed import COLUMNS, TABLES, applied, sent
from tests.doors.settled import LAKE, done, give, securable, settle

NAMES = [f"name{n}@example.org" for n in range(300)]
KEYS = "/api/headgate/keys"
PEOPLE = """\
policy: people
on: lake.cat
to: [everyone]
except: [user:admin]
columns: {v: has_tag('pii')}
mask: {v: "token(v, 'people')"}
"""
WRITE = ("use_catalog", "use_schema", "create_table", "select_table")


@pytest.fixture(autouse=True)
def _lake(api: Api) -> None:
    """Admin's customers are hidden behind tokens; mallory may read them, make tables of his own, tag and write policies."""
    settle(api, "hr", "mallory", "bob")
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "pii"}))
    for user in ("hr", "mallory", "bob"):
        give(api, user, f"work-{user}", securable("catalog", "cat", *WRITE))
    powers = ("create_policy", "apply_policy", "apply_tag")
    give(api, "mallory", "powers", securable("metalake", "lake", *powers))
    table(api, "admin", "customers")
    applied(api, PEOPLE)


def table(api: Api, user: str, name: str, tagged: bool = True) -> None:
    done(api(user, "POST", TABLES, {"name": name, "columns": COLUMNS}))
    if tagged:
        where = f"{LAKE}/objects/column/cat.s.{name}.email/tags"
        done(api("admin", "POST", where, {"tagsToAdd": ["pii"]}))


def tokens(steward: Steward, user: str, name: str) -> set[str]:
    """What a reader is shown for the names, if they stand in the table; nothing if the read is refused."""
    ref = ObjectRef("lake", ObjectType.TABLE, ("cat", "s", name))
    permit = steward.kernel.permit(Identity(user), Op.LOAD_TABLE, ref)
    try:
        steward.lenses.of(permit)
    except Forbidden:
        return set()
    read = steward.reads.as_seen_by(permit.authority, permit.node, permit.identity)
    if read is None:
        return set(NAMES)
    pads = [
        value
        for column, value in sorted(read.rendered.secrets.items())
        if "inner" in column or "outer" in column
    ]
    inner, outer = pads[0], pads[1]
    digests = (hashlib.sha256(inner + name.encode()).digest() for name in NAMES)
    return {hashlib.sha256(outer + digest).hexdigest() for digest in digests}


def give_away(api: Api, user: str, name: str, to: str) -> Any:
    return api(user, "PUT", f"{LAKE}/owners/table/cat.s.{name}", {"name": to, "type": "user"})


def test_guesses_in_a_table_of_ones_own_resolve_nothing(api: Api, steward: Steward) -> None:
    """The attack: an own table with guesses, whose column comes into the reach of the policy."""
    hidden = tokens(steward, "mallory", "customers")
    assert len(hidden) == len(NAMES), "the tokens of customers are shown"
    table(api, "mallory", "guesses", tagged=False)
    done(api("mallory", "POST", f"{LAKE}/objects/column/cat.s.guesses.email/tags", {"tagsToAdd": ["pii"]}))
    assert not hidden & tokens(steward, "mallory", "guesses")
    assert not hidden & tokens(steward, "bob", "guesses"), "nor for a friend who only reads"


def test_who_may_write_a_table_is_not_shown_its_tokens(api: Api, steward: Steward) -> None:
    table(api, "mallory", "guesses")
    answer = api("mallory", "GET", "/iceberg/v1/lake.cat/namespaces/s/tables/guesses")
    assert answer.status_code == 403
    assert "people" in answer.text, "the policy is named"
    give(api, "bob", "writer", securable("table", "cat.s.customers", "modify_table"))
    assert tokens(steward, "bob", "customers") == set()
    assert tokens(steward, "mallory", "customers"), "who only reads is shown them"


@pytest.mark.parametrize(
    "mask", ["email: \"token(email, 'alone')\"", "email: sha256_query_local(email)", "id: noisy(id, 5)"]
)
def test_guesses_in_the_very_table_resolve_nothing(api: Api, steward: Steward, mask: str) -> None:
    """A key that hides nothing else hides the other rows of the table: who may write one beside them could look it up."""

    def shown(user: str) -> bool:
        ref = ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "alone"))
        try:
            return bool(
                steward.lenses.of(steward.kernel.permit(Identity(user), Op.LOAD_TABLE, ref)).lens.masks
            )
        except Forbidden:
            return False

    table(api, "hr", "alone", tagged=False)
    applied(api, f"policy: alone\non: lake.cat.s.alone\nto: [everyone]\nmask:\n  {mask}\n", whole=False)
    assert shown("bob")
    assert shown("mallory")
    assert not shown("hr"), "who owns it may write it"
    give(api, "bob", "writer", securable("table", "cat.s.alone", "modify_table"))
    assert not shown("bob")
    assert shown("mallory"), "who only reads is shown them"


def test_guesses_that_are_given_away_resolve_nothing(api: Api, steward: Steward) -> None:
    """An own table with guesses, handed to the owner whose tokens are to be read."""
    table(api, "mallory", "guesses")
    give_away(api, "mallory", "guesses", "admin")
    assert not tokens(steward, "bob", "customers") & tokens(steward, "bob", "guesses")
    assert not tokens(steward, "mallory", "customers") & tokens(steward, "mallory", "guesses")


def test_naming_the_key_of_another_is_refused_and_says_only_that_it_is_taken(
    api: Api, steward: Steward
) -> None:
    table(api, "mallory", "guesses", tagged=False)
    own = "policy: mine\non: lake.cat.s.guesses\nto: [everyone]\nmask: {email: \"token(email, 'people')\"}\n"
    answer = api("mallory", "POST", "/api/headgate/policies/apply?metalake=lake", sent(own, whole=False))
    assert answer.status_code == 403
    assert "the key 'people' is taken" in answer.text
    assert "lake.cat" not in answer.text.replace("lake.cat.s.guesses", "")
    done(
        api(
            "mallory",
            "POST",
            "/api/headgate/policies/apply?metalake=lake",
            sent(own.replace("'people'", "'own'"), whole=False),
        )
    )
    assert (
        api(
            "mallory", "POST", "/api/headgate/policies/apply?metalake=lake", sent(own, whole=False)
        ).status_code
        == 403
    )
    assert not tokens(steward, "bob", "customers") & tokens(steward, "bob", "guesses")


def test_each_table_has_tokens_of_its_own_until_tables_are_joined(api: Api, steward: Steward) -> None:
    table(api, "admin", "orders")
    table(api, "hr", "staff")
    customers = tokens(steward, "mallory", "customers")
    assert not customers & tokens(steward, "mallory", "orders"), "whoever owns and made them"
    assert not customers & tokens(steward, "mallory", "staff")
    both = {"tables": ["cat.s.staff", "cat.s.customers"]}
    joined = done(api("admin", "POST", f"{KEYS}/people/join?metalake=lake", both))
    assert joined["key"] == {
        "name": "people",
        "policies": ["people"],
        "joined": ["cat.s.customers", "cat.s.staff"],
        "shut_out": ["admin", "hr"],
    }
    together = tokens(steward, "mallory", "customers")
    assert together == tokens(steward, "mallory", "staff")
    assert not together & customers, "a list that is begun has a key of its own"
    assert not together & tokens(steward, "mallory", "orders")
    assert tokens(steward, "hr", "customers") == set(), "who may write one of them sees none"
    kept = audit.query(steward.kernel.store, metalake="lake", user="admin", action="alter_policy")
    assert kept[-1].details["key"] == "people"
    left = done(api("admin", "POST", f"{KEYS}/people/leave?metalake=lake", both))["key"]
    assert left["joined"] == left["shut_out"] == []
    assert tokens(steward, "mallory", "customers") == customers
    assert not customers & tokens(steward, "mallory", "staff")
    assert tokens(steward, "hr", "customers") == customers


def test_keys_are_joined_by_who_may_alter_their_policies_only(api: Api) -> None:
    assert done(api("bob", "GET", f"{KEYS}?metalake=lake"))["keys"] == []
    assert [key["name"] for key in done(api("admin", "GET", f"{KEYS}?metalake=lake"))["keys"]] == ["people"]
    answer = api("mallory", "POST", f"{KEYS}/people/join?metalake=lake", {"tables": ["cat.s.customers"]})
    assert answer.status_code == 403
    assert answer.json()["message"].startswith("the key 'people' is taken")
    assert (
        api(
            "admin", "POST", f"{KEYS}/nothing/join?metalake=lake", {"tables": ["cat.s.customers"]}
        ).status_code
        == 404
    )
    assert (
        api("admin", "POST", f"{KEYS}/people/join?metalake=lake", {"tables": ["cat.s.nothing"]}).status_code
        == 404
    )
    assert api("admin", "POST", f"{KEYS}/people/join?metalake=lake", {"tables": ["cat.s"]}).status_code == 400


def test_who_writes_no_policies_is_not_told_which_keys_are_named(api: Api) -> None:
    """Whoever writes policies hears that a name is taken, as they would when they use it; nobody else does."""
    body = {"tables": ["cat.s.customers"]}

    def heard(user: str, key: str) -> Any:
        every = [api(user, "POST", f"{KEYS}/{key}/{way}?metalake=lake", body) for way in ("join", "leave")]
        return [(one.status_code, one.text.replace(key, "key")) for one in every]

    assert heard("bob", "people") == heard("bob", "nothing")
    assert heard("mallory", "people") != heard("mallory", "nothing")
    # Who owns one policy could name the key in it, and who may apply policies reads their words.
    done(api("admin", "PUT", f"{LAKE}/owners/policy/people", {"name": "hr", "type": "user"}))
    assert heard("hr", "people")[0][0] == 200
    give(api, "bob", "applies", securable("metalake", "lake", "apply_policy"))
    assert heard("bob", "people")[0][0] == 403


def test_a_key_that_is_named_anew_is_shared_by_nobody(api: Api, steward: Steward) -> None:
    table(api, "hr", "staff")
    done(
        api(
            "admin",
            "POST",
            f"{KEYS}/people/join?metalake=lake",
            {"tables": ["cat.s.customers", "cat.s.staff"]},
        )
    )
    old = tokens(steward, "mallory", "customers")
    applied(api)
    applied(api, PEOPLE)
    assert not tokens(steward, "mallory", "customers") & tokens(steward, "mallory", "staff")
    done(
        api(
            "admin",
            "POST",
            f"{KEYS}/people/join?metalake=lake",
            {"tables": ["cat.s.customers", "cat.s.staff"]},
        )
    )
    assert not old & tokens(steward, "mallory", "customers"), "and what they shared is not shared again"


def test_a_new_owner_changes_no_tokens_and_sees_none(api: Api, steward: Steward) -> None:
    before = tokens(steward, "bob", "customers")
    assert tokens(steward, "hr", "customers") == before
    done(give_away(api, "admin", "customers", "hr"))
    assert tokens(steward, "bob", "customers") == before
    assert tokens(steward, "hr", "customers") == set()


def test_who_joins_a_table_may_load_it(api: Api, steward: Steward) -> None:
    """Others learn nothing of it: not its name in a list, nor that it is there."""
    catalog = {"name": "own", "type": "relational", "provider": "lakehouse-iceberg"}
    done(api("admin", "POST", f"{LAKE}/catalogs", catalog))
    done(api("admin", "POST", f"{LAKE}/catalogs/own/schemas", {"name": "s"}))
    staff = {"name": "staff", "columns": COLUMNS}
    done(api("admin", "POST", TABLES.replace("/cat/", "/own/"), staff))
    done(api("admin", "PUT", f"{LAKE}/owners/policy/people", {"name": "mallory", "type": "user"}))
    both = {"tables": ["own.s.staff", "cat.s.customers"]}
    done(api("admin", "POST", f"{KEYS}/people/join?metalake=lake", both))
    keys = done(api("mallory", "GET", f"{KEYS}?metalake=lake"))["keys"]
    assert [key["joined"] for key in keys] == [["cat.s.customers"]]
    answers = [
        api("mallory", "POST", f"{KEYS}/people/{what}?metalake=lake", {"tables": [f"own.s.{name}"]})
        for what in ("join", "leave")
        for name in ("staff", "nothing")
    ]
    assert {answer.status_code for answer in answers} == {403}
    told = {answer.text.replace("own.s.staff", "own.s.nothing") for answer in answers}
    assert len(told) == 1
    left = api("mallory", "POST", f"{KEYS}/people/leave?metalake=lake", {"tables": ["cat.s.customers"]})
    assert done(left)["key"]["shut_out"] == [], "nor who may write it: she sees no users but herself"


@given(joined=st.sets(st.integers(0, 3), max_size=3), data=st.data())
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_tokens_of_tables_that_are_not_joined_never_coincide(
    api: Api, steward: Steward, joined: set[int], data: st.DataObject
) -> None:
    number = len(done(api("admin", "GET", TABLES))["identifiers"])
    for n in range(4):
        table(api, data.draw(st.sampled_from(["admin", "hr", "mallory"])), f"t{number + n}")
    names = {"tables": [f"cat.s.t{number + n}" for n in sorted(joined)]}
    done(api("admin", "POST", f"{KEYS}/people/join?metalake=lake", names))
    made = [tokens(steward, "bob", f"t{number + n}") for n in range(4)]
    for n, one in enumerate(made):
        for m, other in enumerate(made):
            assert (one == other) if n == m or {n, m} <= joined else not one & other


def test_who_may_write_is_not_shown_tokens_under_other_roles_or_with_another_token(
    api: Api, steward: Steward
) -> None:
    """Roles that are left inactive, and groups that a token leaves out, write the guesses with the next request."""

    def status(**headers: str) -> int:
        where = "/iceberg/v1/lake.cat/namespaces/s/tables/customers"
        return int(api("bob", "GET", where, headers=headers).status_code)

    def shown(who: Identity) -> bool:
        ref = ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "customers"))
        try:
            return bool(steward.lenses.of(steward.kernel.permit(who, Op.LOAD_TABLE, ref)).lens.masks)
        except Forbidden:
            return False

    only_reads = {"X-Gravitino-Active-Roles": "work-bob"}
    assert status(**only_reads) == 200
    assert shown(Identity("bob", groups_known=False))
    give(api, "bob", "writer", securable("table", "cat.s.customers", "modify_table"))
    assert status() == 403
    assert status(**only_reads) == 403
    done(api("admin", "PUT", f"{LAKE}/permissions/users/bob/revoke", {"roleNames": ["writer"]}))
    assert shown(Identity("bob", groups_known=False))
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "loaders"}))
    done(api("admin", "PUT", f"{LAKE}/permissions/groups/loaders/grant", {"roleNames": ["writer"]}))
    assert not shown(Identity("bob", frozenset({"loaders"})))
    assert not shown(Identity("bob", groups_known=False))
    assert shown(Identity("bob")), "whose token tells that they are in none"
