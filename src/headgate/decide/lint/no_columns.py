"""Policies that do nothing on any table: no tag matches, or no table ever had the columns they name."""

from collections.abc import Iterator

from headgate.decide.lint.survey import LintFinding, Survey


def check(survey: Survey) -> Iterator[LintFinding]:
    doing = {clause.id for case in survey.cases for clause in case.rules.clauses}
    skipped = {s.id: s.why for case in survey.cases for s in case.rules.skipped}
    for policy in survey.policies:
        if policy.id not in doing:
            why = skipped.get(policy.id, "there is no table below what it is on")
            yield LintFinding(
                "no-columns",
                policy.name,
                f"does nothing on any table: {why}",
                "check on, when, columns and tags",
            )
