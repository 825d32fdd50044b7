"""Who a principal of one system is in another: a file says it, nothing is guessed.

    user:ann: arn:aws:iam::123456789012:user/ann
    group:analysts: role:analysts
    user:*: "*@%"            # every other user: the same name, with a host

The left side is a principal, or one with a ``*`` for all the rest of that kind and form. The right side is a name, or a kind and a name; its
``*`` stands for the same text. Roles that are not named keep their names, because a push makes its own roles.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

import yaml

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip
from headgate.sync.snapshots.facts import Kind, Principal


class PrincipalMap:
    """The principals of a source under the names of a target."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        self.exact: dict[Principal, Principal] = {}
        self.patterns: list[tuple[Principal, Principal]] = []
        for left, right in entries.items():
            source = Principal.parse(left)
            target = _target(right, source.kind)
            if source.name.count("*") != target.name.count("*") or source.name.count("*") > 1:
                raise IllegalArgument(
                    f"'{clip(left)}: {clip(right)}' must hold one * on both sides, or none",
                    hint="it stands for the same text",
                )
            if "*" in source.name:
                self.patterns.append((source, target))
            else:
                self.exact[source] = target
        if not any(source.kind is Kind.ROLE for source, _ in self.patterns):
            self.patterns.append((Principal(Kind.ROLE, "*"), Principal(Kind.ROLE, "*")))

    @classmethod
    def same_names(cls) -> "PrincipalMap":
        """Every principal has the same name in both systems, because the caller decided so."""
        return cls({"user:*": "*", "group:*": "*"})

    @classmethod
    def read(cls, text: str) -> "PrincipalMap":
        """Read a YAML mapping."""
        try:
            entries = yaml.safe_load(text) or {}
        except yaml.YAMLError as error:
            raise IllegalArgument("the map of principals cannot be read", hint=str(error)) from error
        if not isinstance(entries, dict) or not all(isinstance(v, str) for kv in entries.items() for v in kv):
            raise IllegalArgument(
                "the map of principals must map names to names", hint="user:ann: ann@example.org"
            )
        return cls(entries)

    def of(self, principal: Principal) -> Principal | None:
        """The principal in the target, or None if the map does not name it."""
        found = self.exact.get(principal)
        if found is not None:
            return found
        for source, target in self.patterns:
            before, _, after = source.name.partition("*")
            name = principal.name
            long_enough = len(name) > len(before) + len(after)
            if (
                principal.kind is source.kind
                and long_enough
                and name.startswith(before)
                and name.endswith(after)
            ):
                inner = name[len(before) : len(name) - len(after)]
                return Principal(target.kind, target.name.replace("*", inner))
        return None

    def all(self, principals: Iterable[Principal]) -> dict[Principal, Principal]:
        """Those that are mapped. Two that would become one are refused: the one would get what both had."""
        found: dict[Principal, Principal] = {}
        taken: dict[Principal, Principal] = {}
        for principal in sorted(principals):
            target = self.of(principal)
            if target is None:
                continue
            if target in taken:
                raise IllegalArgument(
                    f"{clip(str(taken[target]))} and {clip(str(principal))} both map to {clip(str(target))}",
                    hint="give each its own name in the map of principals",
                )
            taken[target] = principal
            found[principal] = target
        return found

    @cached_property
    def back(self) -> "PrincipalMap":
        """The same map from the target to the source."""
        pairs = (*self.exact.items(), *self.patterns)
        return PrincipalMap({str(target): str(source) for source, target in pairs})


def _target(text: str, kind: Kind) -> Principal:
    word, colon, name = text.partition(":")
    if colon and name and word in list(Kind):
        return Principal(Kind(word), name)
    if not text:
        raise IllegalArgument("a principal cannot map to an empty name")
    return Principal(kind, text)
