"""Every privilege may be bound to exactly the levels that Gravitino's access-control document lists for it."""

import pytest

from headgate.model.errors import IllegalPrivilege
from headgate.model.objects import ObjectType
from headgate.model.privileges import CURRENT, FORMER, Grant, Privilege, checked_grants

# As the tables "The types of privileges" of Gravitino 1.0 and "Privilege Types" of 1.3 have them. Where both list a
# privilege they agree, except that 1.3 lets MANAGE_GRANTS be bound to what lies in a metalake as well.
DOCUMENT = """
MANAGE_USERS           Metalake
MANAGE_GROUPS          Metalake
CREATE_ROLE            Metalake
MANAGE_GRANTS          Metalake, Catalog, Schema, Table, View, Topic, Fileset, Model, Function
CREATE_CATALOG         Metalake
USE_CATALOG            Metalake, Catalog
CREATE_SCHEMA          Metalake, Catalog
USE_SCHEMA             Metalake, Catalog, Schema
CREATE_TABLE           Metalake, Catalog, Schema
MODIFY_TABLE           Metalake, Catalog, Schema, Table
SELECT_TABLE           Metalake, Catalog, Schema, Table
CREATE_VIEW            Metalake, Catalog, Schema
SELECT_VIEW            Metalake, Catalog, Schema, View
CREATE_TOPIC           Metalake, Catalog, Schema
PRODUCE_TOPIC          Metalake, Catalog, Schema, Topic
CONSUME_TOPIC          Metalake, Catalog, Schema, Topic
CREATE_FILESET         Metalake, Catalog, Schema
WRITE_FILESET          Metalake, Catalog, Schema, Fileset
READ_FILESET           Metalake, Catalog, Schema, Fileset
REGISTER_MODEL         Metalake, Catalog, Schema
LINK_MODEL_VERSION     Metalake, Catalog, Schema, Model
USE_MODEL              Metalake, Catalog, Schema, Model
CREATE_MODEL           Metalake, Catalog, Schema
CREATE_MODEL_VERSION   Metalake, Catalog, Schema, Model
REGISTER_FUNCTION      Metalake, Catalog, Schema
EXECUTE_FUNCTION       Metalake, Catalog, Schema, Function
MODIFY_FUNCTION        Metalake, Catalog, Schema, Function
CREATE_TAG             Metalake
APPLY_TAG              Metalake, Tag
CREATE_POLICY          Metalake
APPLY_POLICY           Metalake, Policy
REGISTER_JOB_TEMPLATE  Metalake
USE_JOB_TEMPLATE       Metalake, Job_Template
RUN_JOB                Metalake
"""
LEVELS = {
    line.split(maxsplit=1)[0]: {ObjectType.parse(level) for level in line.split(maxsplit=1)[1].split(", ")}
    for line in DOCUMENT.strip().splitlines()
}


def test_the_privileges_are_those_of_the_document() -> None:
    assert {privilege.name for privilege in Privilege} == LEVELS.keys()


@pytest.mark.parametrize("privilege", list(Privilege), ids=lambda privilege: privilege.name)
def test_a_privilege_is_taken_at_its_levels_and_refused_at_every_other(privilege: Privilege) -> None:
    for type in ObjectType:
        if type in LEVELS[privilege.name]:
            assert checked_grants([Grant(privilege)], type) == (Grant(privilege),)
        else:
            with pytest.raises(IllegalPrivilege):
                checked_grants([Grant(privilege)], type)


def test_a_former_name_is_bound_where_the_privilege_it_stands_for_is() -> None:
    assert set(CURRENT).isdisjoint(FORMER)
    for former, current in FORMER.items():
        assert former.bindable == current.bindable
        assert former.current is current.current is current
