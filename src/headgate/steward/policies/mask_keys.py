"""Keys of masks: who may name one, and whose tables share its tokens."""

from collections.abc import Iterable

import msgspec

from headgate.decide import Authority, Op
from headgate.decide.policies.mask_keys import naming
from headgate.model.errors import Forbidden, IllegalArgument, NotFound
from headgate.model.objects import ObjectType, clip
from headgate.model.principals import Identity, PrincipalKind
from headgate.steward.acts import act
from headgate.steward.findings import examine
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.store import Write, mask_keys


class MaskKey(msgspec.Struct, frozen=True):
    """A key, the policies that name it, oldest first, and the owners whose tables share its tokens."""

    name: str
    policies: tuple[str, ...]
    joined: tuple[str, ...]


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
                with self.kernel.store.read() as read:
                    owners = mask_keys.joined(read, metalake, name)
                joined = (_named(authority, owner) for owner in owners)
                found.append(MaskKey(name, tuple(ref.name for ref in refs), tuple(sorted(joined))))
        return found

    @act(Op.LIST_POLICIES)
    def join(self, permit: Permit, name: str, owners: Iterable[str], *, leave: bool = False) -> MaskKey:
        """Let the tables of these owners share the tokens of a key, or not any more."""
        permits = self._permits(permit, name)
        ids = {owner: _owner(permit.authority, permit.node.id, owner) for owner in owners}
        details = {"key": name, ("left" if leave else "joined"): sorted(ids)}
        with self.kernel.change(*permits, telling=lambda _permit: dict(details)) as tx:
            for id in ids.values():
                if leave:
                    mask_keys.leave(tx, permit.node.id, name, id)
                else:
                    mask_keys.join(tx, permit.node.id, name, id)
        return next(key for key in self.listed(permit) if key.name == name)

    def _permits(self, permit: Permit, name: str) -> list[Permit]:
        policies = naming(permit.authority, permit.node.id).get(name, ())
        if not policies:
            raise NotFound(f"no policy names the key '{clip(name)}'", hint="write the policy first")
        check(permit.authority, permit.identity, policies, name)
        refs = [permit.authority.ref(permit.authority.objects[id]) for id in policies]
        return [
            self.kernel.permit(permit.identity, Op.ALTER_POLICY, ref, at=permit.authority) for ref in refs
        ]


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


def _owner(authority: Authority, metalake: int, text: str) -> int:
    """A user or group by ``user:NAME`` or ``group:NAME``; without a kind it is a user."""
    kind, colon, name = text.partition(":")
    if not colon:
        kind, name = "user", text
    if kind not in ("user", "group"):
        raise IllegalArgument(f"'{clip(text)}' names no owner", hint="write user:NAME or group:NAME")
    found = authority.member(metalake, PrincipalKind(kind), name)
    if found is None:
        raise NotFound(f"{kind} '{clip(name)}' does not exist", about=ObjectType.METALAKE)
    return found.id


def _named(authority: Authority, owner: int) -> str:
    member = authority.members.get(owner)
    return f"user {owner} (gone)" if member is None else f"{member.kind.value}:{member.name}"
