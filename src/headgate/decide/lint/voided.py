"""Restrictions that a grant voids: policies that bind others through a tag, and who may take that tag away from them.

Whom a policy binds cannot lift it for themselves; whom it does not bind can lift it for the others.
"""

from collections.abc import Iterator

from headgate.decide.lint.survey import LintFinding, Survey, SurveyCase, some
from headgate.decide.operations import Op
from headgate.decide.policies.clauses import Clause
from headgate.decide.verdict import allowed
from headgate.model.objects import ObjectType


def check(survey: Survey) -> Iterator[LintFinding]:
    for case in survey.cases:
        bound = {clause.id for _, clause in case.bound()}
        for clause in case.rules.clauses:
            for tag in sorted(clause.parsed.tags) if clause.id not in bound else ():
                able = _able(survey, case, clause, tag)
                if able:
                    yield LintFinding(
                        "voided",
                        clause.name,
                        f"binds others on {survey.table(case)} through tag '{tag}', which {some(able)} may take away",
                        "revoke apply_tag on the tag, or name the columns",
                    )


def _able(survey: Survey, case: SurveyCase, clause: Clause, tag: str) -> list[str]:
    """Those of a case who may take a tag off the table, but not change the policy."""
    authority, table = survey.authority, case.tables[0]
    node = authority.child(survey.metalake.id, ObjectType.TAG, tag)
    policy = authority.objects.get(clause.id)
    found = []
    for name in case.names:
        caller = authority.caller(survey.circumstances.identity(name), survey.metalake.id)
        may = node is not None and allowed(authority, caller, Op.APPLY_TAG, node)
        rightful = policy is not None and allowed(authority, caller, Op.ALTER_POLICY, policy)
        if may and not rightful and allowed(authority, caller, Op.LOAD_TABLE, table):
            found.append(name)
    return found
