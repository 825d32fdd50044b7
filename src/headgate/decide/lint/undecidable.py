"""Policies that deny because they cannot be evaluated: a missing attribute, a column that is gone, a type that does not fit."""

from collections.abc import Iterator

from headgate.decide.lint.survey import LintFinding, Survey, some
from headgate.decide.policies.lens import apply_clause


def check(survey: Survey) -> Iterator[LintFinding]:
    for case in survey.cases:
        for _, clause in case.bound():
            applied = apply_clause(clause, case.request)
            if applied.deny is not None and clause.parsed.policy.effect != "deny":
                yield LintFinding(
                    "undecidable",
                    clause.name,
                    f"denies {some(case.names)} on {survey.table(case)}: {applied.deny}",
                    "say what then, e.g. coalesce(principal.x, '…'), or set what is missing",
                )
