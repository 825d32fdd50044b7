"""A snapshot is written and read byte for byte, in JSON and in YAML, and one of a newer format is refused."""

from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.errors import IllegalArgument, Unsupported
from headgate.model.objects import ObjectType
from headgate.sync.pushing.journal import Journal
from headgate.sync.snapshots.facts import (
    Facts,
    GrantFact,
    Kind,
    Known,
    Mask,
    OwnerFact,
    Present,
    Principal,
    Property,
    RowFilter,
    Securable,
    Tag,
)
from headgate.sync.snapshots.snapshot import ChangeLog, PolicySnapshot
from tests.sync.worlds import COLUMNS, TABLES, policies

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ANN = Principal(Kind.USER, "ann")
READER = Principal(Kind.ROLE, "reader")


@given(policies(owners=True, columns=True))
@settings(max_examples=40, deadline=None)
def test_a_snapshot_survives_its_text(facts: Facts) -> None:
    snapshot = PolicySnapshot.of(facts, "headgate", at=AT)
    for text in (snapshot.to_json(), snapshot.to_yaml()):
        again = PolicySnapshot.read(text)
        assert again == snapshot
        assert again.facts == facts
    assert PolicySnapshot.read(snapshot.to_json()).to_json() == snapshot.to_json()
    assert PolicySnapshot.read(snapshot.to_yaml()).to_yaml() == snapshot.to_yaml()
    assert PolicySnapshot.of(snapshot.facts, "headgate").content_hash == snapshot.content_hash


def test_no_two_snapshots_have_one_version_and_equal_content_has_one_hash() -> None:
    facts = Facts([Known(ANN), Present(TABLES[0]), GrantFact(ANN, TABLES[0], "SELECT_TABLE")])
    one, other = (PolicySnapshot.of(facts, "headgate", at=AT) for _ in range(2))
    assert one.version_id != other.version_id
    assert one.content_hash == other.content_hash
    less = PolicySnapshot.of(facts.changed(remove=facts.grants), "headgate", at=AT)
    assert less.content_hash != one.content_hash
    assert PolicySnapshot.of(facts, "postgresql", at=AT).content_hash != one.content_hash


def test_the_hash_is_that_of_what_stands_in_the_document() -> None:
    facts = Facts([Known(ANN), Present(TABLES[0]), GrantFact(ANN, TABLES[0], "SELECT_TABLE")])
    written = PolicySnapshot.of(facts, "headgate", at=AT)
    edited = PolicySnapshot.read(written.to_yaml().replace(b"SELECT_TABLE", b"MODIFY_TABLE"))
    assert edited.version_id == written.version_id
    assert (
        edited.content_hash
        == PolicySnapshot.of(edited.facts, "headgate").content_hash
        != written.content_hash
    )
    older = written.to_yaml().replace(f"content_hash: {written.content_hash}\n".encode(), b"")
    assert PolicySnapshot.read(older) == written, "a document without one is read as before"


def test_what_says_the_same_is_kept_once(journal: Journal) -> None:
    facts = Facts([Known(ANN)])
    first, again = (PolicySnapshot.of(facts, "headgate") for _ in range(2))
    for snapshot in (first, again):
        journal.keep("headgate:x", snapshot)
    assert journal.kept("headgate:x") == first
    other = PolicySnapshot.of(Facts([]), "headgate")
    journal.keep("headgate:x", other)
    assert journal.kept("headgate:x") == other


@given(st.text(min_size=1))
@settings(max_examples=60, deadline=None)
def test_odd_names_survive(name: str) -> None:
    user = Principal(Kind.USER, name)
    table = Securable(ObjectType.TABLE, (name, "s", name))
    facts = Facts(
        [
            Known(user),
            Present(table),
            GrantFact(user, table, "SELECT_TABLE", option=True),
            OwnerFact(table, user),
        ]
    )
    snapshot = PolicySnapshot.of(facts, "headgate", at=AT)
    assert PolicySnapshot.read(snapshot.to_json()).facts == facts
    assert PolicySnapshot.read(snapshot.to_yaml()).facts == facts


def test_everything_that_a_system_may_have_is_kept() -> None:
    facts = Facts(
        [
            Known(ANN),
            Known(Principal(Kind.GROUP, "PUBLIC"), everyone=True),
            Known(READER),
            Property(READER, "description", "reads"),
            Present(TABLES[0]),
            GrantFact(ANN, TABLES[0], "postgresql:TRUNCATE", option=True),
            Tag(TABLES[0], "pii", "email"),
            RowFilter(TABLES[0], "own", "x = 1", (ANN,), ()),
            Mask(COLUMNS[0], "hide", "NULL", (), (ANN,)),
        ]
    )
    logs = {ANN: ChangeLog("root", "2026-01-01T00:00:00Z")}
    snapshot = PolicySnapshot.of(facts, "postgresql", logs=logs, properties={"b": "2", "a": "1"}, at=AT)
    again = PolicySnapshot.read(snapshot.to_yaml())
    assert again == snapshot
    assert again.facts == facts
    assert again.users["ann"].change_log == logs[ANN]


def test_the_bytes_do_not_change_between_versions_of_this_program() -> None:
    facts = Facts([Known(ANN), Present(TABLES[0]), GrantFact(ANN, TABLES[0], "SELECT_TABLE")])
    snapshot = PolicySnapshot.of(facts, "headgate", at=AT)
    assert snapshot.to_yaml().decode() == (
        "content_hash: 6911226bd784ac884d95c3bd560ee9c4\n"
        "format: 1\n"
        "groups: {}\n"
        "masks: []\n"
        "objects:\n"
        "- identifier: [lake, sales, orders]\n"
        "  type: table\n"
        "properties: {}\n"
        "roles: {}\n"
        "row_filters: []\n"
        "system: headgate\n"
        "timestamp: '2026-01-02T03:04:05.000Z'\n"
        "users:\n"
        "  ann:\n"
        "    name: ann\n"
        "    securable_objects:\n"
        "    - identifier: [lake, sales, orders]\n"
        "      privileges:\n"
        "      - {type: SELECT_TABLE}\n"
        "      type: table\n"
        f"version_id: {_quoted(snapshot.version_id)}\n"
    )


def _quoted(text: str) -> str:
    """As YAML writes what would else be a number."""
    return yaml.safe_dump(text, explicit_end=False).splitlines()[0]


def test_a_newer_format_is_refused_whatever_it_holds() -> None:
    with pytest.raises(Unsupported, match="format 2"):
        PolicySnapshot.read(b'{"format": 2, "users": "something quite different"}')


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b"{}", b"a: [", b'{"format": "1"}', b'{"format": 1}', b"\xff\xfe"]
)
def test_what_is_no_snapshot_is_refused(text: bytes) -> None:
    with pytest.raises(IllegalArgument):
        PolicySnapshot.read(text)
