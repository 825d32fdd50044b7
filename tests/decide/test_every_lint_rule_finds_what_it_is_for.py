"""Each rule of the linter finds what it is for, and nothing in policies that are as they should be."""

import pytest

from headgate.decide.changes.effects import ComparedCircumstances
from headgate.decide.lint import RULES, Survey, lint
from headgate.decide.trials.trial import World
from headgate.language.policies.documents import load
from headgate.model import changes as c
from headgate.model.privileges import Privilege
from tests.decide.lens_worlds import NOW

LAKE = {
    "tables": {
        "m.c.s.t": {
            "columns": {"id": "long", "region": "string", "email": "string"},
            "column tags": {"email": {"pii": "email"}},
        }
    },
    "users": {
        "ann": {"groups": ["analysts"], "roles": ["reader"], "attributes": {"region": "EU"}},
        "bob": {"groups": ["analysts", "privacy"], "attributes": {"region": "US"}},
        "cat": {"groups": ["loose"]},
        **{f"u{n}": {"attributes": {"region": "EU", "badge": str(n)}} for n in range(12)},
    },
}

GOOD = """\
policy: by-region
on: m.c
to: [group:analysts]
rows: region = principal.region
---
policy: mask-email
on: m
to: [everyone]
except: [group:privacy]
columns: {e: has_tag('pii')}
mask: {e: show_last_4(e)}
"""


def found(text: str) -> set[tuple[str, str]]:
    return {(finding.rule, finding.policy) for finding in lint(survey(text))}


def survey(text: str, *more: c.Change) -> Survey:
    world = World.of(LAKE).governed_by(load(text))
    authority = world.authority.applied(more, 3)
    tables = tuple(
        (authority.objects[world.ids[tuple(name.split("."))]], shape) for name, shape in world.shapes.items()
    )
    return Survey(authority, authority.objects[world.ids["m",]], tables, ComparedCircumstances(NOW))


def test_good_policies_are_left_alone() -> None:
    assert found(GOOD) == set()


CASES = {
    "to-nobody": "policy: p\non: m\nto: [group:nobody]\nhide: [email]\n",
    "no-columns": "policy: p\non: m\nto: [everyone]\nhide: [nothing]\n",
    "conflicts": "policy: p\non: m\nto: [everyone]\nmask: {email: sha256(email)}\n---\n"
    "policy: q\non: m\nto: [group:analysts]\nmask: {email: show_last_4(email)}\n",
    "shadowed": "policy: p\non: m\nto: [user:ann]\nmask: {email: sha256(email)}\n---\n"
    "policy: q\non: m\nto: [everyone]\nhide: [email]\n",
    "lens-per-person": "policy: p\non: m\nto: [everyone]\nrows: region = session_user()\n",
    "undecidable": "policy: p\non: m\nto: [everyone]\nrows: region = principal.region\n",
    "unprunable": "policy: p\non: m\nto: [everyone]\nrows: ends_with(region, 'U')\n",
}


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_finds_it(rule: str) -> None:
    assert (rule, "p") in found(CASES[rule])


def test_an_attribute_that_everyone_has_another_of_gives_everyone_a_lens() -> None:
    text = "policy: p\non: m\nto: [everyone]\nrows: coalesce(principal.badge, 'none') = region\n"
    assert ("lens-per-person", "p") in found(text)


def test_everyone_who_is_meant_may_be_excepted() -> None:
    text = "policy: p\non: m\nto: [group:analysts]\nexcept: [group:analysts]\nhide: [email]\n"
    assert ("to-nobody", "p") in found(text)


def test_a_grant_voids_what_binds_through_a_tag() -> None:
    plain = survey(GOOD)
    assert not [f for f in lint(plain) if f.rule == "voided"]
    authority = plain.authority
    role = next(n for n in authority.objects.values() if n.name == "reader")
    lake = plain.metalake.id
    bits = Privilege.APPLY_TAG.bit | Privilege.USE_CATALOG.bit | Privilege.USE_SCHEMA.bit
    grant = c.RoleGrants(role.id, lake, bits | Privilege.SELECT_TABLE.bit, 0)
    assert not [f for f in lint(survey(GOOD, grant)) if f.rule == "voided"], "ann is bound, and cannot"
    bob = next(m for m in authority.members.values() if m.name == "bob")
    granted = survey(GOOD, grant, c.RoleHeld(role.id, bob.id, True))
    told = [f for f in lint(granted) if f.rule == "voided"]
    assert [(f.policy, "bob" in f.message, "'pii'" in f.message) for f in told] == [
        ("mask-email", True, True)
    ]


def test_a_finding_that_its_policy_accepts_is_told_with_the_reason() -> None:
    text = "policy: p\non: m\nto: [group:nobody]\nhide: [nothing]\naccept: {to-nobody: they come in spring}\n"
    told = {finding.rule: finding.accepted for finding in lint(survey(text))}
    assert told == {"to-nobody": "they come in spring", "no-columns": None}
    other = text.replace("policy: p", "policy: q").replace("accept: {to-nobody: they come in spring}\n", "")
    assert ("q", None) in {(f.policy, f.accepted) for f in lint(survey(f"{text}---\n{other}"))}


def test_every_rule_is_tested() -> None:
    assert set(CASES) | {"voided"} == set(RULES)
