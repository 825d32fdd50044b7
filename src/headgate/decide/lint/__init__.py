"""The linter of policies: one rule in each module, over policies, people and tables as they are together. No I/O; what
comes in is a `Survey`, what goes out are findings that say what is odd and what to do. `RULES` lists the rules."""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from headgate.decide.lint import (
    conflicts,
    lens_per_person,
    no_columns,
    shadowed,
    to_nobody,
    undecidable,
    unprunable,
    voided,
)
from headgate.decide.lint.survey import LintFinding, Survey

RULES: Final[dict[str, Callable[[Survey], Iterator[LintFinding]]]] = {
    "conflicts": conflicts.check,
    "lens-per-person": lens_per_person.check,
    "no-columns": no_columns.check,
    "shadowed": shadowed.check,
    "to-nobody": to_nobody.check,
    "undecidable": undecidable.check,
    "unprunable": unprunable.check,
    "voided": voided.check,
}


def lint(survey: Survey) -> list[LintFinding]:
    """What every rule finds, by policy; also what the policies say is meant so, with the reason that they give."""
    reasons = {policy.name: dict(policy.parsed.policy.accept) for policy in survey.policies}
    found = {finding for rule in RULES.values() for finding in rule(survey)}
    return [
        replace(finding, accepted=reasons.get(finding.policy, {}).get(finding.rule))
        for finding in sorted(found, key=lambda finding: (finding.policy, finding.rule, finding.message))
    ]


__all__ = ["RULES", "LintFinding", "Survey", "lint"]
