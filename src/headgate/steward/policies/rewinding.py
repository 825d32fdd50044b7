"""What the policies of a metalake were at a revision, as documents. Making them so again is `Applying`'s, like any other change.

INVARIANT: nothing is written here, so nothing comes back but through the rights and the guard that every change passes.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from headgate.decide import Authority, Node, Op
from headgate.decide.policies.scopes import on_of
from headgate.language.policies.content import trusted
from headgate.language.policies.export import dump
from headgate.language.policies.policy import Policy
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.policies.authoring import Authoring, spelled
from headgate.store import policies as kept
from headgate.store.policies import Version


class Rewinding:
    def __init__(self, kernel: Kernel, authoring: Authoring) -> None:
        self.kernel = kernel
        self.authoring = authoring

    @act(Op.READ_AUDIT)
    def at(self, permit: Permit, revision: int) -> str:
        """All policies of the metalake as they were at a revision; of those that are there still, with their comments of now."""
        authority = permit.authority
        if revision > authority.revision:
            raise IllegalArgument(
                f"there is no revision {revision} yet", hint=f"the latest is {authority.revision}"
            )
        with self.kernel.store.read() as read:
            histories = kept.histories(read, permit.node.id)
        _known(histories, revision)
        comments = {
            name: one.policy.comment for name, one in self.authoring.stored(authority, permit.node).items()
        }
        found: list[Policy] = []
        for id, versions in histories.items():
            then = [version for version in versions if version.revision <= revision]
            if then and then[-1].action != "drop":
                found.append(_policy(authority, permit.node, id, then[-1], versions[-1], comments))
        return dump(sorted((policy for policy in found if policy.on), key=lambda policy: policy.name))


def _known(histories: dict[int, list[Version]], revision: int) -> None:
    """Refuse a revision at which nobody can tell what policies said: older stores kept no revision with their words."""
    every = [version.revision for versions in histories.values() for version in versions]
    if 0 not in every:
        return
    first = min((number for number in every if number), default=None)
    if first is not None and revision < first - 1:
        raise IllegalArgument(
            f"what the policies said at revision {revision} is not known",
            hint=f"name revision {first - 1} or a later one",
        )


def _policy(
    authority: Authority,
    metalake: Node,
    id: int,
    then: Version,
    last: Version,
    comments: dict[str, str | None],
) -> Policy:
    on = _on(authority, metalake, id, then, last)
    policy = trusted(then.document, then.name, on)
    return replace(policy, enabled=then.enabled, comment=comments.get(then.name))


def _on(authority: Authority, metalake: Node, id: int, then: Version, last: Version) -> tuple[str, ...]:
    """The object that a policy was on, by the name it has now; empty if it had none."""
    if then.on is None:
        return ()
    now = on_of(authority, id)
    if now is not None and then.on == last.on:
        # It was on the object that it is on now, whatever that was called.
        return spelled(authority.ref(now))
    readings = list(_readings(metalake.name, then.on))
    there = [ref for ref in readings if authority.find(ref) is not None]
    if len(there) > 1:
        # INVARIANT: nothing is guessed: a policy that came back on another object would show somebody more.
        raise IllegalArgument(
            f"policy '{clip(then.name)}' was on '{clip(then.on)}', which is the name of several objects",
            hint="write this policy by hand",
        )
    return spelled((there or readings)[0])


def _readings(metalake: str, name: str) -> Iterator[ObjectRef]:
    """The objects that a full name can be of, from the innermost: a name may hold dots."""
    if name == metalake:
        yield ObjectRef(metalake, ObjectType.METALAKE)
    for type in (ObjectType.TABLE, ObjectType.SCHEMA, ObjectType.CATALOG):
        with suppress(IllegalArgument):
            yield ObjectRef.parse(metalake, type, name)
