"""The access matrix of many principals × many objects on Spark, as ``bench.sync`` measures it: a world, and a run over it."""

import os
import random
import resource
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.pipelines.access_matrix import AccessMatrix
from headgate.pipelines.session import SparkSettings, open_session
from headgate.sync.access.actions import CANONICAL as WORDS
from headgate.sync.access.capabilities import CANONICAL
from headgate.sync.access.relations import Relations
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    OwnerFact,
    Present,
    Principal,
    Securable,
)

TABLES_IN_A_SCHEMA = 100
SCHEMAS_IN_A_CATALOG = 100
SEMANTICS = msgspec.structs.replace(CANONICAL, natives=WORDS)


def company(users: int, objects: int) -> Facts:
    """A lake of a company: people in three groups each, two roles to a group, each role with whole schemas and single tables.

    One role in twenty reads a whole catalog, one in ten is denied something, and every schema and every tenth table is owned.
    """
    chance = random.Random(7)
    schemas = max(1, objects // TABLES_IN_A_SCHEMA)
    containers = [
        Securable(ObjectType.SCHEMA, (f"c{n // SCHEMAS_IN_A_CATALOG}", f"s{n}")) for n in range(schemas)
    ]
    tables = [
        Securable(ObjectType.TABLE, (*containers[n % schemas].path, f"t{n}"))
        for n in range(objects - schemas)
    ]
    people = [Principal(Kind.USER, f"u{n}") for n in range(users)]
    groups = [Principal(Kind.GROUP, f"g{n}") for n in range(max(3, users // 10))]
    roles = [Principal(Kind.ROLE, f"r{n}") for n in range(max(6, users // 20))]
    facts: set[Fact] = {Present(object) for object in (*containers, *tables)}
    facts.update(Known(principal) for principal in (*people, *groups, *roles))
    for person in people:
        facts.update(MemberFact(group, person) for group in chance.sample(groups, 3))
    for group in groups:
        facts.update(MemberFact(role, group) for role in chance.sample(roles, 2))
    for n, role in enumerate(roles):
        catalog = Securable(ObjectType.CATALOG, chance.choice(containers).path[:1])
        mine = [schema for schema in containers if schema.path[:1] == catalog.path]
        facts |= {GrantFact(role, catalog, "USE_CATALOG"), GrantFact(role, catalog, "USE_SCHEMA")}
        facts.update(GrantFact(role, schema, "SELECT_TABLE") for schema in chance.choices(mine, k=5))
        facts.update(GrantFact(role, table, "MODIFY_TABLE") for table in chance.choices(tables, k=20))
        if n % 20 == 0:
            facts.add(GrantFact(role, catalog, "SELECT_TABLE"))
        if n % 10 == 0:
            facts.add(GrantFact(role, chance.choice(mine), "SELECT_TABLE", Condition.DENY))
    facts.update(OwnerFact(schema, chance.choice(people)) for schema in containers)
    facts.update(OwnerFact(table, chance.choice(people)) for table in tables[::10])
    return Facts(facts)


def drifted(facts: Facts) -> Facts:
    """The same after somebody took away one grant in a hundred and put fifty people into another group."""
    chance = random.Random(11)
    grants = sorted(facts.grants, key=str)
    users, groups = sorted(facts.users), sorted({m.of for m in facts.members if m.of.kind is Kind.GROUP})
    moved = {
        MemberFact(chance.choice(groups), user) for user in chance.sample(users, min(50, len(users) // 20))
    }
    return facts.changed(add=moved, remove=chance.sample(grants, len(grants) // 100))


def measured(users: int, objects: int, master: str, memory: str) -> dict[str, Any]:
    """Two such lakes on Spark: everything that everybody may do in both, and who gains and loses what."""
    target = company(users, objects)
    source = drifted(target)
    spark = open_session(SparkSettings(master=master, driver_memory=memory))
    # The first work of a session is slower for reasons that are not ours.
    spark.range(1000).selectExpr("sum(id)").collect()
    java: Any = spark
    process = Path(f"/proc/{java._jvm.java.lang.ProcessHandle.current().pid()}")
    seconds: dict[str, float] = {}
    start, worked = time.perf_counter(), _worked(process)

    def passed(name: str) -> None:
        nonlocal start, worked
        seconds[f"{name}_s"] = round(time.perf_counter() - start, 1)
        seconds[f"{name}_cpu_s"] = round(_worked(process) - worked, 1)
        print(f"{users:,} x {objects:,}: {name} {seconds[f'{name}_s']} s", file=sys.stderr)
        start, worked = time.perf_counter(), _worked(process)

    relations = Relations((source, SEMANTICS), (target, SEMANTICS))
    passed("tables")
    with AccessMatrix(spark, relations.tables) as matrix:
        allowed = matrix.count(0), matrix.count(1)
        passed("both_matrices")
        gains, loses = matrix.count_beyond(0, 1), matrix.count_beyond(1, 0)
        passed("difference")
        listed = len(matrix.beyond(0, 1).collect()) + len(matrix.beyond(1, 0).collect())
        passed("listed")
        assert listed == gains + loses
        regions = matrix.allowed[0].count() + matrix.allowed[1].count()
    lines = (process / "status").read_text().splitlines()
    spark_mb = next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))
    spark.stop()
    return {
        "users": users,
        "objects": objects,
        "grants": len(target.grants),
        "allowed": allowed[0],
        "regions": regions,
        "gains": gains,
        "loses": loses,
        **seconds,
        "spark_mb": spark_mb,
        "memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _worked(process: Path) -> float:
    """The processor time of Spark's process so far: on a busy machine it says more than the clock."""
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
