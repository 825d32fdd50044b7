"""Keys of masks: who may name one, and which tables share its tokens."""

from collections.abc import Iterable, Iterator

import msgspec

from headgate.decide import Authority, Node, Op, allowed
from headgate.decide.policies.mask_keys import fills, naming
from headgate.model.errors import Forbidden, NotFound
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.principals import Identity, PrincipalKind, PrincipalRef
from headgate.steward.acts import act
from headgate.steward.findings import examine
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.store import Write, mask_keys


class MaskKey(msgspec.Struct, frozen=True):
    """A key, the policies that name it, oldest first, and the tables that share its tokens."""

    name: str
    policies: tuple[str, ...]
    joined: tuple[str, ...]
    """Only those that the caller may see."""


class JoinedKey(MaskKey, frozen=True):
    """A key that was just joined or left, and who is shown none of its tokens in the tables that share it now."""

    shut_out: tuple[str, ...] = ()
    """The users, of those whom the caller may see, who may write one of the tables or ever wrote one."""


class MaskKeys:
    """A key belongs to whoever may alter the policies that name it."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @act(Op.LIST_POLICIES)
    def listed(self, permit: Permit) -> list[MaskKey]:
        """The keys of those policies that the caller may see."""
        authority, metalake = permit.authority, permit.node.id
        found = []
        for name, policies in sorted(naming(authority, metalake).items()):
            refs = [authority.ref(authority.objects[id]) for id in policies]
            if all(examine(authority, permit.identity, Op.LOAD_POLICY, ref).allowed for ref in refs):
                joined = (authority.ref(node) for node in _tables(authority, metalake, name))
                shown = sorted(ref.full_name for ref in joined if _loads(authority, permit.identity, ref))
                found.append(MaskKey(name, tuple(ref.name for ref in refs), tuple(shown)))
        return found

    @act(Op.LIST_POLICIES)
    def join(self, permit: Permit, name: str, tables: Iterable[str], *, leave: bool = False) -> JoinedKey:
        """Let these tables share the tokens of a key, or not any more."""
        permits = self._permits(permit, name)
        parsed = [ObjectRef.parse(permit.ref.metalake, ObjectType.TABLE, table) for table in tables]
        loads = [self.kernel.permit(permit.identity, Op.LOAD_TABLE, ref) for ref in parsed]
        details = {"key": name, ("left" if leave else "joined"): sorted(ref.full_name for ref in parsed)}
        with self.kernel.change(
            *permits, *loads, telling=lambda asked: dict(details) if asked.op is Op.ALTER_POLICY else {}
        ) as tx:
            for table in loads:
                if leave:
                    mask_keys.leave(tx, permit.node.id, name, table.node.id)
                else:
                    mask_keys.join(tx, permit.node.id, name, table.node.id)
        authority = self.kernel.authority()
        again = self.kernel.permit(permit.identity, permit.op, permit.ref, at=authority)
        found = next(key for key in self.listed(again) if key.name == name)
        return JoinedKey(**msgspec.structs.asdict(found), shut_out=tuple(_shut_out(again, name)))

    def _permits(self, permit: Permit, name: str) -> list[Permit]:
        policies = naming(permit.authority, permit.node.id).get(name, ())
        if not policies or not _may_hear_of(permit, policies):
            raise NotFound(f"no policy names the key '{clip(name)}'", hint="write the policy first")
        check(permit.authority, permit.identity, policies, name)
        refs = [permit.authority.ref(permit.authority.objects[id]) for id in policies]
        return [
            self.kernel.permit(permit.identity, Op.ALTER_POLICY, ref, at=permit.authority) for ref in refs
        ]


def _may_hear_of(permit: Permit, policies: Iterable[int]) -> bool:
    """Whether somebody may hear that a key is taken: who sees the policies that name it, and who writes policies.

    INVARIANT: to everybody else a key that is named is as one that is not. Who writes policies would hear it when they
    name the key themselves.
    """
    authority, caller = permit.authority, permit.caller
    if allowed(authority, caller, Op.CREATE_POLICY, permit.node):
        return True
    if all(allowed(authority, caller, Op.LOAD_POLICY, authority.objects[id]) for id in policies):
        return True
    every = authority.children_of(permit.node.id, ObjectType.POLICY)
    return any(allowed(authority, caller, Op.ALTER_POLICY, policy) for policy in every)


def check(authority: Authority, identity: Identity, policies: Iterable[int], key: str) -> None:
    """INVARIANT: a key that policies name is for those who may alter all of them; others learn only that it is taken."""
    for id in policies:
        ref = authority.ref(authority.objects[id])
        if not examine(authority, identity, Op.ALTER_POLICY, ref).allowed:
            raise Forbidden(
                f"the key '{clip(key)}' is taken",
                hint="name another, or ask its owner to write the policy",
                about=ObjectType.POLICY,
            )


def take(
    tx: Write,
    authority: Authority,
    identity: Identity,
    metalake: int,
    named: Iterable[str],
    policy: int | None,
) -> None:
    """Let a policy name these keys: one of others only with the right to alter theirs, one that is free anew."""
    for key in sorted(named):
        others = [id for id in naming(authority, metalake).get(key, ()) if id != policy]
        if others:
            check(authority, identity, others, key)
        elif policy is None or policy not in naming(authority, metalake).get(key, ()):
            mask_keys.forget(tx, metalake, key)


def _tables(authority: Authority, metalake: int, key: str) -> list[Node]:
    pool = authority.key_pools.get((metalake, key))
    return [] if pool is None else [authority.objects[id] for id in sorted(pool.tables)]


def _loads(authority: Authority, identity: Identity, ref: ObjectRef) -> bool:
    return examine(authority, identity, Op.LOAD_TABLE, ref).allowed


def _shut_out(permit: Permit, key: str) -> Iterator[str]:
    """Who is shown no tokens of the tables that share a key, of the users whom the permit's caller may see."""
    authority, metalake = permit.authority, permit.node.id
    tables = _tables(authority, metalake, key)
    members = (member for member in authority.members.values() if member.metalake == metalake)
    for name in sorted(member.name for member in members if member.kind is PrincipalKind.USER):
        about = PrincipalRef(PrincipalKind.USER, name)
        if not tables or not examine(authority, permit.identity, Op.GET_USER, permit.ref, about).allowed:
            continue
        if fills(authority, authority.caller(Identity(name), metalake), tables[0], key):
            yield name
