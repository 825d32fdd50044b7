"""Policies that make no difference: wherever they bind someone, what is seen would be the same without them."""

from collections.abc import Iterator

from headgate.decide.lint.survey import LintFinding, Survey
from headgate.decide.policies.lens import apply_clause, decide


def check(survey: Survey) -> Iterator[LintFinding]:
    acting: set[str] = set()
    idle: dict[str, str] = {}
    for case in survey.cases:
        for bit, clause in case.bound():
            if clause.name in acting or apply_clause(clause, case.request).nothing is not None:
                continue
            without = decide(case.rules, case.bits & ~bit, case.request)
            if (without.lens, bool(without.denials)) == (case.verdict.lens, bool(case.verdict.denials)):
                others = [c.name for b, c in case.bound() if b != bit]
                idle.setdefault(clause.name, ", ".join(f"'{name}'" for name in others[:3]))
            else:
                acting.add(clause.name)
    for name, beside in idle.items():
        if name not in acting:
            yield LintFinding(
                "shadowed", name, f"makes no difference beside {beside}", "remove it, or narrow the others"
            )
