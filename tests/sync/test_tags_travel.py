"""Tags are fetched, and pushed where they are asked for and mean nothing that anybody could gain or lose by."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import httpx
import pytest

from headgate.model.objects import ObjectType
from headgate.store import objects, policies
from headgate.sync.connectors.gravitino.connector import GravitinoConnector
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome, SyncResult
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.facts import Facts, Securable, Tag
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.options import Options
from tests.sync.cloud_stands import LakeFormationStand
from tests.sync.stands import GravitinoStand, HeadgateStand, Stand
from tests.sync.worlds import COLUMNS, INVENTORY, SCHEMAS, TABLES, USERS, snapshot

TAGS = {Tag(SCHEMAS[0], "zone", "open"), Tag(TABLES[0], "zone", "closed"), Tag(TABLES[2], "tier", "gold")}
VALUES = {"zone": ["open", "closed"], "tier": ["gold"]}


@pytest.fixture
def lake(stand_of: Callable[[str], Stand]) -> LakeFormationStand:
    stand = stand_of("lakeformation")
    assert isinstance(stand, LakeFormationStand)
    known = {entry["TagKey"] for entry in stand.aws.all("lakeformation", "list_lf_tags", "LFTags")}
    for key, values in VALUES.items():
        if key not in known:
            stand.aws("lakeformation", "create_lf_tag", TagKey=key, TagValues=values)
    held = [fact for fact in stand.connector.read().facts if isinstance(fact, Tag)]
    stand.connector.apply([Change(fact, None) for fact in held])
    return stand


@pytest.fixture
def here(stand_of: Callable[[str], Stand]) -> HeadgateStand:
    stand = stand_of("headgate")
    assert isinstance(stand, HeadgateStand)
    with stand.store.write("test", "tags") as tx:
        root = objects.find(tx, 0, ObjectType.METALAKE, stand.metalake)
        assert root is not None
        for key in VALUES:
            objects.create(tx, root.id, root.id, ObjectType.TAG, key)
    return stand


@pytest.fixture
def there(stand_of: Callable[[str], Stand]) -> GravitinoStand:
    stand = stand_of("gravitino")
    assert isinstance(stand, GravitinoStand)
    for name, values in VALUES.items():
        stand.call("POST", "tags", {"name": name, "allowedValues": values})
    stand.call("POST", "tags", {"name": "plain"})
    return stand


def tags(stand: Stand) -> set[Tag]:
    return {fact for fact in stand.connector.fetch().facts if isinstance(fact, Tag)}


def push(stand: Stand, journal: Journal, facts: set[Tag], asked: bool = True) -> SyncResult:
    source = snapshot(Facts([*INVENTORY, *facts]))
    return stand.connector.push(source, Mode.MERGE, PrincipalMap.same_names(), journal, Options(tags=asked))


@pytest.mark.parametrize(("first", "second"), [*permutations(("here", "there", "lake"), 2)])
def test_there_and_back_they_are_the_same(
    request: pytest.FixtureRequest, journal: Journal, first: str, second: str
) -> None:
    one, other = request.getfixturevalue(first), request.getfixturevalue(second)
    assert push(one, journal, TAGS).complete
    assert tags(one) == TAGS
    assert push(other, journal, tags(one)).complete
    assert tags(other) == TAGS
    for tag in TAGS:
        one.connector.apply([Change(tag, None)])
    assert not tags(one)
    assert push(one, journal, tags(other)).complete
    assert tags(one) == TAGS


@pytest.mark.parametrize("system", ["here", "there", "lake"])
def test_they_are_pushed_only_when_asked_for_changed_and_taken_back(
    request: pytest.FixtureRequest, journal: Journal, system: str
) -> None:
    stand = request.getfixturevalue(system)
    theirs = Tag(TABLES[1], "tier", "gold")
    assert stand.connector.apply([Change(None, theirs)])[0].outcome is Outcome.APPLIED
    result = push(stand, journal, TAGS, asked=False)
    assert {loss.what for loss in result.losses if loss.cause is Cause.TAG} == {"zone", "tier"}
    assert tags(stand) == {theirs}
    assert push(stand, journal, TAGS).complete
    assert tags(stand) == {theirs, *TAGS}
    changed = {Tag(TABLES[0], "zone", "open")}
    assert push(stand, journal, changed).complete
    assert tags(stand) == {theirs, *changed}
    assert undo(stand.connector, journal).ok
    assert tags(stand) == {theirs, *TAGS}


def test_a_tag_that_a_policy_asks_for_is_left_to_people(here: HeadgateStand, journal: Journal) -> None:
    document = {
        "policyType": policies.OWN,
        "enabled": True,
        "content": {"to": ["everyone"], "when": "has_tag('zone')", "deny": True},
    }
    with here.store.write("test", "policy") as tx:
        root = objects.find(tx, 0, ObjectType.METALAKE, here.metalake)
        assert root is not None
        made = objects.create(tx, root.id, root.id, ObjectType.POLICY, "p", body=document)
        policies.say(tx, objects.present(tx, made), None, "create")
    result = push(here, journal, TAGS)
    left = {item.change.fact for item in result.items if item.outcome is Outcome.UNSUPPORTED}
    assert left == {tag for tag in TAGS if tag.name == "zone"}
    assert tags(here) == TAGS - left


OWN_POLICY = {
    "name": "own",
    "policyType": policies.OWN,
    "content": {"on": "metalake.lake.h_r", "to": ["everyone"], "when": "has_tag('zone')", "deny": True},
}
CUSTOM_POLICY = {
    "name": "custom",
    "policyType": "custom",
    "content": {"customRules": {"where": "tags include zone"}, "supportedObjectTypes": ["TABLE"]},
}


@pytest.mark.parametrize("policy", [OWN_POLICY, CUSTOM_POLICY])
def test_a_tag_that_a_policy_behind_the_api_asks_for_is_left_to_people(
    there: GravitinoStand, journal: Journal, policy: dict[str, Any]
) -> None:
    there.call("POST", "policies", policy)
    result = push(there, journal, TAGS)
    left = {item.change.fact for item in result.items if item.outcome is Outcome.UNSUPPORTED}
    assert left == {tag for tag in TAGS if tag.name == "zone"}
    assert tags(there) == TAGS - left


def test_a_policy_that_stands_on_a_tag_asks_for_it(there: GravitinoStand, journal: Journal) -> None:
    policy = {"name": "p", "policyType": "system_iceberg_compaction", "content": {}}
    served = [{"type": "tag", "fullName": "zone"}]

    class Newer(httpx.BaseTransport):
        """A server that puts policies on tags."""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            path = request.url.path
            if path.endswith("/policies"):
                return httpx.Response(200, json={"code": 0, "policies": [policy]})
            if path.endswith("/policies/p/objects"):
                return httpx.Response(200, json={"code": 0, "metadataObjects": served})
            return there.client._transport.handle_request(request)

    with httpx.Client(transport=Newer(), base_url="http://headgate", auth=("admin", "x")) as client:
        connector = GravitinoConnector(client, there.metalake)
        answers = connector.apply([Change(None, tag) for tag in sorted(TAGS, key=str)])
    outcomes = {answer.detail for answer in answers if answer.outcome is Outcome.UNSUPPORTED}
    assert outcomes == {"a policy asks for the tag 'zone'"}
    assert tags(there) == {tag for tag in TAGS if tag.name == "tier"}


def test_a_tag_without_a_value_goes_by_the_first_version_of_the_request(
    there: GravitinoStand, journal: Journal
) -> None:
    """As servers know it that have no values of tags."""
    plain = Tag(TABLES[0], "plain")
    assert push(there, journal, {plain}).complete
    assert tags(there) == {plain}
    inherited = there.call("GET", f"objects/table/{'.'.join(TABLES[0].path)}/tags")["names"]
    assert inherited == ["plain"]
    assert undo(there.connector, journal).ok
    assert not tags(there)


def test_what_is_inherited_is_told_once_where_it_stands(there: GravitinoStand) -> None:
    on_schema, on_column = Tag(SCHEMAS[0], "zone", "open"), Tag(COLUMNS[0], "zone", "closed")
    assert there.connector.apply([Change(None, on_schema)])[0].outcome is Outcome.APPLIED
    column = ".".join(COLUMNS[0].path)
    put = {"tagsToAdd": [{"name": "zone", "value": "closed"}]}
    there.call("POST", f"objects/column/{column}/tags", put, version=2)
    assert tags(there) == {on_schema, on_column}


def test_a_value_that_is_not_put_leaves_the_one_before(there: GravitinoStand) -> None:
    held = Tag(TABLES[0], "zone", "open")
    assert there.connector.apply([Change(None, held)])[0].outcome is Outcome.APPLIED
    for value in ("nobody's", " "):
        answer = there.connector.apply([Change(held, Tag(TABLES[0], "zone", value))])[0]
        assert answer.outcome is not Outcome.APPLIED
        assert tags(there) == {held}
    free = Tag(TABLES[0], "plain", "short")
    assert there.connector.apply([Change(None, free)])[0].outcome is Outcome.APPLIED
    answer = there.connector.apply([Change(free, Tag(TABLES[0], "plain", "long" * 100))])[0]
    assert answer.outcome is Outcome.FAILED, "the server refuses it only after the other was taken off"
    assert tags(there) == {held, free}
    gone = Tag(Securable(ObjectType.TABLE, (*SCHEMAS[0].path, "gone")), "zone", "open")
    assert there.connector.apply([Change(None, gone)])[0].outcome is Outcome.FAILED


def test_a_tag_that_a_grant_asks_for_is_left_to_people(lake: LakeFormationStand, journal: Journal) -> None:
    expression = [{"TagKey": "zone", "TagValues": ["open"]}]
    principal = {"DataLakePrincipalIdentifier": lake.own(USERS[0]).name}
    resource = {"LFTagPolicy": {"ResourceType": "TABLE", "Expression": expression}}
    lake.aws(
        "lakeformation", "grant_permissions", Principal=principal, Resource=resource, Permissions=["SELECT"]
    )
    result = push(lake, journal, TAGS)
    left = {item.change.fact for item in result.items if item.outcome is Outcome.UNSUPPORTED}
    assert left == {tag for tag in TAGS if tag.name == "zone"}
    assert not lake.may(USERS[0], TABLES[0], "table.read")


def test_a_tag_or_value_that_there_is_not_is_told(
    lake: LakeFormationStand, here: HeadgateStand, there: GravitinoStand, journal: Journal
) -> None:
    unknown = {Tag(TABLES[0], "nobody", "x")}
    for stand in (lake, here, there):
        result = push(stand, journal, unknown)
        assert result.count(Outcome.UNSUPPORTED) == 1
        assert not tags(stand)


def test_the_tags_of_columns_go_with_their_names(lake: LakeFormationStand, journal: Journal) -> None:
    tagged = {Tag(COLUMNS[0], "tier", "gold")}
    assert push(lake, journal, tagged).complete
    assert tags(lake) == tagged
