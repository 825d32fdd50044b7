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
from headgate.decide import Authority, Node, Op, allowed, visible
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.model.privileges import Privilege, PrivilegeBits
from headgate.steward.kernel import Kernel
from headgate.store import Store, access

FULL = Sizes(users=10_000, roles=2_000, tables=100_000, grants=1_000_000)
SMALL = Sizes(users=500, roles=100, tables=12_000, grants=20_000)
PEERS = Sizes(users=100, roles=20, tables=500, grants=200, listed=100, groups=5, roles_per_user=3, owned=0)

ROUNDS = 5
"""Each is measured so often, and the best counts."""

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
        many, few = Lake(sizes), Lake(sizes.growing_to(sizes.grants // 100))
        kernel, found = _compiled(Path(folder, "many.db"), many)
        other, _ = _compiled(Path(folder, "few.db"), few)
        # What lives as long as the process is not looked at again and again: servers do the same after starting.
        gc.collect()
        gc.freeze()
        found |= _checks(many, kernel.authority(), few, other.authority())
        found |= _lists(many, kernel.authority())
        found |= _grant_visible(many, kernel)
        found["memory_peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        kernel.store.close()
        other.store.close()
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


def _compiled(path: Path, lake: Lake) -> tuple[Kernel, dict[str, float]]:
    url = f"sqlite:///{path}"
    filling = multiprocessing.get_context("spawn").Process(target=fill, args=(url, lake))
    filling.start()
    filling.join()
    if filling.exitcode:
        raise SystemExit("the lake could not be filled")
    kernel = Kernel(Store(url))
    before = _resident_mb()
    started = time.perf_counter()
    kernel.authority()
    compiled = time.perf_counter() - started
    gc.collect()
    return kernel, {"compile_s": compiled, "memory_mb": _resident_mb() - before}


Asked = tuple[Identity, Node, ObjectRef]


def _asked(lake: Lake, authority: Authority) -> list[Asked]:
    return [
        (
            Identity(user),
            authority.objects[lake.table(table)],
            ObjectRef("lake", ObjectType.TABLE, lake.path(table)),
        )
        for user, table in lake.questions(20_000)
    ]


def _asking(authority: Authority) -> tuple[Callable[..., bool], Callable[..., bool]]:
    """One question by the object itself, and one by its name, as requests bring it."""

    def by_node(identity: Identity, node: Node, ref: ObjectRef) -> bool:
        return allowed(authority, authority.caller(identity, METALAKE), Op.LOAD_TABLE, node)

    def by_name(identity: Identity, node: Node, ref: ObjectRef) -> bool:
        found = authority.find(ref)
        assert found is not None
        return allowed(authority, authority.caller(identity, found.metalake), Op.LOAD_TABLE, found)

    return by_node, by_name


def _checks(many: Lake, grown: Authority, few: Lake, small: Authority) -> dict[str, float]:
    """Rounds on both take turns and the best of each counts, so that what else the machine does tells on neither."""
    by_node, by_name = _asking(grown)
    asked = _asked(many, grown)
    small_by_node, small_by_name = _asking(small)
    small_asked = _asked(few, small)
    cold = _times(by_node, asked)
    answers = [by_node(*question) for question in asked]
    assert answers == [by_name(*question) for question in asked]
    _times(small_by_node, small_asked)
    rounds = [
        (
            _times(by_node, asked),
            _times(small_by_node, small_asked),
            _times(by_name, asked),
            _times(small_by_name, small_asked),
        )
        for _ in range(ROUNDS)
    ]
    node, small_node, name, small_name = (
        min((r[n] for r in rounds), key=statistics.median) for n in range(4)
    )
    return {
        "check_median_us": statistics.median(name),
        "check_p99_us": _p99(name),
        "check_by_node_median_us": statistics.median(node),
        "check_by_node_p99_us": _p99(node),
        "check_first_of_a_user_p99_us": _p99(cold),
        "growth_ratio": statistics.median(name) / statistics.median(small_name),
        "growth_ratio_by_node": statistics.median(node) / statistics.median(small_node),
        "allowed_share": sum(answers) / len(answers),
    }


def _lists(lake: Lake, authority: Authority) -> dict[str, float]:
    schema = lake.schema(0)
    listed = shown = 0
    times = []
    for user in range(0, 200, 10):
        caller = authority.caller(Identity(f"u{user}"), METALAKE)
        best = float("inf")
        for _ in range(ROUNDS):
            started = time.perf_counter()
            visibles = list(
                visible(authority, caller, Op.LIST_TABLES, authority.children_of(schema, ObjectType.TABLE))
            )
            best = min(best, time.perf_counter() - started)
        times.append(best * 1e3)
        listed, shown = len(authority.children[schema, ObjectType.TABLE]), shown + len(visibles)
    return {"list_10000_ms": statistics.median(times), "list_of": listed, "list_shown": shown / len(times)}


def _grant_visible(lake: Lake, kernel: Kernel) -> dict[str, float]:
    """From the beginning of the write to an authority that has it, for grants that turn a no into a yes."""
    times, seen = [], 0
    nobody = Identity("u1")
    for number in range(30):
        table = kernel.authority().objects[lake.table(lake.sizes.tables - 1 - number)]
        caller = kernel.authority().caller(nobody, METALAKE)
        role = min(caller.roles)
        started = time.perf_counter()
        with kernel.store.write("bench", "grant_privilege") as tx:
            access.set_grants(tx, role, table.id, PrivilegeBits(Privilege.MANAGE_GRANTS.bit, 0))
        after = kernel.authority()
        may = allowed(after, after.caller(nobody, METALAKE), Op.GRANT_PRIVILEGE, after.objects[table.id])
        times.append((time.perf_counter() - started) * 1e3)
        assert after.objects[table.id].grants[role].allow & Privilege.MANAGE_GRANTS.bit
        seen += may
    assert seen, "a grant that nobody can use shows nothing"
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
