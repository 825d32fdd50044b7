"""Scenario files: a small lake, and rows that say who may do what on what, and why.

``given`` names the owner of the metalake ``lake``, its objects with their owners, roles (whom they are given ``to``, what
they say of which object; a leading ``-`` denies) and groups. Everybody who is named becomes a user. A row is who,
operation, object, answer, why. ``ann in staff`` has a token that claims the group, ``ann as reader`` uses that role only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from headgate.decide import Op
from headgate.decide.operations import LOADS
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import ActiveRoles, Identity, PrincipalKind, PrincipalRef

FOLDER = Path(__file__).parent / "scenarios"
LAKE = "lake"
ADMIN = "root"

BY_LOADING = ("get_owner", "list_object_tags", "list_object_policies", "get_credentials")
"""What has no operation of its own: it takes loading the object."""


@dataclass(frozen=True)
class Row:
    """One question and its answer: allowed, denied, or the names that a list shows."""

    scenario: str
    who: str
    operation: str
    object: str
    answer: bool | tuple[str, ...]
    why: str

    @property
    def id(self) -> str:
        return f"{self.scenario}: {self.who} · {self.operation} · {self.object}"

    @property
    def allowed(self) -> bool:
        return self.answer is not False

    @property
    def identity(self) -> Identity:
        words = self.who.split()
        groups = frozenset(words[2].split(",")) if "in" in words else frozenset[str]()
        active = ActiveRoles.parse(words[2]) if "as" in words else ActiveRoles()
        return Identity(words[0], groups, active)

    @property
    def about(self) -> PrincipalRef | None:
        """The user or group the question is about, if it is about one."""
        kind, _, name = self.object.partition(" ")
        return PrincipalRef(PrincipalKind(kind), name) if kind in tuple(PrincipalKind) else None

    @property
    def ref(self) -> ObjectRef:
        """The object that is asked of: for a user or group the metalake."""
        if self.about is not None:
            return ObjectRef(LAKE, ObjectType.METALAKE)
        return named(self.object.partition(" on ")[0])

    @property
    def beside(self) -> ObjectRef | None:
        """The object that a tag or policy is put on."""
        _, on, other = self.object.partition(" on ")
        return named(other) if on else None

    @property
    def op(self) -> Op:
        return LOADS[self.ref.type] if self.operation in BY_LOADING else Op[self.operation.upper()]


def named(text: str) -> ObjectRef:
    type, _, name = text.partition(" ")
    return ObjectRef.parse(LAKE, ObjectType(type), name)


@dataclass(frozen=True)
class Scenario:
    name: str
    rule: str
    given: dict[str, Any]
    rows: tuple[Row, ...]

    @property
    def objects(self) -> dict[ObjectRef, str | None]:
        """Objects and their owners, containers first."""
        return {named(text): owner for text, owner in self.given.get("objects", {}).items()}

    @property
    def roles(self) -> dict[str, dict[str, Any]]:
        return {name: dict(role) for name, role in self.given.get("roles", {}).items()}

    @property
    def groups(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = self.given.get("groups", {})
        return {**{name: [] for name in self._told("group:")}, **found}

    @property
    def users(self) -> dict[str, bool]:
        """Everybody named, and whether they are enabled."""
        disabled = set(self.given.get("disabled", []))
        return {name: name not in disabled for name in {*self._told(""), *disabled}}

    def _told(self, prefix: str) -> list[str]:
        told = [self.given["owner"], *self.given.get("users", []), *(o for o in self.objects.values() if o)]
        for role in self.roles.values():
            told += [*role.get("to", []), *([role["owner"]] if "owner" in role else [])]
        for members in self.given.get("groups", {}).values():
            told += members
        if prefix:
            return sorted({name.removeprefix(prefix) for name in told if name.startswith(prefix)})
        return sorted({name for name in told if ":" not in name})


def read(path: Path) -> Scenario:
    told = yaml.safe_load(path.read_text())
    rows = tuple(_rows(path.stem, told["rows"]))
    return Scenario(path.stem, told["rule"], told["given"], rows)


def _rows(scenario: str, told: list[list[Any]]) -> Iterator[Row]:
    for who, operations, object, answer, why in told:
        for operation in operations if isinstance(operations, list) else [operations]:
            shown = tuple(answer) if isinstance(answer, list) else {"allow": True, "deny": False}[answer]
            yield Row(scenario, who, operation, object, shown, why)


SCENARIOS = {path.stem: read(path) for path in sorted(FOLDER.glob("*.yaml"))}
ROWS = [row for scenario in SCENARIOS.values() for row in scenario.rows]
