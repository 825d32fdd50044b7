"""Sync and the decision point have one meaning of every privilege: who reads, writes, makes and governs by it."""

import pytest

from headgate.decide import Op
from headgate.decide.operations import OPERATIONS
from headgate.decide.requirements import CallerFact
from headgate.decide.verdict import satisfied
from headgate.model.objects import ObjectType
from headgate.model.privileges import Privilege
from headgate.sync.access.actions import ACTIONS, CANONICAL

T = ObjectType

OPS: dict[str, Op] = {
    "metalake.create_catalog": Op.CREATE_CATALOG,
    "metalake.manage_users": Op.ADD_USER,
    "metalake.manage_groups": Op.ADD_GROUP,
    "metalake.create_role": Op.CREATE_ROLE,
    "metalake.create_tag": Op.CREATE_TAG,
    "metalake.create_policy": Op.CREATE_POLICY,
    "metalake.register_job_template": Op.REGISTER_JOB_TEMPLATE,
    "metalake.manage_grants": Op.GRANT_ROLE,
    "catalog.create_schema": Op.CREATE_SCHEMA,
    "schema.create_table": Op.CREATE_TABLE,
    "schema.create_view": Op.CREATE_VIEW,
    "schema.create_topic": Op.CREATE_TOPIC,
    "schema.create_fileset": Op.CREATE_FILESET,
    "schema.register_model": Op.REGISTER_MODEL,
    "schema.register_function": Op.REGISTER_FUNCTION,
    "table.read": Op.READ_TABLE,
    "table.insert": Op.ALTER_TABLE,
    "table.update": Op.ALTER_TABLE,
    "table.delete": Op.ALTER_TABLE,
    "table.alter": Op.ALTER_TABLE,
    "table.drop": Op.DROP_TABLE,
    "view.read": Op.LOAD_VIEW,
    "view.alter": Op.ALTER_VIEW,
    "view.drop": Op.DROP_VIEW,
    "topic.consume": Op.LOAD_TOPIC,
    "topic.produce": Op.ALTER_TOPIC,
    "topic.alter": Op.ALTER_TOPIC,
    "topic.drop": Op.DROP_TOPIC,
    "fileset.read": Op.LIST_FILES,
    "fileset.write": Op.ALTER_FILESET,
    "fileset.alter": Op.ALTER_FILESET,
    "fileset.drop": Op.DROP_FILESET,
    "model.use": Op.LOAD_MODEL,
    "model.alter": Op.ALTER_MODEL,
    "model.drop": Op.DROP_MODEL,
    "function.alter": Op.ALTER_FUNCTION,
    "function.drop": Op.DROP_FUNCTION,
    "tag.apply": Op.APPLY_TAG,
    "policy.apply": Op.APPLY_POLICY,
    "job_template.use": Op.LOAD_JOB_TEMPLATE,
}
OPS |= {action: Op.GRANT_PRIVILEGE for type in CANONICAL for action in ACTIONS[type] if action.endswith(".manage_grants") and type is not T.METALAKE}  # fmt: skip

ENTERED = int(CallerFact.MEMBER) | Privilege.USE_CATALOG.bit | Privilege.USE_SCHEMA.bit


@pytest.mark.parametrize("action", sorted(OPS))
def test_an_action_is_given_by_exactly_the_privileges_that_its_operation_takes(action: str) -> None:
    """Bound to the metalake, and with the way open, so that nothing but the privilege itself matters."""
    alternatives = OPERATIONS[OPS[action]].alternatives
    for name, gives in CANONICAL[T.METALAKE].items():
        if name not in ("USE_CATALOG", "USE_SCHEMA"):
            may = satisfied(alternatives, ENTERED | Privilege[name].bit)
            assert (action in gives) == may, f"{name}: {action}"


def test_what_includes_another_privilege_is_what_the_document_says() -> None:
    def wider(one: str, other: str) -> bool:
        return CANONICAL[T.METALAKE][one] > CANONICAL[T.METALAKE][other]

    assert wider("MODIFY_TABLE", "SELECT_TABLE")
    assert wider("PRODUCE_TOPIC", "CONSUME_TOPIC")
    assert wider("WRITE_FILESET", "READ_FILESET")
    assert not wider("MODIFY_FUNCTION", "EXECUTE_FUNCTION"), "altering a function does not execute it"
