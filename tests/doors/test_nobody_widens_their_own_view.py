"""Whatever change somebody is allowed to make, through whichever door: they see no row, cell or column more by it.

Random worlds of policies, tags, groups, roles, owners and attributes; random people make random changes. What they see
is worked out on sample rows, for every purpose, engine and hour, and compared cell by cell. What somebody would see
without the policies that they may change themselves is no more. Policies may wait for a tag that nothing bears yet or for a
column that no table has, so the same is compared once more as it will be when these have come.

In crowded worlds tokens tell groups that the metalake may not keep, groups carry roles that policies name, and somebody who
wrote policies leaves. There, after every change, nobody is shown rows chosen by what is kept from them and from whoever wrote
the choice, and no policy is for fewer people because of somebody who may not change it.
"""

import base64
import datetime as dt
import itertools
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from headgate.decide import Authority, Caller, Op, allowed
from headgate.decide.policies.lens import fresh
from headgate.decide.policies.people import person
from headgate.decide.policies.rules import parsed
from headgate.decide.policies.scopes import on_of
from headgate.decide.policies.shape import Shape
from headgate.decide.policies.view import seen
from headgate.doors.authentication.schemes import Proven
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.language.ast import columns as columns_of
from headgate.model import changes as c
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import ActiveRoles, Identity, PrincipalKind
from headgate.model.schema import STRING, Field, Schema, StructType
from headgate.steward import Steward
from headgate.steward.metadata.shapes import tables_below
from headgate.store import Store
from tests.conftest import Api, in_process
from tests.doors import changing
from tests.doors.changing import ENTRIES, GROUPS, LAKE, POLICIES, PRIVILEGES, ROLES, TABLES, TAGS, USERS
from tests.doors.settled import done

LEAVING = "zoe"
"""Writes policies and leaves."""
PEOPLE = (*USERS, LEAVING)
SEEDS = range(8)
CROWDED = range(8, 14)
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
WEIGHTS = [
    3
    if any(word in path for word in _OFTEN)
    or (method == "PUT" and path.endswith(("/catalogs/{catalog}", "/tables/{table}")))
    else 1
    for method, path in MAKERS
]
STREET = 6
"""The field id of home.street."""
Cells = dict[int, Any]
Sight = list[Cells | None] | None
"""What is seen of each sample row, by field id; None for a row that is not seen, or for a table that cannot be read."""


def test_every_route_that_changes_something_is_in_the_list() -> None:
    doors = (GravitinoDoor(), IcebergDoor(), HeadgateDoor())
    routes = {(r.method, r.path) for door in doors for r in door.routes if r.method not in ("GET", "HEAD")}
    assert routes == set(ENTRIES), "say how a new route is tried, or why it can touch no lens"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*SEEDS, *CROWDED])
def test_no_permitted_change_shows_its_actor_more(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    try:
        with in_process(world.steward, world) as api:
            world.fill(api)
            made = world.live(api)
    finally:
        world.close()
    assert made > 5, "a world in which nothing is allowed shows nothing"


@pytest.mark.slow
def test_without_the_check_it_is_found(tmp_path: Path) -> None:
    def every_seed() -> None:
        for seed in SEEDS:
            (tmp_path / str(seed)).mkdir()
            world = World(tmp_path / str(seed), seed)
            world.steward.kernel.ports = msgspec.structs.replace(
                world.steward.kernel.ports, guard=lambda authority, identity, changes: None
            )
            try:
                with in_process(world.steward, world) as api:
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
        self.crowded = seed in CROWDED
        self.people = PEOPLE if self.crowded else USERS
        self.tokens = {
            user: frozenset(self.r.sample(GROUPS, self.r.choice((0, 1, 2))) if self.crowded else ())
            for user in self.people
        }
        """The groups that the tokens of people tell, whatever the metalake keeps."""
        self.writers: dict[int, tuple[str, str]] = {}
        """By policy: what it says, and who wrote that."""

    def identify(self, scheme: str, credentials: str, address: str | None) -> Proven:
        user = base64.b64decode(credentials).decode().partition(":")[0]
        return Proven(user, self.tokens.get(user, frozenset()))

    def identity(self, user: str) -> Identity:
        return Identity(user, self.tokens.get(user, frozenset()))

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
        columns: list[dict[str, Any]] = [
            {"name": n, "type": t} for n, t in zip(changing.COLUMNS, types, strict=True)
        ]
        columns.append({"name": "home", "type": changing.HOME})
        for full in TABLES:
            schema, _, name = full.partition(".")
            at = f"{LAKE}/catalogs/cat/schemas/{schema}/tables"
            done(api("admin", "POST", at, {"name": name, "columns": columns}))
        for group in GROUPS:
            done(api("admin", "POST", f"{LAKE}/groups", {"name": group}))
        for tag in (*TAGS, changing.LATER):
            done(api("admin", "POST", f"{LAKE}/tags", {"name": tag}))
        for role in ROLES:
            done(api("admin", "POST", f"{LAKE}/roles", {"name": role, "securableObjects": []}))
        done(api("admin", "POST", f"{LAKE}/groups", {"name": changing.CREW}))
        carried = ((GROUPS[1], ROLES[:1]), (GROUPS[2], ROLES[1:]), (changing.CREW, ROLES))
        for group, role in carried if self.crowded else ():
            held = {"roleNames": list(role)}
            done(api("admin", "PUT", f"{LAKE}/permissions/groups/{group}/grant", held))
        for user in self.people:
            done(api("admin", "POST", f"{LAKE}/users", {"name": user}))
            done(api("admin", "PUT", f"{LAKE}/users/{user}/attributes", {"region": r.choice(("EU", "US"))}))
            some = PRIVILEGES if user == LEAVING else r.sample(PRIVILEGES, 11)
            privileges = [{"name": p, "condition": "allow"} for p in some]
            held = {"type": "metalake", "fullName": "lake", "privileges": privileges}
            done(api("admin", "POST", f"{LAKE}/roles", {"name": f"of-{user}", "securableObjects": [held]}))
            done(api("admin", "PUT", f"{LAKE}/permissions/users/{user}/grant", {"roleNames": [f"of-{user}"]}))
        # What does not fit together is refused; a world takes what it gets.
        for _ in range(8):
            api("admin", "POST", changing.tagged(r), {"tagsToAdd": [r.choice(TAGS)]})
            api("admin", "PUT", f"{LAKE}/groups/{r.choice(GROUPS)}/members", {"users": changing.some(r, USERS), "groups": []})  # fmt: skip
        crew = {"users": r.sample(USERS, 2) if self.crowded else [], "groups": []}
        done(api("admin", "PUT", f"{LAKE}/groups/{changing.CREW}/members", crew))
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
        for number in range(3 if self.crowded else 0):
            name, word = f"q{number}", r.choice(("ssn <> '111'", "email = session_user()", "region = 'EU'"))
            said = {**changing.content(r), "to": changing.audience(r), "rows": word}
            kept = {key: said[key] for key in ("on", "to", "rows")}
            body = {"name": name, "policyType": "headgate", "enabled": True, "content": kept}
            api(LEAVING, "POST", f"{LAKE}/policies", body)
        self.wrote("admin")
        for _ in range(16):
            path = changing.owned(r)
            if not path.endswith("metalake/lake"):
                api("admin", "PUT", path, changing.owner(r))
        # Somebody may rename and move what policies are on.
        for kind, name in (("catalog", "cat"), ("schema", "cat.s"), ("table", "cat.s.a")):
            person = {"type": "user", "name": r.choice(USERS)}
            done(api("admin", "PUT", f"{LAKE}/owners/{kind}/{name}", person))

    def live(self, api: Api) -> int:
        """Random changes of random people, each compared; how many were allowed."""
        made = 0
        for step in range(STEPS):
            user = self.r.choice(USERS)
            (method, _), maker = self.r.choices(list(MAKERS.items()), WEIGHTS)[0]
            path, body = maker(self.r)
            if self.crowded and step == STEPS // 3:
                user, method, path, body = "admin", "DELETE", f"{LAKE}/users/{LEAVING}", None
            elif self.crowded and step % 10 == 0:
                # The owner of the metalake writes what keeps columns from groups.
                user, method, path, body = "admin", "POST", f"{LAKE}/policies", changing.hiding(self.r, step)
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
            self.wrote(user)
            if self.crowded:
                self.still_for(before, after, user, f"{user}: {method} {path} {body}")
            now = self.shapes(after)
            if self.crowded:
                self.by_whom(after, now, f"{user}: {method} {path} {body}")
            if after.revision > before.revision or _keys(now) != _keys(shapes):
                self.compare(before, after, shapes, now, user, f"{method} {path} {body}")
            if after.find(ObjectRef("lake", ObjectType.CATALOG, ("cat",))) is None:
                back = {"updates": [{"@type": "rename", "newName": "cat"}]}
                done(api("admin", "PUT", f"{LAKE}/catalogs/{changing.RENAMED}", back))
        return made

    def shapes(self, authority: Authority) -> dict[int, Shape]:
        lake = authority.metalake("lake")
        assert lake is not None
        found = {}
        for node in tables_below(authority, lake):
            shape = self.steward.shapes.of(authority, node)
            if shape is not None:
                found[node.id] = shape
        return found

    def compare(
        self,
        before: Authority,
        after: Authority,
        shapes: dict[int, Shape],
        now: dict[int, Shape],
        user: str,
        what: str,
    ) -> None:
        lake = before.metalake("lake")
        assert lake is not None
        me = before.caller(self.identity(user), lake.id)
        if me.member is None or after.caller(self.identity(user), lake.id).member is None:
            return
        mine = [id for id in before.policies if allowed(before, me, Op.ALTER_POLICY, before.objects[id])]
        without = before.applied([c.PolicySet(id, None) for id in mine], before.revision)
        # Nor what they could see by lifting their own policies, at once or some steps later.
        lifted = [id for id in after.policies if id in mine or id not in before.policies]
        at_last = after.applied([c.PolicySet(id, None) for id in lifted], after.revision)
        self.stands(before, after, me, frozenset(mine), what)
        sides = (before, without, after, at_last)
        for table in shapes.keys() & now.keys():
            moments = list(circumstances(self.identity(user)))
            self.see(sides, table, shapes[table], now[table], moments, what)
            for grown, columns in futures(before, table, shapes[table]):
                later = tuple(side.applied(grown, side.revision) for side in sides)
                then = [with_columns(shape, columns) for shape in (shapes[table], now[table])]
                some = [around for around in moments if around[0].purpose in (None, "zzz")][::4]
                self.see(later, table, *then, some, f"{what}, then {columns or 'the tag'} comes")

    def see(self, sides: Any, table: int, shape: Shape, now: Shape, moments: list[Any], what: str) -> None:
        before, without, after, at_last = sides
        named = after.ref(after.objects[table]).full_name
        for around in moments:
            at_most = sight(without, table, shape, *around)
            user = around[0].user
            assert not more(at_most, sight(at_last, table, now, *around), shape), (
                f"{user} sees more of {named} later ({around}): {what}"
            )
            will = sight(after, table, now, *around)
            if not more(sight(before, table, shape, *around), will, shape):
                continue
            assert not more(at_most, will, shape), f"{user} sees more of {named} ({around}): {what}: {will}"

    def stands(
        self, before: Authority, after: Authority, me: Caller, mine: frozenset[int], what: str
    ) -> None:
        """What a policy of others names, if it is for the actor, is still what it is called in its document."""
        who = person(before, me)
        for id, rule in before.policies.items():
            policy, on = parsed(rule.document), on_of(before, id)
            excepted = policy.except_.has(who.user, who.groups, who.active)
            if id in mine or on is None or excepted or not policy.to.has(who.user, who.groups, who.roles):
                continue
            found = after.find(before.ref(on))
            assert found is not None, f"{who.user} lets go of what a policy is on: {what}"
            assert found.id == on.id

    def wrote(self, user: str) -> None:
        """Keep who wrote what policies say; who says the same again writes it too, if that is taken down."""
        authority = self.steward.kernel.authority()
        for id, rule in authority.policies.items():
            known = self.writers.get(id)
            if known is None or known[0] != rule.document:
                # What is there at first was written by whom the store says.
                writer = rule.authors[-1] if known is None else user
                self.writers[id] = (rule.document, writer)
            elif rule.authors[-1] == user:
                self.writers[id] = (rule.document, user)

    def still_for(self, before: Authority, after: Authority, user: str, what: str) -> None:
        """Whomever a policy was for before, it is for afterwards; unless its words changed, or somebody may change them."""
        lake = before.metalake("lake")
        assert lake is not None
        me = before.caller(self.identity(user), lake.id)
        for id, rule in before.policies.items():
            now = after.policies.get(id)
            if now is None or now.document != rule.document:
                continue
            if allowed(before, me, Op.ALTER_POLICY, before.objects[id]):
                continue
            for name in USERS:
                was, will = (self.bound(side, lake.id, id, name) for side in (before, after))
                assert will or not was, f"policy {id} is no more for {name} by {what}"

    def bound(self, authority: Authority, lake: int, policy: int, user: str) -> bool:
        """Whether a policy is for somebody, by the groups and roles that they truly have."""
        read = parsed(authority.policies[policy].document)
        caller = authority.caller(self.identity(user), lake)
        if caller.member is None:
            # Who comes back has the groups of their token, and the roles of these.
            ids = {authority.member_ids.get((lake, PrincipalKind.GROUP, name)) for name in self.tokens[user]}
            held = {role for id in ids if id for role in authority.held.get(id) or ()}
            names = frozenset(authority.objects[role].name for role in held)
            return read.to.has(user, self.tokens[user], names)
        who = person(authority, caller)
        return read.to.has(who.user, who.claimed, who.roles) and not read.except_.has(
            who.user, who.groups, who.active
        )

    def by_whom(self, authority: Authority, shapes: dict[int, Shape], what: str) -> None:
        """Nobody is shown rows by what is kept from them and from who chose them, or whoever did is gone."""
        now = dt.datetime(2026, 12, 1, HOURS[0], tzinfo=dt.UTC)
        for table, user, purpose in itertools.product(shapes, USERS, (None, "zzz")):
            node = authority.objects[table]
            who = msgspec.structs.replace(self.identity(user), engine="spark", purpose=purpose)
            found = fresh(authority, authority.caller(who, node.metalake), node, shapes[table], now)
            kept = [
                (p.id, {*p.hidden, *p.overruled, *(m.column.field_id for m in p.masks)}) for p in found.parts
            ]
            for part in found.parts if found.lens is not None else ():
                used = {id for rows in part.rows for id in columns_of(rows)}
                for other, fields in kept:
                    if other == part.id or used.isdisjoint(fields):
                        continue
                    writer = self.writers[part.id][1]
                    caller = authority.caller(self.identity(writer), node.metalake)
                    chose = f"{writer} chose rows of {node.name} for {user} by what {other} hides: {what}"
                    assert caller.member is not None, chose
                    mine = allowed(authority, caller, Op.ALTER_POLICY, authority.objects[other])
                    assert mine or not self.bound(authority, node.metalake, other, writer), chose


def _keys(shapes: dict[int, Shape]) -> dict[int, str]:
    return {id: shape.key for id, shape in shapes.items()}


def futures(authority: Authority, table: int, shape: Shape) -> Any:
    """Changes of others that may still come: the tag, on the table or on each of its columns, and the column."""
    tag = authority.find(ObjectRef("lake", ObjectType.TAG, (changing.LATER,)))
    assert tag is not None
    on_table = [c.LabelSet(tag.id, table, 0, None, True)]
    fields = [c.LabelSet(tag.id, table, id, None, True) for id in shape.schema.by_id]
    yield on_table, ()
    yield [*on_table, *fields], (changing.MISSING,)


def with_columns(shape: Shape, names: tuple[str, ...]) -> Shape:
    """The shape with columns of these names, which hold something."""
    new = tuple(
        Field(900 + n, name, STRING) for n, name in enumerate(names) if (name,) not in shape.schema.by_path
    )
    return Shape.of(Schema((*shape.schema.fields, *new)), [shape.schema]) if new else shape


def circumstances(who: Identity) -> Any:
    for purpose, engine, hour, roles in itertools.product(
        (None, "work", "audit", "zzz"), ("spark", "trino"), HOURS, (True, False)
    ):
        identity = msgspec.structs.replace(
            who, active_roles=ActiveRoles(all=roles), engine=engine, purpose=purpose
        )
        yield identity, dt.datetime(2026, 12, 1, hour, tzinfo=dt.UTC)


def sight(authority: Authority, table: int, shape: Shape, who: Identity, now: dt.datetime) -> Sight:
    node = authority.objects[table]
    found = fresh(authority, authority.caller(who, node.metalake), node, shape, now).lens
    if found is None:
        return None
    rows: list[Cells | None] = []
    for number in range(len(ROWS)):
        full = {field.name: whole(number, field) for field in shape.schema.fields}
        shown = next(iter(seen(found, shape.schema, [full])), None)
        rows.append(None if shown is None else dict(flat(shape.schema.fields, shown)))
    return rows


def whole(row: int, field: Field) -> Any:
    if isinstance(field.type, StructType):
        return {inner.name: whole(row, inner) for inner in field.type.fields}
    return original(row, field.id)


def flat(fields: tuple[Field, ...], cells: Any) -> Iterator[tuple[int, Any]]:
    """What is shown by field id, the fields of structs by themselves."""
    for field in fields:
        if field.name not in cells:
            continue
        value = cells[field.name]
        if isinstance(field.type, StructType):
            yield from flat(field.type.fields, value or {})
        else:
            yield field.id, value


def original(row: int, field: int) -> Any:
    if field <= len(ROWS[row]):
        return ROWS[row][field - 1]
    return f"{field}-{row}" if field == STREET or field >= 900 else None


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
