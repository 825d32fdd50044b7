"""How fast a lens is decided, and how many different ones there are: ``python -m bench.lens [--small]``.

Prints a table and writes bench/results/lens.json. A cold lens is the first of a person on a table whose policies nobody
has looked at since they changed: found, bound, folded and put together anew. A warm one was asked for before.
"""

import argparse
import datetime as dt
import gc
import json
import platform
import statistics
import time
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from headgate.decide import Authority
from headgate.decide.policies.clauses import rules_of
from headgate.decide.policies.lens import LensVerdict, fresh, lens
from headgate.decide.policies.shape import Shape
from headgate.model import changes as c
from headgate.model.objects import ObjectType
from headgate.model.principals import Identity, PrincipalKind
from headgate.model.schema import Field, Schema, parse_simple_type

T = ObjectType
NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
GOALS = {"cold_median_us": 1_000.0, "warm_median_us": 20.0}
LAKE, CATALOGS, SCHEMAS_EACH, GROUPS, SHAPES = 1, 10, 20, 200, 40
TAGS = ("pii", "geo", "tier", "owner", "scope")
MASKS = (
    "show_last_4({0})",
    "sha256({0})",
    "mask_to_fixed_value({0})",
    "prefix({0}, 2)",
    "token({0}, 'customers')",
)
ROWS = (
    "{0} = principal.region",
    "{0} IN (principal.regions) OR is_member('g1')",
    "amount < 1000 AND {0} <> 'secret'",
    "day >= current_date - INTERVAL 90 DAY",
    "{0} = principal.region AND amount BETWEEN 1 AND 500",
)


class Lake:
    """A lake with policies on every level, as journal entries."""

    def __init__(self, policies: int, tables: int, people: int) -> None:
        self.r = Random(1)
        self.sizes = {"policies": policies, "tables": tables, "principals": people}
        self.ids = iter(range(2, 10**9))
        self.users: list[str] = []
        self.changes: list[c.Change] = [c.ObjectPut(LAKE, 0, T.METALAKE, "m")]
        self.catalogs = [self.put(LAKE, T.CATALOG, f"c{n}") for n in range(CATALOGS)]
        self.schemas = [self.put(p, T.SCHEMA, f"s{n}") for p in self.catalogs for n in range(SCHEMAS_EACH)]
        self.tables = [self.put(self.schemas[n % len(self.schemas)], T.TABLE, f"t{n}") for n in range(tables)]
        self.tags = {name: self.put(LAKE, T.TAG, name) for name in TAGS}
        self.shapes = [_shape(n) for n in range(SHAPES)]
        self._people(people)
        self._tag()
        self._policies(policies)
        self.authority = Authority().applied(self.changes, 1)

    def put(self, parent: int, type: ObjectType, name: str) -> int:
        id = next(self.ids)
        self.changes.append(c.ObjectPut(id, parent, type, name))
        return id

    def shape(self, table: int) -> Shape:
        return self.shapes[table % SHAPES]

    def _people(self, count: int) -> None:
        groups = []
        for n in range(GROUPS):
            groups.append(next(self.ids))
            self.changes.append(c.PrincipalPut(groups[-1], LAKE, PrincipalKind.GROUP, f"g{n}"))
        for n in range(count):
            id, name = next(self.ids), f"u{n}"
            self.users.append(name)
            regions = tuple(self.r.sample(("EU", "US", "AP", "AF"), 2))
            attributes = {"region": self.r.choice(("EU", "US", "AP", "AF")), "regions": regions}
            self.changes.append(c.PrincipalPut(id, LAKE, PrincipalKind.USER, name, True, attributes))
            self.changes += [c.GroupMember(group, id, True) for group in self.r.sample(groups, 3)]

    def _tag(self) -> None:
        for place in (*self.catalogs, *self.schemas):
            self.changes.append(
                c.LabelSet(self.tags[self.r.choice(TAGS[2:])], place, 0, self.r.choice("ab"), True)
            )
        for table in self.tables:
            for field in self.r.sample(range(1, 11), 2):
                self.changes.append(c.LabelSet(self.tags[self.r.choice(TAGS[:2])], table, field, None, True))

    def _policies(self, count: int) -> None:
        # One keeper owns the lake and writes all policies: a mask yields only to one of somebody who may change it.
        keeper = next(self.ids)
        self.changes.append(c.PrincipalPut(keeper, LAKE, PrincipalKind.USER, "keeper"))
        self.changes.append(c.OwnerSet(LAKE, keeper))
        places = [LAKE] * 4 + self.catalogs * 2 + self.schemas + self.r.sample(self.tables, len(self.schemas))
        for n in range(count):
            on = self.r.choice(places) if n >= 20 else LAKE
            id = self.put(LAKE, T.POLICY, f"p{n}")
            document = msgspec.json.encode(self._document(n), order="sorted").decode()
            self.changes += [
                c.PolicySet(id, document, authors=("keeper",)),
                c.OwnerSet(id, keeper),
                c.LabelSet(id, on, 0, None, True),
            ]

    def _document(self, n: int) -> dict[str, Any]:
        r = self.r
        said: dict[str, Any] = {
            "to": ["everyone"] if r.random() < 0.2 else [f"group:g{r.randrange(GROUPS)}" for _ in range(5)]
        }
        if r.random() < 0.4:
            said["except"] = [f"group:g{r.randrange(GROUPS)}"]
        if r.random() < 0.4:
            said["when"] = f"has_tag('{r.choice(TAGS[2:])}', '{r.choice('ab')}')"
        kind = r.choice(("rows", "mask", "mask", "hide"))
        tag = r.choice(TAGS[:2])
        said["columns"] = {"x": f"has_tag('{tag}')"}
        if kind == "rows":
            said["rows"] = r.choice(ROWS).format("x")
        elif kind == "mask":
            said["mask"] = {"x": r.choice(MASKS).format("x")}
            said["priority"] = n
        else:
            said["hide"] = ["x"]
        return said


def _shape(n: int) -> Shape:
    string = parse_simple_type("string")
    texts = [Field(id, f"c{id}", string) for id in range(1, 11)]
    numbers = [Field(20 + id, f"n{n}_{id}", parse_simple_type("long")) for id in range(8)]
    more = [Field(40, "amount", parse_simple_type("long")), Field(41, "day", parse_simple_type("date"))]
    return Shape.of(Schema((*texts, *numbers, *more)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.lens", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a lake of a tenth, for a quick look")
    small = parser.parse_args().small
    lake = Lake(50, 1_000, 1_000) if small else Lake(500, 10_000, 10_000)
    found = _measure(lake, 2_000 if small else 20_000)
    report = {
        "sizes": lake.sizes,
        "machine": {"python": platform.python_version(), "processor": platform.machine()},
        "goals": GOALS,
        "reached": {name: found[name] <= goal for name, goal in GOALS.items()},
        "measured": found,
    }
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "lens.json").write_text(json.dumps(report, indent=2) + "\n")
    _show(report)


def _measure(lake: Lake, questions: int) -> dict[str, float]:
    authority = lake.authority
    asked = [(lake.r.choice(lake.users), lake.r.choice(lake.tables)) for _ in range(questions)]
    for shape in lake.shapes:
        # The columns of a table are known before anyone asks: they come with its metadata.
        assert shape.key
    gc.collect()
    gc.freeze()
    cold, verdicts = _times(lake, asked)
    firsts: dict[int, int] = {}
    for number, (_, table) in enumerate(asked):
        firsts.setdefault(table, number)
    first = [cold[number] for number in firsts.values()]
    known = [took for number, took in enumerate(cold) if firsts[asked[number][1]] != number]
    warm, again = _times(lake, asked)
    if [v.lens for v in verdicts] != [v.lens for v in again]:
        raise SystemExit("a warm lens is not the cold one")
    anew = Authority().applied(lake.changes, 1)
    for user, table in asked[:200]:
        node, shape = anew.objects[table], lake.shape(table)
        unshared = fresh(anew, anew.caller(Identity(user), LAKE), node, shape, NOW)
        cached = lens(authority, authority.caller(Identity(user), LAKE), authority.objects[table], shape, NOW)
        if unshared != cached:
            raise SystemExit("a cached lens is not the fresh one")
    clauses = [
        len(rules_of(authority, authority.objects[t], lake.shape(t)).clauses) for _, t in asked[:2_000]
    ]
    restricted = [v.lens for v in verdicts if v.lens is not None and not v.lens.whole]
    return {
        "cold_median_us": statistics.median(first),
        "cold_p99_us": statistics.quantiles(first, n=100)[98],
        "new_person_median_us": statistics.median(known),
        "warm_median_us": statistics.median(warm),
        "warm_p99_us": statistics.quantiles(warm, n=100)[98],
        "policies_on_a_table_median": statistics.median(clauses),
        "asked": len(asked),
        "denied": sum(v.lens is None for v in verdicts),
        "whole": sum(v.lens is not None and v.lens.whole for v in verdicts),
        "restricted": len(restricted),
        "distinct_lenses": len({one.id for one in restricted}),
        "distinct_lenses_and_tables": len(
            {(v.lens.id, t) for v, (_, t) in zip(verdicts, asked, strict=True) if v.lens}
        ),
    }


def _times(lake: Lake, asked: list[tuple[str, int]]) -> tuple[list[float], list[LensVerdict]]:
    """Microseconds of each question, who the caller is included, and its answer."""
    authority, now = lake.authority, time.perf_counter_ns
    times, verdicts = [], []
    for user, table in asked:
        identity, shape = Identity(user), lake.shape(table)
        started = now()
        node = authority.objects[table]
        verdict = lens(authority, authority.caller(identity, LAKE), node, shape, NOW)
        times.append((now() - started) / 1e3)
        verdicts.append(verdict)
    return times, verdicts


def _show(report: dict[str, Any]) -> None:
    sizes = ", ".join(f"{value:,} {name}" for name, value in report["sizes"].items())
    table = Table("measure", "found", "goal", "reached", title=f"Lenses: {sizes}")
    for name, value in report["measured"].items():
        goal = GOALS.get(name)
        reached = "" if goal is None else "yes" if report["reached"][name] else "NO"
        table.add_row(name, f"{value:,.2f}", "" if goal is None else f"{goal:g}", reached)
    Console().print(table)


if __name__ == "__main__":
    main()
