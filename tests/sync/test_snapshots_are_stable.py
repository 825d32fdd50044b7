"""A snapshot is written and read byte for byte, in JSON and in YAML, and one of a newer format is refused."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.errors import IllegalArgument, Unsupported
from headgate.model.objects import ObjectType
from headgate.sync.facts import (
    Facts,
    Grant,
    Kind,
    Known,
    Mask,
    Owner,
    Present,
    Principal,
    RowFilter,
    Securable,
    Tag,
)
from headgate.sync.snapshot import ChangeLog, PolicySnapshot
from tests.sync.worlds import COLUMNS, TABLES, policies

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ANN = Principal(Kind.USER, "ann")


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
    assert PolicySnapshot.of(snapshot.facts, "headgate").version_id == snapshot.version_id


@given(st.text(min_size=1))
@settings(max_examples=60, deadline=None)
def test_odd_names_survive(name: str) -> None:
    user = Principal(Kind.USER, name)
    table = Securable(ObjectType.TABLE, (name, "s", name))
    facts = Facts(
        [Known(user), Present(table), Grant(user, table, "SELECT_TABLE", option=True), Owner(table, user)]
    )
    snapshot = PolicySnapshot.of(facts, "headgate", at=AT)
    assert PolicySnapshot.read(snapshot.to_json()).facts == facts
    assert PolicySnapshot.read(snapshot.to_yaml()).facts == facts


def test_everything_that_a_system_may_have_is_kept() -> None:
    facts = Facts(
        [
            Known(ANN),
            Known(Principal(Kind.GROUP, "PUBLIC"), everyone=True),
            Present(TABLES[0]),
            Grant(ANN, TABLES[0], "postgresql:TRUNCATE", option=True),
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
    facts = Facts([Known(ANN), Present(TABLES[0]), Grant(ANN, TABLES[0], "SELECT_TABLE")])
    text = PolicySnapshot.of(facts, "headgate", at=AT).to_yaml().decode()
    assert text == (
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
        f"version_id: {PolicySnapshot.of(facts, 'headgate').version_id}\n"
    )


def test_a_newer_format_is_refused_whatever_it_holds() -> None:
    with pytest.raises(Unsupported, match="format 2"):
        PolicySnapshot.read(b'{"format": 2, "users": "something quite different"}')


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b"{}", b"a: [", b'{"format": "1"}', b'{"format": 1}', b"\xff\xfe"]
)
def test_what_is_no_snapshot_is_refused(text: bytes) -> None:
    with pytest.raises(IllegalArgument):
        PolicySnapshot.read(text)
