"""Policies that bind nobody: `to` names no enabled user, or `except` takes all of them back."""

from collections.abc import Iterator

from headgate.decide.changes.effects import people
from headgate.decide.lint.survey import LintFinding, Survey
from headgate.decide.policies.people import person


def check(survey: Survey) -> Iterator[LintFinding]:
    everyone = people_of(survey)
    for policy in survey.policies:
        audience = policy.parsed
        meant = [w for w in everyone if audience.to.has(w[0], w[1], w[2])]
        if not meant:
            yield LintFinding(
                "to-nobody",
                policy.name,
                "is for nobody: to names no user, group or role that anyone is or has",
                "check the names in to",
            )
        elif all(audience.except_.has(w[0], w[1], w[2]) for w in meant):
            yield LintFinding(
                "to-nobody", policy.name, "binds nobody: everyone it is for is excepted", "narrow except"
            )


def people_of(survey: Survey) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """Every enabled user with their groups and roles."""
    found = []
    for _, names in people(survey.authority, survey.metalake, (), survey.circumstances):
        for name in names:
            caller = survey.authority.caller(survey.circumstances.identity(name), survey.metalake.id)
            who = person(survey.authority, caller)
            found.append((who.user, who.groups, who.roles))
    return found
