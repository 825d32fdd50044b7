"""Restrictions that a grant voids: whom a policy binds through a tag, and who may take that tag away."""

from collections.abc import Iterator

from headgate.decide.lint.survey import Finding, Survey, some
from headgate.decide.operations import Op
from headgate.decide.verdict import allowed
from headgate.model.objects import ObjectType


def check(survey: Survey) -> Iterator[Finding]:
    authority = survey.authority
    for case in survey.cases:
        for _, clause in case.bound():
            for tag in sorted(clause.parsed.tags):
                node = authority.child(survey.metalake.id, ObjectType.TAG, tag)
                if node is None:
                    continue
                able = []
                for name in case.names:
                    caller = authority.caller(survey.circumstances.identity(name), survey.metalake.id)
                    table = case.tables[0]
                    if allowed(authority, caller, Op.APPLY_TAG, node) and allowed(
                        authority, caller, Op.LOAD_TABLE, table
                    ):
                        able.append(name)
                if able:
                    yield Finding(
                        "voided",
                        clause.name,
                        f"binds {some(able)} on {survey.table(case)} through tag '{tag}', which they may take away",
                        "revoke apply_tag on the tag, or name the columns",
                    )
