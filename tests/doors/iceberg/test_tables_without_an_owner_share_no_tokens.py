"""Tables that nobody owns are not one owner's: what a server of somebody's own holds shares no tokens with others'."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.catalogs.openings import Openings
from headgate.decide import Op
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.test_federated_tables_keep_their_place import VENDS
from tests.doors.settled import LAKE, done
from tests.openings import opened
from tests.people import People

NAMES = [f"name{n}@example.org" for n in range(300)]
PEOPLE = """\
policy: people
on: lake
to: [everyone]
except: [user:admin]
columns: {v: has_tag('pii')}
mask: {v: "token(v, 'people')"}
"""


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://hr", "s3://mallory")


def declare(api: Api, user: str, name: str, remote: AnyRest) -> None:
    properties = {"catalog-backend": "rest", "uri": remote.url, **VENDS}
    catalog = {"name": name, "type": "relational", "provider": "lakehouse-iceberg", "properties": properties}
    made = api(user, "POST", f"{LAKE}/catalogs", catalog)
    assert made.status_code == 200, made.text


@pytest.fixture
def servers(api: Api, people: People) -> Iterator[tuple[AnyRest, AnyRest]]:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    for user in ("mallory", "bob"):
        people.join(user)
    people.may("mallory", "CREATE_CATALOG APPLY_TAG", "metalake", "lake")
    api("admin", "POST", f"{LAKE}/tags", {"name": "pii"})
    with any_rest() as hr, any_rest() as own:
        hr.put("customers", "s3://hr/customers")
        own.put("guesses", "s3://mallory/guesses")
        declare(api, "admin", "hr", hr)
        declare(api, "mallory", "own", own)
        people.may("mallory", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "catalog", "hr")
        people.may("bob", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "catalog", "hr")
        people.may("bob", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "catalog", "own")
        yield hr, own


def tokens(steward: Steward, user: str, catalog: str, name: str) -> set[str]:
    ref = ObjectRef("lake", ObjectType.TABLE, (catalog, "r", name))
    permit = steward.kernel.permit(Identity(user), Op.LOAD_TABLE, ref)
    read = steward.reads.as_seen_by(permit.authority, permit.node, permit.identity)
    if read is None:
        return set()
    pads = [v for c, v in sorted(read.rendered.secrets.items()) if "inner" in c or "outer" in c]
    inner, outer = pads[0], pads[1]
    digests = (hashlib.sha256(inner + name.encode()).digest() for name in NAMES)
    return {hashlib.sha256(outer + digest).hexdigest() for digest in digests}


def test_a_server_of_ones_own_resolves_no_tokens_of_another(
    api: Api, steward: Steward, people: People, servers: tuple[AnyRest, AnyRest]
) -> None:
    for catalog, name in (("hr", "customers"), ("own", "guesses")):
        path = f"{LAKE}/catalogs/{catalog}/schemas/r/tables/{name}"
        assert api("admin" if catalog == "hr" else "mallory", "GET", path).status_code == 200
        tag = api(
            "admin" if catalog == "hr" else "mallory",
            "POST",
            f"{LAKE}/objects/column/{catalog}.r.{name}.a/tags",
            {"tagsToAdd": ["pii"]},
        )
        assert tag.status_code == 200, tag.text
    # The masked column is an int at these servers; tokens are for text.
    for server, table in zip(servers, ("customers", "guesses"), strict=True):
        for schema in server.tables[table]["schemas"]:
            schema["fields"][0]["type"] = "string"
    applied(api, PEOPLE)
    hidden = tokens(steward, "bob", "hr", "customers")
    assert len(hidden) == len(NAMES)
    guesses = tokens(steward, "bob", "own", "guesses")
    assert len(guesses) == len(NAMES)
    assert not guesses & hidden
    # She owns the catalog, which lets her write; giving the catalog away ends that.
    done(api("mallory", "PUT", f"{LAKE}/owners/catalog/own", {"name": "bob", "type": "user"}))
    people.may("mallory", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "catalog", "own")
    mine = tokens(steward, "mallory", "own", "guesses")
    assert mine == guesses
    assert not mine & hidden
