"""Most engines read names in any letters: a column that gets the name of one that is renamed, in other letters, keeps what it kept."""

import sys
from typing import Any

import pytest

from headgate.model.schema import folded
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.settled import done
from tests.doors.test_waiting_policies_are_not_shed import (
    SCOPED,
    TABLE,
    add,
    change,
    column,
    drop,
    hidden,
    lake,
    put,
    rename,
    tags,
)

__all__ = ["lake"]


def scoped(api: Api) -> None:
    done(put(api, tags("table", "cat.s.customers"), "scope"))


def test_dropped_and_added_in_other_letters(api: Api, steward: Steward) -> None:
    """The control: of a column that is gone it holds."""
    applied(api, SCOPED)
    change(api, drop("email"), add("EMAIL"))
    scoped(api)
    assert hidden(steward) == {"EMAIL"}


@pytest.mark.parametrize("new", ["EMAIL", "Email"])
def test_renamed_and_added_in_other_letters(api: Api, steward: Steward, new: str) -> None:
    applied(api, SCOPED)
    change(api, rename("mail", "email"), add(new))
    scoped(api)
    assert hidden(steward) == {"mail", new}


def test_and_inside_of_structs(api: Api, steward: Steward) -> None:
    applied(api, SCOPED)
    done(put(api, column("home.street"), "pii"))
    change(api, rename("road", "home", "street"), add("home", "STREET"))
    scoped(api)
    assert hidden(steward) == {"email", "home.road", "home.STREET"}


@pytest.mark.parametrize(
    "waits", ["from: 2999-01-01T00:00:00Z", "purpose: [audit]", "when: has_tag('scope')"]
)
def test_what_is_hidden_by_name(api: Api, steward: Steward, waits: str) -> None:
    applied(api, f"policy: p\non: lake.cat.s\nto: [everyone]\n{waits}\nhide: [ssn]\n")
    work: dict[str, Any] = {"headers": {"Headgate-Purpose": "work"}} if "purpose" in waits else {}
    for update in (rename("number", "ssn"), add("SSN")):
        done(api("ann", "PUT", TABLE, {"updates": [update]}, **work))
    if "from" in waits:
        applied(api, "policy: p\non: lake.cat.s\nto: [everyone]\nhide: [ssn]\n")
    if "when" in waits:
        scoped(api)
    assert hidden(steward) == {"number", "SSN"}


DOTS = ("ema\u0131l", "EMA\u0130L", "ema\u0130l", "EMA\u0131L", "emai\u0307l")
"""Which letter i has no dot, or has one, differs by language: engines that fold to upper case first read all of these alike."""


@pytest.mark.parametrize("new", DOTS)
def test_an_i_with_or_without_its_dot_is_no_other_letter(api: Api, steward: Steward, new: str) -> None:
    applied(api, SCOPED)
    change(api, rename("mail", "email"), add(new))
    scoped(api)
    assert hidden(steward) == {"mail", new}


@pytest.mark.parametrize("new", [*DOTS, "\u017f\u017fn", "\u017fSN"])
def test_no_column_beside_one_that_is_hidden_by_name_passes_for_another(
    api: Api, steward: Steward, new: str
) -> None:
    applied(
        api, "policy: p\non: lake.cat.s\nto: [everyone]\nexcept: [user:admin]\nhide: [ssn, email, home.zip]\n"
    )
    done(api("admin", "PUT", TABLE, {"updates": [add(new)]}))
    assert hidden(steward) == {"ssn", "email", "home.zip", new}
    done(api("admin", "PUT", TABLE, {"updates": [add("home", "z\u0131p")]}))
    assert hidden(steward) >= {"home.zip", "home.z\u0131p"}


def test_folding_knows_every_way_to_write_a_letter_large_or_small() -> None:
    letters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    for letter in letters:
        every = (letter.upper(), letter.lower(), letter.title(), letter.casefold(), letter.lower().upper())
        assert {folded(each) for each in every} == {folded(letter)}, hex(ord(letter))
        assert folded(folded(letter)) == folded(letter), hex(ord(letter))
    assert folded("\u212a\u0131\u017f\u0130") == "kisi"


@pytest.mark.parametrize("name", ["ssn", "SSN", "Ssn"])
def test_a_policy_reaches_the_column_whatever_the_letters(api: Api, steward: Steward, name: str) -> None:
    applied(api, f"policy: p\non: lake.cat.s\nto: [everyone]\nexcept: [user:admin]\nhide: [{name}, Salary]\n")
    assert hidden(steward) == {"ssn"}
    done(api("admin", "PUT", TABLE, {"updates": [add("SALARY")]}))
    assert hidden(steward) == {"ssn", "SALARY"}
