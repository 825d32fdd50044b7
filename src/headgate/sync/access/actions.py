"""What a privilege lets one do, in one vocabulary for all systems.

An action names the type of object it is done to: ``table.read``. Every privilege of every system denotes a set of actions, so
whether one is exact, narrower or wider than another is worked out, not declared. ``use`` is a gate: it opens the way to what
lies below and is no access in itself.
"""

from typing import Final

from headgate.model.objects import ObjectType
from headgate.model.privileges import CURRENT, READING, Privilege

T = ObjectType

VERBS: Final[dict[ObjectType, tuple[str, ...]]] = {
    T.METALAKE: (
        "create_catalog", "manage_users", "manage_groups", "create_role", "create_tag", "create_policy",
        "register_job_template", "run_job", "manage_grants", "administer",
    ),
    T.CATALOG: ("use", "create_schema", "alter", "drop", "temporary", "extend", "manage_grants", "read_metadata"),
    T.SCHEMA: (
        "use", "create_schema", "create_table", "create_view", "create_topic", "create_fileset", "register_model",
        "register_function", "alter", "drop", "manage_grants", "event", "temporary", "replace", "read_metadata",
    ),
    T.TABLE: (
        "read", "insert", "update", "delete", "alter", "drop", "truncate", "references", "trigger", "index", "lock",
        "manage_grants", "delete_history", "read_metadata",
    ),
    T.VIEW: ("read", "insert", "update", "delete", "alter", "drop", "truncate", "references", "trigger", "lock", "show", "manage_grants", "read_metadata"),
    T.COLUMN: ("read", "insert", "update", "references"),
    T.FUNCTION: ("execute", "alter", "drop", "manage_grants"),
    T.TOPIC: ("consume", "produce", "alter", "drop", "manage_grants"),
    T.FILESET: ("read", "write", "alter", "drop", "manage_grants"),
    T.MODEL: ("use", "link", "alter", "drop", "manage_grants"),
    T.TAG: ("apply", "alter", "drop"),
    T.POLICY: ("apply", "alter", "drop"),
    T.JOB_TEMPLATE: ("use", "alter", "drop"),
    T.ROLE: ("alter", "drop"),
    T.JOB: ("cancel",),
}  # fmt: skip
"""Everything that can be done to each type of object. An owner may do all of it."""

ACTIONS: Final = {type: frozenset(f"{type}.{verb}" for verb in verbs) for type, verbs in VERBS.items()}

USE_CATALOG: Final = "catalog.use"
USE_SCHEMA: Final = "schema.use"
GATES: Final = frozenset({USE_CATALOG, USE_SCHEMA})

_TYPES: Final = {action: type for type, actions in ACTIONS.items() for action in actions}


def type_of(action: str) -> ObjectType:
    """The type of object an action is done to."""
    return _TYPES[action]


def of(type: ObjectType, *verbs: str) -> frozenset[str]:
    """These verbs as actions on a type."""
    found = frozenset(f"{type}.{verb}" for verb in verbs)
    assert found <= ACTIONS[type], f"{sorted(found - ACTIONS[type])} are no actions"
    return found


_LEAVES = (T.CATALOG, T.SCHEMA, T.TABLE, T.VIEW, T.TOPIC, T.FILESET, T.MODEL, T.FUNCTION)

_OWN: Final[dict[Privilege, frozenset[str]]] = {
    Privilege.CREATE_CATALOG: of(T.METALAKE, "create_catalog"),
    Privilege.USE_CATALOG: of(T.CATALOG, "use"),
    Privilege.CREATE_SCHEMA: of(T.CATALOG, "create_schema") | of(T.SCHEMA, "create_schema"),
    Privilege.USE_SCHEMA: of(T.SCHEMA, "use"),
    Privilege.CREATE_TABLE: of(T.SCHEMA, "create_table"),
    Privilege.CREATE_TOPIC: of(T.SCHEMA, "create_topic"),
    Privilege.CREATE_FILESET: of(T.SCHEMA, "create_fileset"),
    Privilege.MODIFY_TABLE: of(T.TABLE, "insert", "update", "delete", "alter"),
    Privilege.PRODUCE_TOPIC: of(T.TOPIC, "produce", "alter"),
    Privilege.WRITE_FILESET: of(T.FILESET, "write", "alter"),
    Privilege.REGISTER_MODEL: of(T.SCHEMA, "register_model"),
    Privilege.LINK_MODEL_VERSION: of(T.MODEL, "link"),
    Privilege.MANAGE_USERS: of(T.METALAKE, "manage_users"),
    Privilege.MANAGE_GROUPS: of(T.METALAKE, "manage_groups"),
    Privilege.CREATE_ROLE: of(T.METALAKE, "create_role"),
    Privilege.MANAGE_GRANTS: of(T.METALAKE, "manage_grants").union(
        *(of(t, "manage_grants") for t in _LEAVES)
    ),
    Privilege.CREATE_TAG: of(T.METALAKE, "create_tag"),
    Privilege.APPLY_TAG: of(T.TAG, "apply"),
    Privilege.CREATE_POLICY: of(T.METALAKE, "create_policy"),
    Privilege.APPLY_POLICY: of(T.POLICY, "apply"),
    Privilege.REGISTER_JOB_TEMPLATE: of(T.METALAKE, "register_job_template"),
    Privilege.RUN_JOB: of(T.METALAKE, "run_job"),
    Privilege.USE_JOB_TEMPLATE: of(T.JOB_TEMPLATE, "use"),
    Privilege.CREATE_VIEW: of(T.SCHEMA, "create_view"),
    Privilege.REGISTER_FUNCTION: of(T.SCHEMA, "register_function"),
    Privilege.EXECUTE_FUNCTION: of(T.FUNCTION, "execute"),
    Privilege.MODIFY_FUNCTION: of(T.FUNCTION, "alter"),
}
"""What each privilege gives besides reading."""

_READ: Final = {T.TABLE: "read", T.VIEW: "read", T.TOPIC: "consume", T.FILESET: "read", T.MODEL: "use"}
"""What reading a leaf is called. A function has none: who may alter one may load it, and not execute it."""


def _gives(privilege: Privilege) -> frozenset[str]:
    """INVARIANT: what reads a leaf here reads it at the decision point, and nothing else does."""
    reads = (of(type, verb) for type, verb in _READ.items() if privilege in READING[type])
    return _OWN.get(privilege, frozenset()).union(*reads)


_CANONICAL: Final[dict[Privilege, frozenset[str]]] = {privilege: _gives(privilege) for privilege in CURRENT}

_BELOW: Final[dict[ObjectType, frozenset[ObjectType]]] = {
    T.METALAKE: frozenset(T),
    T.CATALOG: frozenset({T.CATALOG, T.SCHEMA, T.TABLE, T.VIEW, T.TOPIC, T.FILESET, T.MODEL, T.FUNCTION}),
    T.SCHEMA: frozenset({T.SCHEMA, T.TABLE, T.VIEW, T.TOPIC, T.FILESET, T.MODEL, T.FUNCTION}),
}


def reaches(holder: ObjectType, below: ObjectType) -> bool:
    """Whether an object of the one type is, or can hold, one of the other."""
    return holder is below or below in _BELOW.get(holder, ())


def _canonical_at(type: ObjectType) -> dict[str, frozenset[str]]:
    if type is T.COLUMN:
        return {
            "SELECT_TABLE": of(T.COLUMN, "read"),
            "MODIFY_TABLE": of(T.COLUMN, "read", "insert", "update"),
        }
    return {
        privilege.name: frozenset(a for a in actions if reaches(type, type_of(a)))
        for privilege, actions in _CANONICAL.items()
        if type in privilege.bindable
    }


CANONICAL: Final[dict[ObjectType, dict[str, frozenset[str]]]] = {
    type: table for type in ObjectType if (table := _canonical_at(type))
}
"""What each canonical privilege gives when it is bound to an object of each type."""
