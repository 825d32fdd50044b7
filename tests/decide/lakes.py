"""The lake of a scenario, made for real: objects through the REST door, people and grants in the store."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio.from_thread
import httpx

from headgate.doors.authentication import Authentication, Proven
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.doors.observe import Metrics
from headgate.doors.root import RootDoor
from headgate.doors.server import Server
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity, PrincipalKind
from headgate.model.privileges import Condition, Grant, Privilege, PrivilegeBits
from headgate.model.secrets import Secret
from headgate.settings.server import Settings
from headgate.steward import Steward
from headgate.store import Store, Write, access, objects
from tests.decide.rest import CATALOGS, NEW, collection
from tests.decide.scenario import ADMIN, LAKE, Scenario, named


class ClaimingScheme:
    """Believes ``Bearer user`` and ``Bearer user;group,group``: whom a token names and the groups it claims."""

    def identify(self, scheme: str, credentials: str, address: str | None) -> Proven | None:
        user, _, groups = credentials.partition(";")
        return Proven(user, frozenset(filter(None, groups.split(","))))


class Lake:
    """A server over the folder of one scenario."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(f"sqlite:///{folder}/store.db")
        self.steward = Steward(
            self.store, service_admins=frozenset({ADMIN}), warehouse=str(folder / "warehouse")
        )
        metrics = Metrics()
        settings = Settings(
            home=str(folder), store=Secret(str(self.store.url)), warehouse=str(folder / "warehouse")
        )
        self.server = Server(
            self.steward,
            Authentication([ClaimingScheme()]),
            [GravitinoDoor(), HeadgateDoor(), IcebergDoor(), RootDoor(settings, metrics)],
            metrics=metrics,
        )

    def ask(self, who: Identity, method: str, path: str, body: Any = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {who.user};{','.join(sorted(who.groups))}"}
        if not who.active_roles.all:
            headers["X-Gravitino-Active-Roles"] = ",".join(sorted(who.active_roles.names)) or "NONE"

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.server, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://headgate") as client:
                return await client.request(method, path, json=body, headers=headers)

        return anyio.run(send)


def has_route(answer: httpx.Response) -> bool:
    return "there is no such path" not in answer.text and "the path has no such method" not in answer.text


def build(scenario: Scenario, folder: Path) -> None:
    """Make the lake of a scenario in a folder."""
    lake = Lake(folder)
    lake.store.prepare()
    admin = Identity(ADMIN)
    made = lake.ask(admin, "POST", "/api/metalakes", {"name": LAKE})
    assert made.status_code == 200, made.text
    for ref in scenario.objects:
        _make(lake, admin, ref, scenario)
    with lake.store.write(ADMIN, "scenario") as tx:
        _people(tx, lake, scenario)
    lake.store.close()


def _make(lake: Lake, admin: Identity, ref: ObjectRef, scenario: Scenario) -> None:
    if ref.type is ObjectType.JOB:
        # A job comes from running a template, which takes an executor: here it is only there to be asked about.
        with lake.store.write(ADMIN, "scenario") as tx:
            top = _id(lake, ObjectRef(LAKE, ObjectType.METALAKE))
            objects.create(tx, top, top, ref.type, ref.name)
        return
    if ref.type is ObjectType.CATALOG:
        leaves = [r.type for r in scenario.objects if len(r.path) == 3 and r.path[0] == ref.name]
        type, provider = CATALOGS[leaves[0] if leaves else _guessed(ref, scenario)]
        where, body = collection(ref.parent, ref.type), {"name": ref.name, "type": type, "provider": provider}
    elif ref.type is ObjectType.JOB_TEMPLATE:
        where = collection(ref.parent, ref.type)
        body = {"jobTemplate": {**NEW[ref.type]["jobTemplate"], "name": ref.name}}
    else:
        where, body = collection(ref.parent, ref.type), {**NEW[ref.type], "name": ref.name}
    made = lake.ask(admin, "POST", where, body)
    assert made.status_code == 200, (ref, made.text)


def _guessed(ref: ObjectRef, scenario: Scenario) -> ObjectType:
    """What a catalog without anything in it is for: what rows create in it."""
    for row in scenario.rows:
        if row.ref.path[:1] == ref.path:
            for type in CATALOGS:
                if row.operation.endswith(f"_{type}"):
                    return type
    return ObjectType.TABLE


def _id(lake: Lake, ref: ObjectRef) -> int:
    node = lake.steward.kernel.authority().find(ref)
    assert node is not None, f"{ref.full_name} is not there"
    return node.id


def _people(tx: Write, lake: Lake, scenario: Scenario) -> None:
    top = _id(lake, ObjectRef(LAKE, ObjectType.METALAKE))
    for maker in access.principals(tx, top, PrincipalKind.USER, [ADMIN]):
        access.remove_principal(tx, maker)
    for name, enabled in scenario.users.items():
        access.add_principal(tx, top, PrincipalKind.USER, name, enabled=enabled)
    for name in scenario.groups:
        access.add_principal(tx, top, PrincipalKind.GROUP, name)

    def principal(text: str) -> Any:
        kind, _, name = text.rpartition(":")
        found = access.find_principal(tx, top, PrincipalKind(kind or "user"), name)
        assert found is not None, text
        return found

    for name, members in scenario.groups.items():
        access.set_members(tx, principal(f"group:{name}"), [principal(member) for member in members])
    access.set_owner(tx, top, principal(scenario.given["owner"]).id)
    for ref, owner in scenario.objects.items():
        if owner:
            access.set_owner(tx, _id(lake, ref), principal(owner).id)
    for name, role in scenario.roles.items():
        id = objects.create(tx, top, top, ObjectType.ROLE, name)
        for holder in role.pop("to", []):
            access.hold_role(tx, id, principal(holder).id, True)
        if owner := role.pop("owner", None):
            access.set_owner(tx, id, principal(owner).id)
        for object, words in role.items():
            access.set_grants(tx, id, _id(lake, named(object)), _masks(words))


def _masks(words: str) -> PrivilegeBits:
    return PrivilegeBits.of(
        Grant(
            Privilege.parse(word.removeprefix("-")),
            Condition.DENY if word.startswith("-") else Condition.ALLOW,
        )
        for word in words.split()
    )


@contextmanager
def opened(folder: Path) -> Iterator[Lake]:
    lake = Lake(folder)
    yield lake
    lake.steward.close()
    lake.store.close()


@contextmanager
def opened_for_change(folder: Path, kept: Path) -> Iterator[Lake]:
    """As `opened`; afterwards everything is again as it was. In place, because tables know where they lie."""
    if not kept.exists():
        # All in one file: a connection that closes late takes the log of the store away, also of one put back meanwhile.
        with closing(sqlite3.connect(folder / "store.db")) as store:
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copytree(folder, kept)
    with opened(folder) as lake:
        yield lake
    # A connection that closes late takes files of its own away meanwhile.
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(kept, folder)
