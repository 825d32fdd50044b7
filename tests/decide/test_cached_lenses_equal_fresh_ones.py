"""A lens from any cache is the one that is worked out from nothing, after any history and at any time."""

from random import Random

import pytest

from headgate.decide import Authority
from headgate.decide.policies import lens as lenses
from headgate.decide.policies.lens import LensVerdict, fresh, lens
from headgate.model import changes as c
from tests.decide import lens_worlds as worlds

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_after_every_change_of_anything_that_lenses_rest_on(seed: int) -> None:
    compare(seed)


def compare(*seeds: int) -> None:
    for seed in seeds:
        _compare(seed)


def _compare(seed: int) -> None:
    r = Random(seed)
    history: list[c.Change] = worlds.start(r)
    followed = Authority().applied(history, 0)
    kinds: set[str] = set()
    for step in range(25):
        news = worlds.change(r)
        history += news
        followed = followed.applied(news, step + 1)
        anew = Authority().applied(history, step + 1)
        for _ in range(40):
            identity, now, shape = worlds.identity(r), worlds.moment(r), r.choice(worlds.SHAPES)
            table = worlds.table(followed, r)
            cached = lens(followed, followed.caller(identity, worlds.LAKE), table, shape, now)
            uncached = fresh(anew, anew.caller(identity, worlds.LAKE), anew.objects[table.id], shape, now)
            assert cached == uncached, (seed, step, identity, now)
            kinds.add(_kind(cached))
    assert {"denied", "whole"} <= kinds
    assert kinds & {"rows", "masks", "hidden"}


def _kind(verdict: LensVerdict) -> str:
    if verdict.lens is None:
        return "denied"
    if verdict.lens.whole:
        return "whole"
    return "hidden" if verdict.lens.hidden else "masks" if verdict.lens.masks else "rows"


def test_the_comparison_would_notice_a_cache_that_forgets_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lenses, "_constant", lambda rules, now: lenses.ALWAYS)
    with pytest.raises(AssertionError):
        compare(*SEEDS)


def test_the_comparison_would_notice_a_cache_that_forgets_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lenses, "_answer", lambda kind, key, request: None)
    with pytest.raises(AssertionError):
        compare(*SEEDS)


def test_people_with_the_same_answers_share_one_lens() -> None:
    r = Random(5)
    authority = Authority().applied(worlds.start(r), 1)
    seen: dict[str, LensVerdict] = {}
    for _ in range(300):
        caller = authority.caller(worlds.identity(r), worlds.LAKE)
        verdict = lens(authority, caller, worlds.table(authority, r), worlds.SHAPES[0], worlds.NOW)
        if verdict.lens is not None:
            seen.setdefault(verdict.lens.id, verdict)
            first = seen[verdict.lens.id].lens
            assert first is not None
            assert (first.hidden, first.masks, first.rows) == (
                verdict.lens.hidden,
                verdict.lens.masks,
                verdict.lens.rows,
            )
    assert len(seen) > 2
