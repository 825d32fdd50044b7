"""Policies that cannot hold together: different masks of equal priority, or one mask inside another."""

from collections.abc import Iterator

from headgate.decide.lint.survey import LintFinding, Survey, some


def check(survey: Survey) -> Iterator[LintFinding]:
    for case in survey.cases:
        for denial in case.verdict.denials:
            if len(denial.policies) > 1:
                others = ", ".join(f"'{name}'" for name in denial.policies[1:])
                yield LintFinding(
                    "conflicts",
                    denial.policies[0],
                    f"conflicts with {others} on {survey.table(case)} and denies {some(case.names)}: {denial.why}",
                    "give one of them a higher priority, or narrow to and columns",
                )
