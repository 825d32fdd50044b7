"""Who ever wrote a table is shown no tokens of it, however they lost the right to write it."""

from typing import Any

import pytest

from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.settled import LAKE, done, give, securable
from tests.doors.test_tokens_tell_nobody_what_they_hide import KEYS, NAMES, _lake, table, tokens

__all__ = ["_lake"]
READS = ("use_catalog", "use_schema", "select_table")
COMMIT = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"x": "y"}}]}
TAGS = f"{LAKE}/objects/column/cat.s.guesses.email/tags"


def guessed(api: Api, steward: Steward) -> set[str]:
    """Mallory may write a table of admin's, and does while nothing of it is masked; then she tags the column."""
    hidden = tokens(steward, "mallory", "customers")
    table(api, "admin", "guesses", tagged=False)
    return hidden


def wrote_and_tagged(api: Api, steward: Steward) -> None:
    where = "/iceberg/v1/lake.cat/namespaces/s/tables/guesses"
    answer = api("mallory", "POST", where, COMMIT)
    assert answer.status_code == 200, answer.text  # she writes it: here go the guesses
    done(api("mallory", "POST", TAGS, {"tagsToAdd": ["pii"]}))
    assert tokens(steward, "mallory", "guesses") == set(), "as its writer she is shown none"
    assert api("mallory", "GET", where).status_code == 403


def nothing_resolved(api: Api, steward: Steward, hidden: set[str], answer: Any) -> None:
    done(answer)
    assert tokens(steward, "mallory", "guesses") == set()
    loaded = api("mallory", "GET", "/iceberg/v1/lake.cat/namespaces/s/tables/guesses")
    assert loaded.status_code in (403, 404)
    shown = tokens(steward, "hr", "guesses")
    assert len(shown) == len(hidden), "others are shown them"
    assert not shown & hidden, "and cannot resolve those of another table with them"


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
    guessed(api, steward)
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "writers"}))
    done(api("admin", "PUT", f"{LAKE}/groups/writers/members", {"users": ["mallory"], "groups": []}))
    done(api("admin", "PUT", f"{LAKE}/owners/table/cat.s.guesses", {"name": "writers", "type": "group"}))
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


def test_by_being_removed_and_added_again(api: Api, steward: Steward) -> None:
    hidden = guessed(api, steward)
    give(api, "mallory", "writers", securable("table", "cat.s.guesses", "modify_table"))
    wrote_and_tagged(api, steward)
    done(api("admin", "DELETE", f"{LAKE}/users/mallory"))
    done(api("admin", "POST", f"{LAKE}/users", {"name": "mallory"}))
    give(api, "mallory", "reads", securable("catalog", "cat", *READS))
    assert tokens(steward, "mallory", "guesses") == set()
    assert len(tokens(steward, "mallory", "customers")) == len(hidden)


def test_by_registering_a_dropped_table_again(api: Api, steward: Steward) -> None:
    guessed(api, steward)
    give(api, "mallory", "writers", securable("table", "cat.s.guesses", "modify_table"))
    wrote_and_tagged(api, steward)
    where = "/iceberg/v1/lake.cat/namespaces/s"
    location = api("admin", "GET", f"{where}/tables/guesses").json()["metadata-location"]
    assert api("admin", "DELETE", f"{where}/tables/guesses").status_code == 204
    again = {"name": "guesses", "metadata-location": location}
    assert api("admin", "POST", f"{where}/register", again).status_code == 200
    assert api("mallory", "POST", f"{where}/tables/guesses", COMMIT).status_code == 403, "the right is gone"
    assert tokens(steward, "mallory", "guesses") == set()
    assert len(tokens(steward, "hr", "guesses")) == len(NAMES)


def test_who_only_might_have_written_is_shown_them(api: Api, steward: Steward) -> None:
    """The control: a right that was never used hides nothing once it is gone."""
    guessed(api, steward)
    done(api("admin", "POST", TAGS, {"tagsToAdd": ["pii"]}))
    give(api, "bob", "writers", securable("table", "cat.s.guesses", "modify_table"))
    assert tokens(steward, "bob", "guesses") == set()
    done(api("admin", "DELETE", f"{LAKE}/roles/writers"))
    assert len(tokens(steward, "bob", "guesses")) == len(NAMES)


def test_it_is_kept_once_for_each_user_and_table(api: Api, steward: Steward) -> None:
    """A commit moves the revision the first time only."""
    where = "/iceberg/v1/lake.cat/namespaces/s/tables/customers"
    start = steward.kernel.store.revision()
    assert api("admin", "POST", where, COMMIT).status_code == 200
    assert steward.kernel.store.revision() == start, "who made it is known already"
    give(api, "bob", "writers", securable("table", "cat.s.customers", "modify_table"))
    applied(api)
    start = steward.kernel.store.revision()
    for _ in range(3):
        assert api("bob", "POST", where, COMMIT).status_code == 200
        assert steward.kernel.store.revision() == start + 1


def test_who_wrote_one_of_the_tables_that_share_a_key_is_shown_none_of_them(
    api: Api, steward: Steward
) -> None:
    guessed(api, steward)
    give(api, "mallory", "writers", securable("table", "cat.s.guesses", "modify_table"))
    wrote_and_tagged(api, steward)
    done(api("admin", "DELETE", f"{LAKE}/roles/writers"))
    both = {"tables": ["cat.s.customers", "cat.s.guesses"]}
    joined = done(api("admin", "POST", f"{KEYS}/people/join?metalake=lake", both))["key"]
    assert joined["shut_out"] == ["admin", "mallory"], "what it costs is told"
    assert tokens(steward, "mallory", "customers") == set()
    assert tokens(steward, "hr", "customers") == tokens(steward, "hr", "guesses") != set()
    assert api("admin", "DELETE", "/iceberg/v1/lake.cat/namespaces/s/tables/guesses").status_code == 204
    assert len(tokens(steward, "mallory", "customers")) == len(NAMES), "a dropped table shares nothing"
