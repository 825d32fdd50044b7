"""A made-up lakehouse for measuring: its rows are a function of the sizes and a seed, and go straight into a store."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

from sqlalchemy import insert, update

from headgate.model.objects import ObjectType
from headgate.model.principals import PrincipalKind
from headgate.model.privileges import Privilege
from headgate.store import Store
from headgate.store import tables as t

METALAKE = 1
_BATCH = 50_000


@dataclass(frozen=True)
class Sizes:
    users: int
    roles: int
    tables: int
    grants: int
    listed: int = 10_000
    """Tables of the one schema that is listed."""
    roles_per_user: int = 4
    groups: int = 100
    owned: int = 20
    """One table in so many has an owner; 0 for none."""

    def growing_to(self, grants: int) -> "Sizes":
        return Sizes(
            self.users,
            self.roles,
            self.tables,
            grants,
            self.listed,
            self.roles_per_user,
            self.groups,
            self.owned,
        )


@dataclass(frozen=True)
class Lake:
    """Where everything is: ids by position, so that nothing needs to be looked up."""

    sizes: Sizes
    seed: int = 7

    @property
    def catalogs(self) -> int:
        return 10

    @property
    def schemas(self) -> int:
        return max(self.catalogs, self.sizes.tables // 500)

    def catalog(self, index: int) -> int:
        return 2 + index

    def schema(self, index: int) -> int:
        return 2 + self.catalogs + index

    def table(self, index: int) -> int:
        return 2 + self.catalogs + self.schemas + index

    def role(self, index: int) -> int:
        return 2 + self.catalogs + self.schemas + self.sizes.tables + index

    def user(self, index: int) -> int:
        return 1 + index

    def group(self, index: int) -> int:
        return 1 + self.sizes.users + index

    def catalog_of(self, schema: int) -> int:
        return schema % self.catalogs

    def schema_of(self, table: int) -> int:
        """The first tables all lie in schema 0, which is the one that is listed."""
        return 0 if table < self.sizes.listed else 1 + table % (self.schemas - 1)

    def path(self, table: int) -> tuple[str, str, str]:
        schema = self.schema_of(table)
        return (f"c{self.catalog_of(schema)}", f"s{schema}", f"t{table}")

    def objects(self) -> Iterator[tuple[int, int, ObjectType, str]]:
        yield METALAKE, 0, ObjectType.METALAKE, "lake"
        for n in range(self.catalogs):
            yield self.catalog(n), METALAKE, ObjectType.CATALOG, f"c{n}"
        for n in range(self.schemas):
            yield self.schema(n), self.catalog(self.catalog_of(n)), ObjectType.SCHEMA, f"s{n}"
        for n in range(self.sizes.tables):
            yield self.table(n), self.schema(self.schema_of(n)), ObjectType.TABLE, f"t{n}"
        for n in range(self.sizes.roles):
            yield self.role(n), METALAKE, ObjectType.ROLE, f"r{n}"

    def held(self) -> Iterator[tuple[int, int]]:
        """Role and principal. Users hold roles by themselves and by their groups, of which each holds one."""
        r = Random(self.seed)
        for user in range(self.sizes.users):
            for role in r.sample(range(self.sizes.roles), min(self.sizes.roles_per_user, self.sizes.roles)):
                yield self.role(role), self.user(user)
        for group in range(self.sizes.groups):
            yield self.role(group % self.sizes.roles), self.group(group)

    def members(self) -> Iterator[tuple[int, int]]:
        if not self.sizes.groups:
            return
        for user in range(self.sizes.users):
            for group in {user % self.sizes.groups, (user * 7 + 3) % self.sizes.groups}:
                yield self.group(group), self.user(user)

    def grants(self) -> Iterator[tuple[int, int, int, int]]:
        """Role, object, allow, deny: use of the ways, then tables by chance; one in twenty denies."""
        r = Random(self.seed + 1)
        each = self.sizes.grants // self.sizes.roles
        for role in range(self.sizes.roles):
            uses = Privilege.USE_CATALOG.bit | (Privilege.USE_SCHEMA.bit if role % 4 else 0)
            yield self.role(role), METALAKE, uses, 0
            if role % 4 == 0:
                for schema in {role % self.schemas, (role * 3 + 1) % self.schemas}:
                    yield self.role(role), self.schema(schema), Privilege.USE_SCHEMA.bit, 0
            reads, writes = Privilege.SELECT_TABLE.bit, Privilege.MODIFY_TABLE.bit
            for table in r.sample(range(self.sizes.tables), min(each, self.sizes.tables)):
                chance = r.random()
                if chance < 0.05:
                    yield self.role(role), self.table(table), 0, reads
                else:
                    yield self.role(role), self.table(table), reads if chance < 0.8 else writes, 0

    def owners(self) -> Iterator[tuple[int, int]]:
        if self.sizes.owned:
            for table in range(0, self.sizes.tables, self.sizes.owned):
                yield self.table(table), self.user((table * 31) % self.sizes.users)

    def questions(self, count: int) -> list[tuple[str, int]]:
        """User and table, by chance."""
        r = Random(self.seed + 2)
        return [(f"u{r.randrange(self.sizes.users)}", r.randrange(self.sizes.tables)) for _ in range(count)]


def fill(url: str, lake: Lake) -> None:
    """Write the lake into a new store, past the journal: nobody has read it yet."""
    store = Store(url)
    store.prepare()
    made = {"creator": "bench", "created_at": "2026-01-01T00:00:00.000Z"}
    empty = {"properties": b"{}", "body": b"{}", "in_use": True, "version": 1, **made}
    objects = (
        {
            "id": id,
            "parent": parent,
            "metalake": METALAKE if parent else 0,
            "type": type.value,
            "name": name,
            **empty,
        }
        for id, parent, type, name in lake.objects()
    )
    person = {"metalake": METALAKE, "enabled": True, "attributes": b"{}", **made}
    users = (
        {"id": lake.user(n), "kind": PrincipalKind.USER.value, "name": f"u{n}", **person}
        for n in range(lake.sizes.users)
    )
    groups = (
        {"id": lake.group(n), "kind": PrincipalKind.GROUP.value, "name": f"g{n}", **person}
        for n in range(lake.sizes.groups)
    )
    with store.append() as connection:
        for table, rows in (
            (t.objects, objects),
            (t.principals, users),
            (t.principals, groups),
            (t.group_members, ({"group": g, "member": m} for g, m in lake.members())),
            (t.role_holders, ({"role": r, "principal": p} for r, p in sorted(set(lake.held())))),
            (
                t.role_grants,
                ({"role": r, "object": o, "allow": a, "deny": d} for r, o, a, d in lake.grants()),
            ),
            (t.owners, ({"object": o, "principal": p} for o, p in lake.owners())),
        ):
            source: Iterator[dict[str, Any]] = iter(rows)
            while batch := list(islice(source, _BATCH)):
                connection.execute(insert(table), batch)
        connection.execute(update(t.state).values(revision=1))
    store.close()
