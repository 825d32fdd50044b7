"""Tokens of what somebody wrote themselves stay unseen by them, also once they gave the right to write away."""

from typing import Any

import pytest

from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.settled import LAKE, done, give, securable
from tests.doors.test_tokens_tell_nobody_what_they_hide import _lake, table, tokens

__all__ = ["_lake"]
TAGS = f"{LAKE}/objects/column/cat.s.guesses.email/tags"


def guessed(api: Api, steward: Steward) -> set[str]:
    """Mallory may write a table of admin's, and does while nothing of it is masked; then she tags the column."""
    hidden = tokens(steward, "mallory", "customers")
    table(api, "admin", "guesses", tagged=False)
    return hidden


def wrote_and_tagged(api: Api, steward: Steward) -> None:
    where = "/iceberg/v1/lake.cat/namespaces/s/tables/guesses"
    commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"x": "y"}}]}
    answer = api("mallory", "POST", where, commit)
    assert answer.status_code == 200, answer.text  # she writes it: here go the guesses
    done(api("mallory", "POST", TAGS, {"tagsToAdd": ["pii"]}))
    assert tokens(steward, "mallory", "guesses") == set(), "as its writer she is shown none"
    assert api("mallory", "GET", where).status_code == 403


def nothing_resolved(api: Api, steward: Steward, hidden: set[str], answer: Any) -> None:
    print("the change:", answer.status_code, answer.text[:200])
    shown = tokens(steward, "mallory", "guesses")
    print("tokens shown of her own guesses:", len(shown), "of them in customers:", len(shown & hidden))
    loaded = api("mallory", "GET", "/iceberg/v1/lake.cat/namespaces/s/tables/guesses")
    print("loading it:", loaded.status_code)
    assert not shown & hidden


def test_by_giving_away_the_schema(api: Api, steward: Steward) -> None:
    hidden = guessed(api, steward)
    owner = f"{LAKE}/owners/schema/cat.s"
    done(api("admin", "PUT", owner, {"name": "mallory", "type": "user"}))
    wrote_and_tagged(api, steward)
    nothing_resolved(api, steward, hidden, api("mallory", "PUT", owner, {"name": "bob", "type": "user"}))


def test_by_giving_away_the_table(api: Api, steward: Steward) -> None:
    hidden = guessed(api, steward)
    owner = f"{LAKE}/owners/table/cat.s.guesses"
    done(api("admin", "PUT", owner, {"name": "mallory", "type": "user"}))
    wrote_and_tagged(api, steward)
    nothing_resolved(api, steward, hidden, api("mallory", "PUT", owner, {"name": "admin", "type": "user"}))


def test_by_deleting_an_own_role(api: Api, steward: Steward) -> None:
    hidden = guessed(api, steward)
    give(api, "mallory", "writers", securable("table", "cat.s.guesses", "modify_table"))
    done(api("admin", "PUT", f"{LAKE}/owners/role/writers", {"name": "mallory", "type": "user"}))
    wrote_and_tagged(api, steward)
    nothing_resolved(api, steward, hidden, api("mallory", "DELETE", f"{LAKE}/roles/writers"))


@pytest.mark.parametrize("how", ["role", "privilege", "denial"])
def test_by_revoking(api: Api, steward: Steward, how: str) -> None:
    hidden = guessed(api, steward)
    give(api, "mallory", "writers", securable("table", "cat.s.guesses", "modify_table"))
    give(api, "mallory", "granting", securable("metalake", "lake", "manage_grants"))
    wrote_and_tagged(api, steward)
    permissions = f"{LAKE}/permissions"
    privileges = {"privileges": [{"name": "modify_table", "condition": "allow"}]}
    deny = {"privileges": [{"name": "modify_table", "condition": "deny"}]}
    answer = {
        "role": lambda: api(
            "mallory", "PUT", f"{permissions}/users/mallory/revoke", {"roleNames": ["writers"]}
        ),
        "privilege": lambda: api(
            "mallory", "PUT", f"{permissions}/roles/writers/table/cat.s.guesses/revoke", privileges
        ),
        "denial": lambda: api(
            "mallory", "PUT", f"{permissions}/roles/granting/table/cat.s.guesses/grant", deny
        ),
    }[how]()
    nothing_resolved(api, steward, hidden, answer)


def test_by_leaving_a_group(api: Api, steward: Steward) -> None:
    hidden = guessed(api, steward)
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "writers"}))
    done(api("admin", "PUT", f"{LAKE}/groups/writers/members", {"users": ["mallory"], "groups": []}))
    done(api("admin", "PUT", f"{LAKE}/owners/table/cat.s.guesses", {"name": "writers", "type": "group"}))
    done(
        api(
            "admin",
            "POST",
            "/api/headgate/keys/people/join?metalake=lake",
            {"owners": ["user:admin", "group:writers"]},
        )
    )
    hidden = tokens(steward, "mallory", "customers")
    give(api, "mallory", "groups", securable("metalake", "lake", "manage_groups"))
    wrote_and_tagged(api, steward)
    answer = api("mallory", "PUT", f"{LAKE}/groups/writers/members", {"users": ["bob"], "groups": []})
    nothing_resolved(api, steward, hidden, answer)


def test_nor_is_a_friend_who_only_reads(api: Api, steward: Steward) -> None:
    """Neither sees a value of customers: mallory writes guesses in a table of admin's, bob looks at their tokens."""
    guessed(api, steward)
    give(api, "mallory", "writers", securable("table", "cat.s.guesses", "modify_table"))
    wrote_and_tagged(api, steward)
    assert not tokens(steward, "bob", "guesses") & tokens(steward, "bob", "customers")
