"""Tags are fetched, and pushed where they are asked for and mean nothing that anybody could gain or lose by."""

from collections.abc import Callable

import pytest

from headgate.model.objects import ObjectType
from headgate.store import objects, policies
from headgate.sync.facts import Facts, Tag
from headgate.sync.journal import Journal
from headgate.sync.losses import Cause
from headgate.sync.names import PrincipalMap
from headgate.sync.results import Change, Mode, Outcome, SyncResult
from headgate.sync.run import undo
from headgate.sync.translate import Options
from tests.sync.cloud_stands import LakeFormationStand
from tests.sync.stands import HeadgateStand, Stand
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


def tags(stand: Stand) -> set[Tag]:
    return {fact for fact in stand.connector.fetch().facts if isinstance(fact, Tag)}


def push(stand: Stand, journal: Journal, facts: set[Tag], asked: bool = True) -> SyncResult:
    source = snapshot(Facts([*INVENTORY, *facts]))
    return stand.connector.push(source, Mode.MERGE, PrincipalMap.same_names(), journal, Options(tags=asked))


def test_there_and_back_they_are_the_same(
    here: HeadgateStand, lake: LakeFormationStand, journal: Journal
) -> None:
    assert push(here, journal, TAGS).complete
    assert tags(here) == TAGS
    assert push(lake, journal, tags(here)).complete
    assert tags(lake) == TAGS
    for tag in TAGS:
        here.connector.apply([Change(tag, None)])
    assert not tags(here)
    assert push(here, journal, tags(lake)).complete
    assert tags(here) == TAGS


@pytest.mark.parametrize("system", ["here", "lake"])
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
    lake: LakeFormationStand, here: HeadgateStand, journal: Journal
) -> None:
    unknown = {Tag(TABLES[0], "nobody", "x")}
    for stand in (lake, here):
        result = push(stand, journal, unknown)
        assert result.count(Outcome.UNSUPPORTED) == 1
        assert not tags(stand)


def test_the_tags_of_columns_go_with_their_names(lake: LakeFormationStand, journal: Journal) -> None:
    tagged = {Tag(COLUMNS[0], "tier", "gold")}
    assert push(lake, journal, tagged).complete
    assert tags(lake) == tagged
