"""Who is who is said by a map; whoever is not in it is left out, and two never become one."""

import pytest

from headgate.model.errors import IllegalArgument
from headgate.sync.snapshots.facts import Kind, Principal
from headgate.sync.snapshots.names import PrincipalMap

ANN = Principal(Kind.USER, "ann")


def test_only_those_named_are_mapped() -> None:
    names = PrincipalMap.read("user:ann: arn:aws:iam::1:user/ann\ngroup:team: role:team\n")
    assert names.of(ANN) == Principal(Kind.USER, "arn:aws:iam::1:user/ann")
    assert names.of(Principal(Kind.GROUP, "team")) == Principal(Kind.ROLE, "team")
    assert names.of(Principal(Kind.USER, "Ann")) is None
    assert names.of(Principal(Kind.GROUP, "ann")) is None


def test_roles_keep_their_names_unless_told_otherwise() -> None:
    role = Principal(Kind.ROLE, "reader")
    assert PrincipalMap({}).of(role) == role
    assert PrincipalMap({"role:*": "hg_*"}).of(role) == Principal(Kind.ROLE, "hg_reader")


def test_a_pattern_goes_both_ways() -> None:
    names = PrincipalMap({"user:root": "admin@localhost", "user:*": "*@%"})
    assert names.of(ANN) == Principal(Kind.USER, "ann@%")
    assert names.back.of(Principal(Kind.USER, "ann@%")) == ANN
    assert names.back.of(Principal(Kind.USER, "admin@localhost")) == Principal(Kind.USER, "root")
    assert names.back.of(Principal(Kind.USER, "ann@10.0.0.1")) is None


def test_two_never_become_one() -> None:
    names = PrincipalMap({"user:ann": "shared", "user:bob": "shared"})
    with pytest.raises(IllegalArgument, match="both map to user:shared"):
        names.all([ANN, Principal(Kind.USER, "bob")])


@pytest.mark.parametrize(
    "text", ["[1]", "user:ann: 3", "ann: bob", "user:*: same", "user:a*b*: '*'", "user:ann: ''", "a: ["]
)
def test_a_map_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(IllegalArgument):
        PrincipalMap.read(text)
