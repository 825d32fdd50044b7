"""Policy documents as they come in, and the edits that they come to."""

from typing import Literal, NamedTuple

import msgspec

from headgate.decide import Authority, Node
from headgate.language.policies.policy import Policy


class PolicyFiles(msgspec.Struct, frozen=True):
    """Policy documents as somebody sent them; if they are the whole, policies that they do not hold go."""

    files: tuple[tuple[str, str], ...]
    whole: bool = False


class Stored(msgspec.Struct, frozen=True):
    """A policy as it is kept, with the name that its object has now; `on` is empty if the object is gone."""

    id: int
    policy: Policy
    owner: int | None = None


class Edit(msgspec.Struct, frozen=True):
    """One policy that is created, changed, renewed or removed."""

    kind: Literal["created", "changed", "renewed", "removed"]
    """Renewed is what says the same in words of somebody who stands for them, as who wrote it left or may not see them."""
    name: str
    before: Stored | None
    after: Policy | None

    @property
    def id(self) -> int | None:
        return None if self.before is None else self.before.id


class Comparison(NamedTuple):
    """What documents want, held against what there is."""

    authority: Authority
    metalake: Node
    wanted: tuple[Policy, ...]
    edits: list[Edit]
