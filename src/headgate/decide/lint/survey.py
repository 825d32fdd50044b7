"""What rules look at: every policy with what it is on, and the verdict for all people and tables that differ."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import msgspec

from headgate.decide.authority import Authority, Node
from headgate.decide.changes.effects import ComparedCircumstances, people
from headgate.decide.policies.clauses import Clause, TableRules, rules_of
from headgate.decide.policies.lens import LensVerdict, binding, decide
from headgate.decide.policies.people import Person, request_of
from headgate.decide.policies.rules import Parsed, parsed
from headgate.decide.policies.shape import Shape
from headgate.language.errors import LanguageError
from headgate.language.fold import Request


class LintFinding(msgspec.Struct, frozen=True):
    """Something odd about a policy, and what to do about it."""

    rule: str
    policy: str
    message: str
    next: str
    accepted: str | None = None
    """The reason for which the policy itself says that it is meant so."""


@dataclass(frozen=True, eq=False)
class Ruled:
    """An enabled policy and the object that it is on."""

    id: int
    name: str
    on: Node
    parsed: Parsed


@dataclass(frozen=True, eq=False)
class SurveyCase:
    """People whom no policy can tell apart, before tables that none can tell apart."""

    who: Person
    names: tuple[str, ...]
    rules: TableRules
    tables: tuple[Node, ...]
    bits: int
    request: Request
    verdict: LensVerdict

    def bound(self) -> Iterator[tuple[int, Clause]]:
        """The clauses that bind these people, each with its bit."""
        for number, clause in enumerate(self.rules.clauses):
            if self.bits >> number & 1:
                yield 1 << number, clause


@dataclass(frozen=True, eq=False)
class Survey:
    """Policies, people and tables as they are together, or as they would be."""

    authority: Authority
    metalake: Node
    tables: tuple[tuple[Node, Shape], ...]
    circumstances: ComparedCircumstances

    @cached_property
    def policies(self) -> tuple[Ruled, ...]:
        found = []
        for object in self.authority.labels:
            for label in self.authority.labels[object]:
                rule = self.authority.policies.get(label.label)
                on = self.authority.objects[object]
                if rule is None or not rule.enabled or on.metalake != self.metalake.id:
                    continue
                try:
                    found.append(
                        Ruled(rule.id, self.authority.objects[rule.id].name, on, parsed(rule.document))
                    )
                except LanguageError:
                    continue
        return tuple(sorted(found, key=lambda one: one.name))

    @cached_property
    def everyone(self) -> list[tuple[Person, list[str]]]:
        return people(self.authority, self.metalake, self._rules, self.circumstances)

    @cached_property
    def _rules(self) -> tuple[TableRules, ...]:
        return tuple(rules_of(self.authority, table, shape) for table, shape in self.tables)

    @cached_property
    def cases(self) -> tuple[SurveyCase, ...]:
        alike: dict[int, tuple[TableRules, list[Node]]] = {}
        for (table, _), rules in zip(self.tables, self._rules, strict=True):
            alike.setdefault(id(rules), (rules, []))[1].append(table)
        return tuple(self._cases(alike.values()))

    def _cases(self, alike: Iterable[tuple[TableRules, list[Node]]]) -> Iterator[SurveyCase]:
        around = self.circumstances
        for rules, tables in alike:
            for who, names in self.everyone:
                request = request_of(who, around.identity(who.user), around.now)
                bits = binding(rules, who, around.purpose, around.now)
                verdict = decide(rules, bits, request)
                yield SurveyCase(who, tuple(names), rules, tuple(tables), bits, request, verdict)

    def table(self, case: SurveyCase) -> str:
        """One of the tables of a case by name, and how many more there are."""
        name = self.authority.ref(case.tables[0]).full_name
        return name if len(case.tables) == 1 else f"{name} and {len(case.tables) - 1} more"


def some(names: Iterable[str], most: int = 3) -> str:
    """A few names, and how many more there are."""
    listed = sorted(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
