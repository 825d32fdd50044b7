"""Policies that deny because they cannot be evaluated: a missing attribute, a column that is gone, a type that does not fit."""

from collections.abc import Iterator

from headgate.decide.lens import said
from headgate.decide.lint.survey import Finding, Survey, some


def check(survey: Survey) -> Iterator[Finding]:
    for case in survey.cases:
        for _, clause in case.bound():
            told = said(clause, case.request)
            if told.deny is not None and clause.parsed.policy.effect != "deny":
                yield Finding(
                    "undecidable",
                    clause.name,
                    f"denies {some(case.names)} on {survey.table(case)}: {told.deny}",
                    "say what then, e.g. coalesce(principal.x, '…'), or set what is missing",
                )
