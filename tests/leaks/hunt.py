"""The hunting ground: a real server with its own worker, people with tokens, and a table with policies for each seed."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio.from_thread
import httpx

from headgate.decide.policies import mask_keys
from headgate.doors.authentication import Authentication, SimpleScheme
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.doors.openapi import with_document
from headgate.doors.server import Server
from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward import Steward
from headgate.store import Store, keys
from tests.leaks.canaries import Aviary, Forbidden, leaves
from tests.leaks.clients import spark_catalog
from tests.leaks.hostile import Ask
from tests.leaks.policies import KEY, TAG, Author
from tests.leaks.tables import Table, Writer, random_table
from tests.leaks.truth import Person, Policy, Row, Seen, names, seen
from tests.real.server import RunningServer, headgate_here

LAKE: Final = "/api/metalakes/lake"
READ: Final = ("use_catalog", "use_schema", "select_table")
PARTITIONINGS: Final[tuple[list[str], ...]] = (
    ["group"],
    ["group", "bucket of id"],
    ["day of born"],
    ["truncated group"],
    [],
)


@dataclass
class Case:
    """One table and all that is known about it."""

    table: Table
    author: Author
    policies: list[Policy] = field(default_factory=list)

    def seen_by(self, person: Person) -> Seen | None:
        return seen(self.table.columns, self.policies, person)

    def rows_for(self, person: Person, snapshot: int | None = None) -> list[Row]:
        """The truth."""
        view = self.seen_by(person)
        assert view is not None
        return view.rows(self.raw(snapshot))

    def raw(self, snapshot: int | None = None) -> Sequence[Row]:
        return next(s.rows for s in reversed(self.table.snapshots) if snapshot in (None, s.id))

    def forbidden_for(self, person: Person) -> Forbidden:
        """All that ever was in the table and that the person sees in no snapshot."""
        view = self.seen_by(person)
        if view is None:
            return Forbidden.of(self.table.ever, ())
        shown = set(leaves([view.rows(rows) for rows in (s.rows for s in self.table.snapshots)])) | set(
            names(view.columns)
        )
        # A partition keeps the name that its column once had.
        shown |= {name for column in view.columns for name in self.table.former.get(column.key, ())}
        return Forbidden.of(self.table.ever, shown | set(person.attributes.values()))


class Hunt:
    """The server with its people. Everything comes out of `seed`: LEAK_SEED brings a hunt back."""

    def __init__(self, server: RunningServer, home: Path, spark: Any, seed: int) -> None:
        self.server = server
        self.home = home
        self.spark = spark
        self.seed = seed
        self.birds = Aviary(random.Random(f"birds-{seed}"))
        self.groups = [self.birds.word() for _ in range(3)]
        self.people = [
            Person("ann", frozenset({"analysts"}), {"region": self.groups[0]}),
            Person("bob", frozenset({"analysts", "auditors"}), {"region": self.groups[1]}),
            Person("cyd", frozenset({"auditors"}), {"region": self.groups[2]}),
        ]
        self.uri = f"{server.url}/iceberg"
        self.tokens = {name: self._token(name) for name in ("admin", *(p.name for p in self.people))}
        self._settle()

    # -- set-up -------------------------------------------------------------------------------------------------

    def _token(self, user: str) -> str:
        return headgate_here("token", "create", "--home", str(self.home), "--user", user).stdout.strip()

    def admin(self, method: str, path: str, body: Any = None) -> Any:
        return self.server.must(self.tokens["admin"], method, path, body)

    def ask_as(self, person: Person) -> Ask:
        return lambda method, path, body=None, **more: self.server.ask(
            self.tokens[person.name], method, path, body, **more
        )

    def _settle(self) -> None:
        self.admin("POST", "/api/metalakes", {"name": "lake"})
        catalog = {"name": "cat", "type": "relational", "provider": "lakehouse-iceberg"}
        self.admin("POST", f"{LAKE}/catalogs", catalog)
        reads = [{"name": name, "condition": "allow"} for name in READ]
        securable = {"fullName": "cat", "type": "catalog", "privileges": reads}
        self.admin("POST", f"{LAKE}/roles", {"name": "readers", "securableObjects": [securable]})
        for group in ("analysts", "auditors"):
            self.admin("POST", f"{LAKE}/groups", {"name": group})
        for person in self.people:
            self.admin("POST", f"{LAKE}/users", {"name": person.name})
            self.admin("PUT", f"{LAKE}/permissions/users/{person.name}/grant", {"roleNames": ["readers"]})
            self.admin("PUT", f"{LAKE}/users/{person.name}/attributes", dict(person.attributes))
        for group in ("analysts", "auditors"):
            members = [p.name for p in self.people if group in p.groups]
            self.admin("PUT", f"{LAKE}/groups/{group}/members", {"users": members, "groups": []})
        self.admin("POST", f"{LAKE}/tags", {"name": TAG})

    def _mask_key(self, table: Table) -> bytes:
        """The key that the server's tokens of a table are made with, out of its store: the truth needs it, nobody else gets it."""
        with self.inside() as steward:
            authority = steward.kernel.authority()
            node = authority.find(ObjectRef.parse("lake", ObjectType.TABLE, f"cat.{table.name}"))
            assert node is not None
            (pool,) = mask_keys.pools(authority, node, [KEY]).values()
            return keys.key(steward.kernel.store, keys.Use.PSEUDONYMS, node.metalake, pool, KEY)

    @contextmanager
    def inside(self) -> Iterator[Steward]:
        """A steward in this process over the server's store and warehouse, where its parts can be broken."""
        store = Store(f"sqlite:///{self.home}/headgate.db")
        warehouse = str(self.home / "warehouse")
        steward = Steward(store, service_admins=frozenset({"admin"}), warehouse=warehouse)
        try:
            yield steward
        finally:
            steward.close()
            store.close()

    @contextmanager
    def another(self) -> Iterator[Callable[[Person], Ask]]:
        """A second server on the same store, in this process; answers how to ask it as somebody."""
        with self.inside() as steward, anyio.from_thread.start_blocking_portal() as portal:
            doors = with_document([GravitinoDoor(), IcebergDoor(), HeadgateDoor()])
            app = Server(steward, Authentication([SimpleScheme()]), doors)
            transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 1))
            client = httpx.AsyncClient(transport=transport, base_url="http://headgate")

            def ask_as(person: Person) -> Ask:
                def ask(method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
                    auth = (person.name, "x")
                    return portal.call(lambda: client.request(method, path, json=body, auth=auth, **more))

                return ask

            yield ask_as
            portal.call(client.aclose)

    # -- tables and policies ------------------------------------------------------------------------------------

    def make(self, seed: int) -> Case:
        """A random table with a random history, tags and policies."""
        rng = random.Random(f"table-{self.seed}-{seed}")
        schema, version = f"s{seed}", 2 + seed % 2
        self.admin("POST", f"{LAKE}/catalogs/cat/schemas", {"name": schema})
        table = random_table(rng, self.birds, f"{schema}.t{seed}", version)
        table.groups = self.groups
        table.partitioned = PARTITIONINGS[seed % len(PARTITIONINGS)]
        catalog = spark_catalog(
            self.spark, f"as_owner_{self.server.process.pid}", self.uri, self.tokens["admin"], None
        )
        writer = Writer(self.spark, catalog, table, rng, self.birds, lambda: self.snapshot(table))
        writer.create()
        writer.append(24)
        steps: list[Callable[[], None]] = [
            lambda: writer.delete_some(4),
            lambda: writer.update_some(3),
            writer.overwrite_group,
        ]
        rng.shuffle(steps)
        steps[0]()
        writer.evolve()
        if seed % 3 == 1:
            writer.drop(rng.choice([c.key for c in table.columns if c.key not in _NEEDED]))
        if seed % 3 == 2:
            writer.repartition()
        writer.append(16)
        steps[1]()
        self._tag(table, rng)
        case = Case(table, Author(rng, table, self.people, self._mask_key(table)))
        self.govern(case, case.author.some())
        return case

    def snapshot(self, table: Table) -> int:
        schema, _, name = table.name.partition(".")
        loaded = self.admin("GET", f"/iceberg/v1/lake.cat/namespaces/{schema}/tables/{name}")
        return int(loaded["metadata"]["current-snapshot-id"])

    def ready(self, case: Case, person: Person) -> httpx.Response:
        """Wait until the worker has made what a person sees of a table; answers what they are told of it."""
        schema, _, name = case.table.name.partition(".")
        ends = time.monotonic() + 600
        while True:
            told = self.ask_as(person)("GET", f"/iceberg/v1/lake.cat/namespaces/{schema}/tables/{name}")
            if told.status_code != 503 or time.monotonic() > ends:
                return told

    def govern(self, case: Case, policies: Sequence[Policy]) -> None:
        """Put these policies in the place of those that the table had."""
        for old in case.policies:
            name = old.text.splitlines()[0].removeprefix("policy: ")
            self.admin("DELETE", f"{LAKE}/policies/{name}")
        files = [{"file": f"{n}.yaml", "text": policy.text} for n, policy in enumerate(policies)]
        if files:
            self.admin("POST", "/api/headgate/policies/apply?metalake=lake", {"files": files, "whole": False})
        case.policies = list(policies)

    def _tag(self, table: Table, rng: random.Random) -> None:
        for column in table.columns:
            if column.type == "string" and column.key != "group":
                table.tags[column.key] = rng.choice(["a", "b"])
                tag = {"tagsToAdd": [{"name": TAG, "value": table.tags[column.key]}]}
                self.admin("POST", f"{LAKE}/objects/column/cat.{table.name}.{column.name}/tags", tag)


_NEEDED: Final = ("id", "group", "text", "amount", "born", "added")
