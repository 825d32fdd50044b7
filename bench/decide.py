"""How fast the decision point is, and how it stays so: ``python -m bench.decide [--small]``.

Prints a table and writes bench/results/decide.json. Everything is measured on a real SQLite store, filled by another
process so that the memory told is that of the compiled state alone.
"""

import argparse
import gc
import json
import multiprocessing
import platform
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.lake import METALAKE, Lake, Sizes, fill
from headgate.decide import Authority, Op, allowed, visible
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.model.privileges import Masks, Privilege
from headgate.steward.kernel import Kernel
from headgate.store import Store, access

FULL = Sizes(users=10_000, roles=2_000, tables=100_000, grants=1_000_000)
SMALL = Sizes(users=500, roles=100, tables=12_000, grants=20_000)
PEERS = Sizes(users=100, roles=20, tables=500, grants=200, listed=100, groups=5, roles_per_user=3, owned=0)

GOALS: dict[str, float] = {
    "check_median_us": 10,
    "growth_ratio": 1.3,
    "list_10000_ms": 20,
    "grant_visible_ms": 50,
    "memory_mb": 1_500,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.decide", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a lake of a fiftieth, for a quick look")
    small = parser.parse_args().small
    sizes = SMALL if small else FULL
    with tempfile.TemporaryDirectory() as folder:
        found = _measured(Path(folder, "many.db"), sizes)
        few = _measured(Path(folder, "few.db"), sizes.growing_to(sizes.grants // 100), growth_only=True)
    found["growth_ratio"] = found["check_by_node_median_us"] / few["check_by_node_median_us"]
    found["growth_ratio_by_name"] = found["check_median_us"] / few["check_median_us"]
    found["check_median_us_with_a_hundredth_of_the_grants"] = few["check_median_us"]
    peers = [
        _beside_peers(PEERS.growing_to(PEERS.grants * times)) for times in ((1, 5) if small else (1, 10))
    ]
    report = {
        "sizes": {name: getattr(sizes, name) for name in ("users", "roles", "tables", "grants")},
        "machine": {"python": platform.python_version(), "processor": platform.machine()},
        "goals": GOALS,
        "reached": {name: found[name] <= goal for name, goal in GOALS.items()},
        "measured": found,
        "peers": peers,
    }
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "decide.json").write_text(json.dumps(report, indent=2) + "\n")
    _show(report)


def _measured(path: Path, sizes: Sizes, *, growth_only: bool = False) -> dict[str, float]:
    lake = Lake(sizes)
    url = f"sqlite:///{path}"
    filling = multiprocessing.get_context("spawn").Process(target=fill, args=(url, lake))
    filling.start()
    filling.join()
    if filling.exitcode:
        raise SystemExit("the lake could not be filled")
    store = Store(url)
    kernel = Kernel(store)
    before = _resident_mb()
    started = time.perf_counter()
    authority = kernel.authority()
    compiled = time.perf_counter() - started
    gc.collect()
    memory = _resident_mb() - before
    # What lives as long as the process is not looked at again and again: servers do the same after starting.
    gc.freeze()
    found = {"compile_s": compiled, "memory_mb": memory, **_checks(lake, authority)}
    if not growth_only:
        found |= _lists(lake, authority) | _grant_visible(lake, kernel)
        found["memory_peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    store.close()
    gc.unfreeze()
    return found


def _checks(lake: Lake, authority: Authority) -> dict[str, float]:
    questions = lake.questions(20_000)
    asked = [
        (
            Identity(user),
            authority.objects[lake.table(table)],
            ObjectRef("lake", ObjectType.TABLE, lake.path(table)),
        )
        for user, table in questions
    ]

    def by_node(identity: Identity, node: Any, ref: ObjectRef) -> bool:
        return allowed(authority, authority.caller(identity, METALAKE), Op.LOAD_TABLE, node)

    def by_name(identity: Identity, node: Any, ref: ObjectRef) -> bool:
        way = authority.find(ref)
        assert way is not None
        return allowed(authority, authority.caller(identity, way.metalake), Op.LOAD_TABLE, way)

    cold = _times(by_node, asked)
    warm, answers = _times(by_node, asked), [by_node(*q) for q in asked]
    named = _times(by_name, asked)
    assert answers == [by_name(*q) for q in asked]
    return {
        "check_median_us": statistics.median(named),
        "check_p99_us": _p99(named),
        "check_by_node_median_us": statistics.median(warm),
        "check_by_node_p99_us": _p99(warm),
        "check_first_of_a_user_p99_us": _p99(cold),
        "allowed_share": sum(answers) / len(answers),
    }


def _lists(lake: Lake, authority: Authority) -> dict[str, float]:
    schema = lake.schema(0)
    listed = shown = 0
    times = []
    for user in range(0, 200, 10):
        caller = authority.caller(Identity(f"u{user}"), METALAKE)
        started = time.perf_counter()
        entries = list(authority.children_of(schema, ObjectType.TABLE))
        visibles = list(visible(authority, caller, Op.LIST_TABLES, entries))
        times.append((time.perf_counter() - started) * 1e3)
        listed, shown = len(entries), shown + len(visibles)
    return {"list_10000_ms": statistics.median(times), "list_of": listed, "list_shown": shown / len(times)}


def _grant_visible(lake: Lake, kernel: Kernel) -> dict[str, float]:
    """From the beginning of the write to an authority that has it, for grants that turn a no into a yes."""
    times = []
    nobody = Identity("u1")
    for number in range(30):
        table = kernel.authority().objects[lake.table(lake.sizes.tables - 1 - number)]
        caller = kernel.authority().caller(nobody, METALAKE)
        role = min(caller.roles)
        started = time.perf_counter()
        with kernel.store.write("bench", "grant_privilege") as tx:
            access.set_grants(tx, role, table.id, Masks(Privilege.MANAGE_GRANTS.bit, 0))
        after = kernel.authority()
        may = allowed(after, after.caller(nobody, METALAKE), Op.GRANT_PRIVILEGE, table)
        times.append((time.perf_counter() - started) * 1e3)
        assert after.roles[role][table.id].allow & Privilege.MANAGE_GRANTS.bit
        assert may or not after.roles[role]
    return {"grant_visible_ms": statistics.median(times), "grant_visible_worst_ms": max(times)}


def _beside_peers(sizes: Sizes) -> dict[str, Any]:
    from bench import peers

    lake = Lake(sizes)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/peers.db"
        fill(url, lake)
        store = Store(url)
        authority = Kernel(store).authority()
        store.close()

    def headgate(user: str, table: int) -> bool:
        node = authority.objects[lake.table(table)]
        return allowed(authority, authority.caller(Identity(user), METALAKE), Op.LOAD_TABLE, node)

    questions = lake.questions(60)
    told: dict[str, Any] = {"grants": sizes.grants, "tables": sizes.tables, "questions": len(questions)}
    answers: list[list[bool]] = []
    for name, ask in (
        ("headgate", headgate),
        ("cedarpy", peers.cedar(lake)),
        ("casbin", peers.casbin_(lake)),
    ):
        answers.append([ask(*q) for q in questions])
        told[f"{name}_median_us"] = statistics.median(_times(ask, questions))
    if not answers[0] == answers[1] == answers[2]:
        raise SystemExit("the three do not give equal answers")
    told["allowed"] = sum(answers[0])
    return told


def _times(ask: Callable[..., bool], questions: list[Any]) -> list[float]:
    """Microseconds of each question."""
    now = time.perf_counter_ns
    times = []
    for question in questions:
        started = now()
        ask(*question)
        times.append((now() - started) / 1e3)
    return times


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


def _resident_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise SystemExit("this system does not tell the memory of a process")


def _show(report: dict[str, Any]) -> None:
    sizes = ", ".join(f"{value:,} {name}" for name, value in report["sizes"].items())
    table = Table("measure", "found", "goal", "reached", title=f"Decision point: {sizes}")
    for name, value in report["measured"].items():
        goal = GOALS.get(name)
        reached = "" if goal is None else "yes" if report["reached"][name] else "NO"
        table.add_row(name, f"{value:,.2f}", "" if goal is None else f"{goal:g}", reached)
    beside = Table(
        "grants", "tables", "questions", "allowed", "headgate µs", "cedarpy µs", "casbin µs",
        title="Same questions, equal answers (few grants: the others need milliseconds for more)",
    )  # fmt: skip
    for row in report["peers"]:
        beside.add_row(
            f"{row['grants']:,}", f"{row['tables']:,}", str(row["questions"]), str(row["allowed"]),
            *(f"{row[f'{name}_median_us']:,.1f}" for name in ("headgate", "cedarpy", "casbin")),
        )  # fmt: skip
    console = Console()
    console.print(table)
    console.print(beside)


if __name__ == "__main__":
    main()
