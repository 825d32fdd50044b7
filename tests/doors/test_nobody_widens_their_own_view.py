"""Whatever change somebody is allowed to make, through whichever door: they see no row, cell or column more by it.

Random worlds of policies, tags, groups, roles, owners and attributes; random people make random changes. What they see
is worked out on sample rows, for every purpose, engine and hour, and compared cell by cell. What somebody would see
without the policies that they may change themselves is no more.
"""

import datetime as dt
import itertools
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headgate.decide import Authority, Op, allowed
from headgate.decide.lens import fresh
from headgate.decide.shape import Shape
from headgate.decide.view import seen
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.model import changes as c
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import ActiveRoles, Identity
from headgate.steward import Steward
from headgate.store import Store
from tests.conftest import Api, in_process
from tests.doors import changing
from tests.doors.changing import ENTRIES, GROUPS, LAKE, POLICIES, PRIVILEGES, ROLES, TABLES, TAGS, USERS
from tests.doors.settled import done

SEEDS = range(8)
STEPS = 120
HOURS = (3, 15)
ROWS = (
    (1, "EU", "ann", "111"),
    (2, "US", "bob@example.org", "222"),
    (3, "AP", "x@y", "111"),
    (4, None, None, None),
    (5, "EU", "dan@example.org", "999-1"),
)
MAKERS = {route: maker for route, maker in ENTRIES.items() if not isinstance(maker, str)}
_OFTEN = ("polic", "tags/{type}", "/tags", "members", "grant", "owners", "attributes", "rename")
WEIGHTS = [3 if any(word in path for word in _OFTEN) else 1 for _, path in MAKERS]
Cells = dict[int, Any]
Sight = list[Cells | None] | None
"""What is seen of each sample row, by field id; None for a row that is not seen, or for a table that cannot be read."""


def test_every_route_that_changes_something_is_in_the_list() -> None:
    doors = (GravitinoDoor(), IcebergDoor(), HeadgateDoor())
    routes = {(r.method, r.path) for door in doors for r in door.routes if r.method not in ("GET", "HEAD")}
    assert routes == set(ENTRIES), "say how a new route is tried, or why it can touch no lens"


@pytest.mark.parametrize("seed", SEEDS)
def test_no_permitted_change_shows_its_actor_more(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    try:
        with in_process(world.steward) as api:
            world.fill(api)
            made = world.live(api)
    finally:
        world.close()
    assert made > 5, "a world in which nothing is allowed shows nothing"


def test_without_the_check_it_is_found(tmp_path: Path) -> None:
    def every_seed() -> None:
        for seed in SEEDS:
            (tmp_path / str(seed)).mkdir()
            world = World(tmp_path / str(seed), seed)
            world.steward.kernel.widening = lambda authority, identity, changes: None
            try:
                with in_process(world.steward) as api:
                    world.fill(api)
                    world.live(api)
            finally:
                world.close()

    with pytest.raises(AssertionError, match="sees more"):
        every_seed()


class World:
    def __init__(self, folder: Path, seed: int) -> None:
        self.r = Random(seed)
        self.store = Store(f"sqlite:///{folder}/store.db")
        self.store.prepare()
        self.steward = Steward(
            self.store, service_admins=frozenset({"admin"}), warehouse=str(folder / "warehouse")
        )

    def close(self) -> None:
        self.steward.close()
        self.store.close()

    def fill(self, api: Api) -> None:
        """A lake of the metalake's owner with random policies and people with random rights."""
        r = self.r
        done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
        catalog = {"name": "cat", "type": "relational", "provider": "lakehouse-iceberg"}
        done(api("admin", "POST", f"{LAKE}/catalogs", catalog))
        for schema in ("s", "free"):
            done(api("admin", "POST", f"{LAKE}/catalogs/cat/schemas", {"name": schema}))
        types = ("long", "string", "string", "string")
        columns = [{"name": n, "type": t} for n, t in zip(changing.COLUMNS, types, strict=True)]
        for full in TABLES:
            schema, _, name = full.partition(".")
            at = f"{LAKE}/catalogs/cat/schemas/{schema}/tables"
            done(api("admin", "POST", at, {"name": name, "columns": columns}))
        for group in GROUPS:
            done(api("admin", "POST", f"{LAKE}/groups", {"name": group}))
        for tag in TAGS:
            done(api("admin", "POST", f"{LAKE}/tags", {"name": tag}))
        for role in ROLES:
            done(api("admin", "POST", f"{LAKE}/roles", {"name": role, "securableObjects": []}))
        for user in USERS:
            done(api("admin", "POST", f"{LAKE}/users", {"name": user}))
            done(api("admin", "PUT", f"{LAKE}/users/{user}/attributes", {"region": r.choice(("EU", "US"))}))
            privileges = [{"name": p, "condition": "allow"} for p in r.sample(PRIVILEGES, 11)]
            held = {"type": "metalake", "fullName": "lake", "privileges": privileges}
            done(api("admin", "POST", f"{LAKE}/roles", {"name": f"of-{user}", "securableObjects": [held]}))
            done(api("admin", "PUT", f"{LAKE}/permissions/users/{user}/grant", {"roleNames": [f"of-{user}"]}))
        # What does not fit together is refused; a world takes what it gets.
        for _ in range(8):
            api("admin", "POST", changing.tagged(r), {"tagsToAdd": [r.choice(TAGS)]})
            api("admin", "PUT", f"{LAKE}/groups/{r.choice(GROUPS)}/members", {"users": changing.some(r, USERS), "groups": []})  # fmt: skip
        for name in POLICIES:
            for _ in range(4):
                body = {
                    "name": name,
                    "policyType": "headgate",
                    "enabled": True,
                    "content": changing.content(r),
                }
                if api("admin", "POST", f"{LAKE}/policies", body).status_code == 200:
                    break
        for _ in range(16):
            path = changing.owned(r)
            if not path.endswith("metalake/lake"):
                api("admin", "PUT", path, changing.owner(r))

    def live(self, api: Api) -> int:
        """Random changes of random people, each compared; how many were allowed."""
        made = 0
        for _ in range(STEPS):
            user = self.r.choice(USERS)
            (method, _), maker = self.r.choices(list(MAKERS.items()), WEIGHTS)[0]
            path, body = maker(self.r)
            before = self.steward.kernel.authority()
            shapes = self.shapes(before)
            answer = api(
                user, method, path, body, headers={"Headgate-Purpose": self.r.choice(("work", "zzz"))}
            )
            assert answer.status_code < 500, (method, path, body, answer.text)
            after = self.steward.kernel.authority()
            if answer.status_code >= 400:
                assert after.revision == before.revision, "a refusal changes nothing"
                continue
            made += after.revision > before.revision
            self.compare(before, after, shapes, user, f"{method} {path} {body}")
        return made

    def shapes(self, authority: Authority) -> dict[int, Shape]:
        found = {}
        for full in TABLES:
            for schema in ("s", "free"):
                ref = ObjectRef.parse("lake", ObjectType.TABLE, f"cat.{schema}.{full.partition('.')[2]}")
                node = authority.find(ref)
                shape = None if node is None else self.steward.shapes.of(authority, node)
                if node is not None and shape is not None:
                    found[node.id] = shape
        return found

    def compare(
        self, before: Authority, after: Authority, shapes: dict[int, Shape], user: str, what: str
    ) -> None:
        lake = before.metalake("lake")
        assert lake is not None
        me = before.caller(Identity(user), lake.id)
        if me.member is None or after.caller(Identity(user), lake.id).member is None:
            return
        mine = [id for id in before.policies if allowed(before, me, Op.ALTER_POLICY, before.objects[id])]
        without = before.applied([c.PolicySet(id, None) for id in mine], before.revision)
        # Nor what they could see by lifting their own policies, at once or some steps later.
        lifted = [id for id in after.policies if id in mine or id not in before.policies]
        at_last = after.applied([c.PolicySet(id, None) for id in lifted], after.revision)
        now = self.shapes(after)
        for table, shape in shapes.items():
            if table not in now:
                continue
            for around in circumstances(user):
                at_most = sight(without, table, shape, *around)
                assert not more(at_most, sight(at_last, table, now[table], *around), shape), (
                    f"{user} sees more of {after.ref(after.objects[table]).full_name} later: {what}"
                )
                will = sight(after, table, now[table], *around)
                if not more(sight(before, table, shape, *around), will, shape):
                    continue
                assert not more(at_most, will, shape), (
                    f"{user} sees more of {after.ref(after.objects[table]).full_name} ({around}): {what}: {will}"
                )


def circumstances(user: str) -> Any:
    for purpose, engine, hour, roles in itertools.product(
        (None, "work", "audit", "zzz"), ("spark", "trino"), HOURS, (True, False)
    ):
        identity = Identity(user, active_roles=ActiveRoles(all=roles), engine=engine, purpose=purpose)
        yield identity, dt.datetime(2026, 12, 1, hour, tzinfo=dt.UTC)


def sight(authority: Authority, table: int, shape: Shape, who: Identity, now: dt.datetime) -> Sight:
    node = authority.objects[table]
    found = fresh(authority, authority.caller(who, node.metalake), node, shape, now).lens
    if found is None:
        return None
    names = {
        located.field.name: located.field.id for located in shape.schema.walk() if len(located.path) == 1
    }
    rows: list[Cells | None] = []
    for number in range(len(ROWS)):
        full = {name: original(number, id) for name, id in names.items()}
        shown = next(iter(seen(found, shape.schema, [full])), None)
        rows.append(None if shown is None else {names[name]: value for name, value in shown.items()})
    return rows


def original(row: int, field: int) -> Any:
    return ROWS[row][field - 1] if field <= len(ROWS[row]) else None


def more(before: Sight, after: Sight, shape: Shape) -> bool:
    """Whether a row, a column or a cell is seen that was not; a column that shows one and the same value shows none.

    Of a column that is seen as it is, a mask shows no more.
    """
    if after is None:
        return False
    if before is None:
        return True
    shown = [row for row in after if row is not None]
    plain = {
        field
        for field in shape.schema.by_id
        if all(row is None or row.get(field) == original(number, field) for number, row in enumerate(before))
    }
    for was, will in zip(before, after, strict=True):
        if will is None:
            continue
        if was is None:
            return True
        for field, value in will.items():
            if shape.schema.find(field) is None:
                continue
            if field not in was:
                return True
            if field not in plain and value != was[field] and len({row[field] for row in shown}) > 1:
                return True
    return False
