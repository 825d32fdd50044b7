"""Policies that would give every person a lens, and so a governed copy, of their own."""

from collections.abc import Iterator
from typing import Final

from headgate.decide.lint.survey import LintFinding, Survey
from headgate.language.ast import facts
from headgate.model.principals import PrincipalKind

MANY: Final = 10
"""So many different answers are worth a word, if they are at least half as many as the people."""


def check(survey: Survey) -> Iterator[LintFinding]:
    users = [
        m
        for m in survey.authority.members.values()
        if m.metalake == survey.metalake.id and m.kind is PrincipalKind.USER and m.enabled
    ]
    for policy in survey.policies:
        own = (policy.parsed.rows, *(mask for _, mask in policy.parsed.mask))
        for fact in sorted({f for e in own if e for f in facts(e)}, key=lambda f: (f.kind, f.key)):
            if fact.kind == "user":
                yield LintFinding(
                    "lens-per-person",
                    policy.name,
                    "asks for session_user(), so everyone gets a lens of their own",
                    "filter by an attribute or a group that many share",
                )
            if fact.kind == "attribute":
                answers = {m.attributes[fact.key] for m in users if fact.key in m.attributes}
                if len(answers) >= MANY and 2 * len(answers) >= len(users):
                    yield LintFinding(
                        "lens-per-person",
                        policy.name,
                        f"asks for principal.{fact.key}, which has {len(answers)} values among {len(users)} users",
                        "filter by an attribute that more people share",
                    )
