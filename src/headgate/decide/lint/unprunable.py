"""Row filters that cannot prune: no file of the table is ever left out by them, so each is rewritten whole."""

from collections.abc import Iterator

from headgate.decide.lint.survey import LintFinding, Survey
from headgate.language.ast import TRUE
from headgate.language.canonical import canonical
from headgate.language.lower.iceberg import lower


def check(survey: Survey) -> Iterator[LintFinding]:
    for case in survey.cases:
        schema = case.rules.shape.schema
        for part in case.verdict.parts:
            for rows in map(canonical, part.rows):
                if rows != TRUE and lower(rows, schema, form="reference", mode="widened") is True:
                    yield LintFinding(
                        "unprunable",
                        part.policy,
                        f"filters {survey.table(case)} by something that no file can be left out by",
                        "compare a column with constants: =, <, IN, starts_with; see docs/language.md",
                    )
