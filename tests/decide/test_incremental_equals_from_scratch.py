"""An authority taken forward by the journal is the one that is compiled from everything, after any history."""

from pathlib import Path
from random import Random

import pytest

from headgate.decide import Authority
from headgate.model.errors import AlreadyExists, IllegalArgument
from headgate.model.objects import BESIDE, LEAVES, ObjectType
from headgate.model.principals import PrincipalKind
from headgate.model.privileges import Privilege, PrivilegeBits
from headgate.steward.kernel import Kernel
from headgate.store import Store, Write, access, labels, mask_keys, objects, policies, snapshot
from headgate.store.metadata import writers

NAMES = ("a", "b", "c")
T = ObjectType


class History:
    """Changes the store as chance will have it: every kind of change that there is."""

    def __init__(self, r: Random) -> None:
        self.r = r
        self.live: dict[int, tuple[ObjectType, int]] = {}
        """Object → type, parent."""
        self.people: dict[int, tuple[int, PrincipalKind]] = {}
        """Principal → metalake, kind."""

    def step(self, tx: Write) -> None:
        actions = [self.create] * 6 + [self.person] * 3 + [self.grant] * 5 + [self.hold] * 3 + [self.own] * 3
        actions += [self.rename] * 2 + [self.move, self.drop, self.in_use, self.remove_person, self.join]
        actions += [self.tag] * 2 + [self.policy] * 3 + [self.write, self.share, self.share]
        for _ in range(self.r.choice((1, 1, 1, 4))):
            self.r.choice(actions)(tx)
            self.refresh(tx)

    def refresh(self, tx: Write) -> None:
        """What is still there, read from the store: drops take more with them than one object."""
        authority = Authority(0).applied(_changes(tx), 0)
        self.live = {node.id: (node.type, node.parent) for node in authority.objects.values()}
        self.people = {m.id: (m.metalake, m.kind) for m in authority.members.values()}

    def any(self, *types: ObjectType) -> int | None:
        found = sorted(id for id, (type, _) in self.live.items() if not types or type in types)
        return self.r.choice(found) if found else None

    def lake_of(self, id: int) -> int:
        while self.live[id][1]:
            id = self.live[id][1]
        return id

    def principal(self, lake: int, *kinds: PrincipalKind) -> int | None:
        found = sorted(
            p for p, (at, kind) in self.people.items() if at == lake and (not kinds or kind in kinds)
        )
        return self.r.choice(found) if found else None

    def create(self, tx: Write) -> None:
        parent = self.any(T.METALAKE, T.CATALOG, T.SCHEMA)
        if parent is None or self.r.random() < 0.1:
            parent, lake, type = 0, 0, T.METALAKE
        else:
            lake = self.lake_of(parent)
            above = self.live[parent][0]
            inside = {T.METALAKE: [T.CATALOG] * 2 + [T.ROLE] * 3 + sorted(BESIDE), T.CATALOG: [T.SCHEMA]}
            type = self.r.choice(inside.get(above, [T.SCHEMA, *sorted(LEAVES)]))
        try:
            objects.create(tx, parent, lake, type, self.r.choice(NAMES))
        except AlreadyExists:
            return

    def person(self, tx: Write) -> None:
        lake = self.any(T.METALAKE)
        if lake is not None:
            kind = self.r.choice(list(PrincipalKind))
            try:
                access.add_principal(tx, lake, kind, self.r.choice(NAMES), enabled=self.r.random() < 0.8)
            except AlreadyExists:
                return

    def remove_person(self, tx: Write) -> None:
        if self.people:
            lake, kind = self.people[self.r.choice(sorted(self.people))]
            for record in access.principals(tx, lake, kind)[:1]:
                access.remove_principal(tx, record)

    def join(self, tx: Write) -> None:
        lake = self.any(T.METALAKE)
        groups = [] if lake is None else access.principals(tx, lake, PrincipalKind.GROUP)
        if groups and lake is not None:
            everyone = [*access.principals(tx, lake, PrincipalKind.USER), *groups]
            try:
                access.set_members(
                    tx, self.r.choice(groups), self.r.sample(everyone, self.r.randrange(len(everyone)))
                )
            except IllegalArgument:
                return

    def grant(self, tx: Write) -> None:
        role = self.any(T.ROLE)
        if role is not None:
            near = [id for id in sorted(self.live) if self.lake_of(id) == self.lake_of(role)]
            bits = [p.bit for p in self.r.sample(list(Privilege), 2)]
            masks = self.r.choice(
                (
                    PrivilegeBits(bits[0], bits[1]),
                    PrivilegeBits(bits[0], 0),
                    PrivilegeBits(0, bits[1]),
                    PrivilegeBits(),
                )
            )
            access.set_grants(tx, role, self.r.choice(near), masks)

    def hold(self, tx: Write) -> None:
        role = self.any(T.ROLE)
        if role is not None and (who := self.principal(self.lake_of(role))) is not None:
            access.hold_role(tx, role, who, self.r.random() < 0.7)

    def own(self, tx: Write) -> None:
        id = self.any()
        if id is not None and (who := self.principal(self.lake_of(id))) is not None:
            access.set_owner(tx, id, who)

    def tag(self, tx: Write) -> None:
        tag, on = self.any(T.TAG), self.any(T.METALAKE, T.CATALOG, T.SCHEMA, T.TABLE)
        if tag is not None and on is not None and self.lake_of(tag) == self.lake_of(on):
            labels.put(tx, tag, on, self.r.choice((0, 0, 3)), self.r.choice((None, "x")))

    def policy(self, tx: Write) -> None:
        """A policy of Headgate's own, new or changed, put on something."""
        on = self.any(T.METALAKE, T.CATALOG, T.SCHEMA, T.TABLE)
        if on is None:
            return
        lake = self.lake_of(on)
        name = f"own-{self.r.choice(NAMES)}"
        content = {"to": ["everyone"], "hide": [self.r.choice(NAMES)]}
        body = {"policyType": "headgate", "enabled": self.r.random() < 0.7, "content": content}
        found = objects.find(tx, lake, T.POLICY, name)
        if found is None:
            found = objects.present(tx, objects.create(tx, lake, lake, T.POLICY, name, body=body))
        else:
            objects.alter(tx, found, body=body)
            found = objects.present(tx, found.id)
            for object, field, _ in labels.places(tx, found.id):
                labels.take(tx, found.id, object, field)
        labels.put(tx, found.id, on, 0, None)
        policies.say(tx, found, None, "test")

    def write(self, tx: Write) -> None:
        table, user = self.any(T.TABLE), self.r.choice(NAMES)
        if table is not None and user not in writers.of(tx, table):
            writers.add(tx, table, user)

    def share(self, tx: Write) -> None:
        table, key = self.any(T.TABLE), self.r.choice(NAMES)
        if table is not None:
            change = mask_keys.join if self.r.random() < 0.7 else mask_keys.leave
            change(tx, self.lake_of(table), key, table)

    def rename(self, tx: Write) -> None:
        id = self.any()
        if id is not None:
            try:
                objects.alter(tx, objects.present(tx, id), name=self.r.choice(NAMES))
            except AlreadyExists:
                return

    def move(self, tx: Write) -> None:
        leaf, schema = self.any(*sorted(LEAVES)), self.any(T.SCHEMA)
        if leaf is not None and schema is not None and self.lake_of(leaf) == self.lake_of(schema):
            try:
                objects.alter(tx, objects.present(tx, leaf), parent=schema, name=self.r.choice(NAMES))
            except AlreadyExists:
                return

    def in_use(self, tx: Write) -> None:
        id = self.any(T.METALAKE, T.CATALOG)
        if id is not None:
            before = objects.present(tx, id)
            objects.alter(tx, before, in_use=not before.in_use)

    def drop(self, tx: Write) -> None:
        id = self.any()
        # Seldom a whole metalake, or there would never be much in any.
        if id is not None and (self.live[id][1] or self.r.random() < 0.15):
            objects.drop(tx, id)


def _changes(tx: Write) -> list[object]:
    return list(snapshot._changes(tx))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(6))
def test_after_every_step_of_a_random_history(tmp_path: Path, seed: int) -> None:
    store = Store(f"sqlite:///{tmp_path}/store.db")
    store.prepare()
    r = Random(seed)
    history = History(r)
    step_by_step, now_and_then = Kernel(store), Kernel(store)
    step_by_step.authority()
    now_and_then.authority()
    kinds: set[str] = set()
    for step in range(80):
        with store.write("ann", "test") as tx:
            history.step(tx)
            kinds |= {type(change).__name__ for change in tx.changes}
        revision, everything = snapshot.everything(store)
        from_scratch = Authority(0).applied(everything, revision)
        assert step_by_step.authority() == from_scratch, (seed, step)
        if step % 9 == 0:
            assert now_and_then.authority() == from_scratch, (seed, step)
    assert now_and_then.authority() == step_by_step.authority()
    assert {"ObjectPut", "PrincipalPut", "RoleGrants", "OwnerSet", "LabelSet", "PolicySet"} <= kinds
    store.close()


def test_an_older_authority_is_not_touched_by_what_comes_after(store: Store) -> None:
    kernel = Kernel(store)
    history = History(Random(1))
    kept = []
    for _ in range(15):
        with store.write("ann", "test") as tx:
            history.step(tx)
        revision, everything = snapshot.everything(store)
        kept.append((kernel.authority(), Authority(0).applied(everything, revision)))
    assert all(then == as_it_was for then, as_it_was in kept)


def test_a_journal_that_does_not_reach_back_is_made_up_for_by_everything(store: Store) -> None:
    from sqlalchemy import delete

    from headgate.store import tables

    kernel = Kernel(store)
    history = History(Random(2))
    kernel.authority()
    for _ in range(10):
        with store.write("ann", "test") as tx:
            history.step(tx)
    with store.append() as connection:
        connection.execute(delete(tables.journal).where(tables.journal.c.revision < 5))
    revision, everything = snapshot.everything(store)
    assert kernel.authority() == Authority(0).applied(everything, revision)
