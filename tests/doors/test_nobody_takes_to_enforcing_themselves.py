"""Who sees a part of a table decides neither how that is enforced nor that they enforce it themselves."""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

import headgate
from headgate.steward.reads import modes
from headgate.steward.reads.modes import MODES, TRUSTED, CatalogMode, tells_more
from tests.conftest import Api
from tests.doors.governed import applied, govern
from tests.doors.settled import LAKE, done, refused

HIDE = "policy: hide-ssn\non: lake.cat.s\nto: [everyone]\nexcept: [user:admin]\nmask:\n  ssn: replace_with_null(ssn)\n"


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    """ann is the user of an engine that the metalake names; the catalog does not delegate to it, and she owns it."""
    govern(api)
    applied(api, HIDE)
    trusted = {"@type": "setProperty", "property": "headgate.trusted-engines", "value": "ann"}
    done(api("admin", "PUT", LAKE, {"updates": [trusted]}))
    done(api("admin", "PUT", f"{LAKE}/owners/catalog/cat", {"name": "ann", "type": "user"}))


def test_a_catalog_is_not_delegated_to_its_restricted_owner(api: Api) -> None:
    where = "/iceberg/v1/lake.cat/namespaces/s/tables/customers"
    own = api("admin", "GET", where).json()["metadata"]["location"]
    before = api("ann", "GET", where)
    assert before.status_code == 200
    assert own not in before.text
    delegate = {"@type": "setProperty", "property": "headgate.enforce", "value": "delegate"}
    answer = api("ann", "PUT", f"{LAKE}/catalogs/cat", {"updates": [delegate]})
    after = api("ann", "GET", where)
    assert refused(answer)
    assert own not in after.text
    done(api("admin", "PUT", f"{LAKE}/catalogs/cat", {"updates": [delegate]}))
    assert own in api("ann", "GET", where).text, "who sees all of it may decide so"


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.property)
def test_of_every_mode_only_what_tells_less_is_chosen(api: Api, mode: CatalogMode) -> None:
    def put(user: str, value: str | None) -> Any:
        kind = {"@type": "removeProperty"} if value is None else {"@type": "setProperty", "value": value}
        return api(user, "PUT", f"{LAKE}/catalogs/cat", {"updates": [{**kind, "property": mode.property}]})

    rank = {value: mode.ranked.index(value or mode.default) for value in (None, *mode.ranked)}
    for before, after in itertools.permutations(rank, 2):
        done(put("admin", before))
        answer = put("ann", after)
        if rank[after] > rank[before]:
            assert refused(answer), (before, after)
        else:
            done(answer)


def test_no_mode_is_without_its_rank() -> None:
    """Every property of ours that the code names is one of the modes, or known to be of metalakes."""
    lines = [
        line
        for path in Path(headgate.__file__).parent.rglob("*.py")
        for line in path.read_text().splitlines()
        if "get_logger" not in line
    ]
    named = {
        name for line in lines for name in re.findall(r"""["'](headgate\.[a-z]+(?:-[a-z]+)*)["']""", line)
    }
    others = {"headgate.broken", "headgate.toml", "headgate.places", "headgate.worker"}
    assert named - others == {mode.property for mode in MODES} | {TRUSTED}


def test_a_mode_without_a_rank_is_not_even_imported() -> None:
    text = Path(modes.__file__).read_text()
    exec(compile(text, "modes", "exec"), {"__name__": "modes"})
    before = "MODES: Final = ("
    assert text.count(before) == 1
    with pytest.raises(ImportError, match=r"rank the values of headgate\.new"):
        exec(
            compile(text.replace(before, f'NEW = "headgate.new"\n{before}'), "modes", "exec"),
            {"__name__": "modes"},
        )


def test_a_value_that_nobody_knows_counts_as_telling_nothing() -> None:
    for mode in MODES:
        assert all(tells_more({mode.property: "?"}, {mode.property: value}) for value in mode.ranked)


@pytest.mark.parametrize("ranked", [("a",), ("a", "a", "b")])
def test_a_mode_whose_values_are_not_ranked_is_none(ranked: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="rank every value once"):
        CatalogMode("headgate.new", ranked, "b")
