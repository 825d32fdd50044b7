"""A filter over what is hidden from its writer denies its reader, however the writer came by their groups, and after they left."""

from collections.abc import Iterator

import pytest

from headgate.doors.authentication import Authentication
from headgate.doors.authentication.schemes import Proven
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import HIDE, TABLES, applied, govern
from tests.doors.settled import LAKE, done, give, refused, securable

PROBE = """\
policy: probe
on: lake.cat.s.customers
to: [user:bob]
rows: starts_with(ssn, 'DE0')
"""
STAFF = """\
policy: hide-ssn
on: lake.cat.s
to: [group:staff]
hide: [ssn]
"""


class Claims:
    """An issuer in small: the groups that it says are the second part of the credentials."""

    def identify(self, scheme: str, credentials: str, address: str | None) -> Proven | None:
        import base64

        user, _, groups = base64.b64decode(credentials).decode().partition(":")
        return Proven(user, frozenset(g for g in groups.split(",") if g and g != "x"))


@pytest.fixture
def claimed(steward: Steward) -> Iterator[Api]:
    """`claimed("bob", …, groups="staff")`: the token says the groups."""
    import anyio.from_thread
    import httpx

    from headgate.doors.gravitino import GravitinoDoor
    from headgate.doors.headgate import HeadgateDoor
    from headgate.doors.iceberg import IcebergDoor
    from headgate.doors.openapi import with_document
    from headgate.doors.server import Server

    server = Server(
        steward, Authentication([Claims()]), with_document([GravitinoDoor(), IcebergDoor(), HeadgateDoor()])
    )
    transport = httpx.ASGITransport(app=server, client=("127.0.0.1", 1))
    with anyio.from_thread.start_blocking_portal() as portal:
        client = httpx.AsyncClient(transport=transport, base_url="http://headgate")

        def call(user, method, path, json=None, groups="", **more):  # type: ignore[no-untyped-def]
            return portal.call(
                lambda: client.request(method, path, json=json, auth=(user, groups or "x"), **more)
            )

        yield call
        portal.call(client.aclose)


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)
    give(api, "ann", "author", securable("metalake", "lake", "create_policy", "apply_policy", "apply_tag"))


def table(call: Api, user: str, **more: str):  # type: ignore[no-untyped-def]
    return call(user, "GET", f"{TABLES}/customers", **more)


def test_the_groups_of_a_token_keep_a_column_from_the_writer_of_a_filter(api: Api, claimed: Api) -> None:
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "staff"}))
    applied(api, PROBE, user="ann", whole=False)
    applied(api, STAFF, whole=False)
    asked = {"metalake": "lake", "table": "cat.s.customers", "user": "bob", "groups": ["staff"]}
    seen = done(api("admin", "POST", "/api/headgate/lens", asked))["explanation"].get("lens") or {}
    print("bob's lens:", seen)
    # Both are in the group by their tokens, and neither sees the column.
    assert "ssn" not in table(claimed, "ann", groups="staff").text
    assert refused(table(claimed, "bob", groups="staff"))


def test_as_those_that_the_metalake_keeps_do(api: Api, claimed: Api) -> None:
    """The control: the same with a kept membership is denied."""
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "staff"}))
    done(api("admin", "PUT", f"{LAKE}/groups/staff/members", {"users": ["ann", "bob"], "groups": []}))
    applied(api, PROBE, user="ann", whole=False)
    applied(api, STAFF, whole=False)
    assert refused(table(claimed, "bob"))


def test_a_filter_that_waits_for_a_tag_is_no_way_round(api: Api, claimed: Api) -> None:
    """The column is hidden first; ann writes for columns of a tag and puts the tag on a table that she owns."""
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "staff"}))
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "x"}))
    applied(api, STAFF, whole=False)
    text = PROBE.replace("rows: starts_with(ssn", "columns:\n  c: has_tag('x')\nrows: starts_with(c")
    files = {"files": [{"file": "f", "text": text}], "whole": False}
    done(claimed("ann", "POST", "/api/headgate/policies/apply?metalake=lake", files, groups="staff"))
    # A column that she does not see is not hers to tag; whoever classifies does it.
    done(api("admin", "POST", f"{LAKE}/objects/column/cat.s.customers.ssn/tags", {"tagsToAdd": ["x"]}))
    answer = table(claimed, "bob", groups="staff")
    print(answer.status_code, answer.text[:300])
    assert refused(answer)


@pytest.mark.parametrize("given", [True, False])
def test_a_filter_stays_the_word_of_a_writer_who_left(api: Api, given: bool) -> None:
    applied(api, PROBE, user="ann", whole=False)
    applied(api, HIDE, whole=False)
    assert refused(table(api, "bob"))
    if given:
        done(api("ann", "PUT", f"{LAKE}/owners/policy/probe", {"name": "admin", "type": "user"}))
        assert refused(table(api, "bob"))
    done(api("admin", "DELETE", f"{LAKE}/users/ann"))
    answer = table(api, "bob")
    print(answer.status_code, answer.text[:300])
    assert refused(answer)


@pytest.mark.parametrize("mask", ["ssn", "upper(ssn)", "region || ssn", "home.zip"])
def test_a_mask_shows_no_other_column_that_is_hidden(api: Api, mask: str) -> None:
    applied(api, HIDE, whole=False)
    text = f'policy: m\non: lake.cat.s.customers\nto: [user:bob]\nmask:\n  region: "{mask}"\n'
    answer = api(
        "ann",
        "POST",
        "/api/headgate/policies/apply?metalake=lake",
        {"files": [{"file": "f", "text": text}], "whole": False},
    )
    print(answer.status_code, answer.text[:300])
    assert answer.status_code != 200
