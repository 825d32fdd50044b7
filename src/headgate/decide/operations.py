"""The operations and the exact condition of each: the one place that says what anything requires.

Every door registers a route with one of these; check, list and explain evaluate them; nothing else grants anything.
`on` says which object the condition is evaluated on: the object itself, or for creation the one that will hold it.
"""

import enum
from typing import Final

import msgspec

from headgate.decide.requirements import CallerFact, Requirement, all_of, alternatives_of, any_of, has, is_
from headgate.model.objects import ObjectType
from headgate.model.privileges import READING
from headgate.model.privileges import Privilege as P

_T = ObjectType


class Operation(msgspec.Struct, frozen=True, eq=False):
    """One operation: the object it is asked of, its condition, and for a list the condition of each entry.

    Compared by identity: two operations with the same condition are still two.
    """

    on: ObjectType
    requirement: Requirement
    shows: Requirement | None = None
    alternatives: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()
    whole: bool = False
    """Whether it changes a table, or all tables below its object: then the caller must see all of each."""

    @property
    def lists(self) -> bool:
        return self.shows is not None


_MEMBER = is_(CallerFact.MEMBER)
_ADMIN = is_(CallerFact.SERVICE_ADMIN)
_METALAKE = is_(CallerFact.OWNS_METALAKE)
_TOP = is_(CallerFact.OWNS_METALAKE, CallerFact.OWNS_CATALOG)
_OWN = is_(CallerFact.OWNS_OBJECT)
_SELF = is_(CallerFact.SELF)
_SCHEMA_OWNER = all_of(is_(CallerFact.OWNS_SCHEMA), has(P.USE_CATALOG))
_USE = all_of(has(P.USE_CATALOG), has(P.USE_SCHEMA))


def _in_schema(leaf: Requirement) -> Requirement:
    """What holds of everything in a schema: the owners above, or use of the way there and the leaf's own condition."""
    return any_of(_TOP, _SCHEMA_OWNER, all_of(_USE, leaf))


def _read(type: ObjectType) -> Requirement:
    """Who reads a leaf: its owner, and whoever has a privilege that includes reading it.

    INVARIANT: the only definition. Loading, planning, credentials, statistics and lists all rest on it, so no door
    refuses or gives what another does not.
    """
    return any_of(_OWN, has(*READING[type]))


def _listed(type: ObjectType) -> Requirement:
    """An entry of a list is shown to owners of any level and to those who may read it."""
    return any_of(_TOP, is_(CallerFact.OWNS_SCHEMA), _read(type))


_LOAD_CATALOG = any_of(has(P.USE_CATALOG), _TOP)
_LOAD_SCHEMA = any_of(
    _TOP, all_of(has(P.USE_CATALOG), any_of(is_(CallerFact.OWNS_SCHEMA), has(P.USE_SCHEMA)))
)
_LOAD_ROLE = any_of(_METALAKE, has(P.MANAGE_GRANTS), _OWN, _SELF)
_LOAD_TAG = any_of(_METALAKE, _OWN, has(P.APPLY_TAG))
_LOAD_POLICY = any_of(_METALAKE, _OWN, has(P.APPLY_POLICY))
_LOAD_TEMPLATE = any_of(_METALAKE, _OWN, has(P.USE_JOB_TEMPLATE))
_JOB = any_of(_METALAKE, _OWN)
_USERS = any_of(_METALAKE, has(P.MANAGE_USERS))
_GROUPS = any_of(_METALAKE, has(P.MANAGE_GROUPS))

_OWNER = is_(
    CallerFact.OWNS_METALAKE, CallerFact.OWNS_CATALOG, CallerFact.OWNS_SCHEMA, CallerFact.OWNS_OBJECT
)
"""Owns the object or something that contains it. No USE of the parents is asked: to govern is not to enter."""
_MANAGE_GRANTS = any_of(has(P.MANAGE_GRANTS), _OWNER)


class Op(enum.Enum):
    """Every operation of every door."""

    # metalakes
    CREATE_METALAKE = Operation(_T.METALAKE, _ADMIN)
    LIST_METALAKES = Operation(_T.METALAKE, all_of(), shows=_MEMBER)
    LOAD_METALAKE = Operation(_T.METALAKE, _MEMBER)
    ALTER_METALAKE = Operation(_T.METALAKE, _METALAKE)
    SET_METALAKE_IN_USE = Operation(_T.METALAKE, _METALAKE)
    DROP_METALAKE = Operation(_T.METALAKE, _METALAKE, whole=True)

    # catalogs
    LIST_CATALOGS = Operation(_T.METALAKE, _MEMBER, shows=_LOAD_CATALOG)
    CREATE_CATALOG = Operation(_T.METALAKE, any_of(has(P.CREATE_CATALOG), _METALAKE))
    TEST_CONNECTION = Operation(_T.METALAKE, any_of(has(P.CREATE_CATALOG), _METALAKE))
    TEST_CATALOG_CONNECTION = Operation(_T.CATALOG, _TOP)
    LOAD_CATALOG = Operation(_T.CATALOG, _LOAD_CATALOG)
    SET_CATALOG_IN_USE = Operation(_T.CATALOG, _TOP)
    ALTER_CATALOG = Operation(_T.CATALOG, _TOP)
    # To register what lies in storage already, and to choose a place outside a schema's own folder.
    CHOOSE_PLACE = Operation(_T.CATALOG, _TOP)
    DROP_CATALOG = Operation(_T.CATALOG, _TOP, whole=True)

    # schemas
    LIST_SCHEMAS = Operation(
        _T.CATALOG, _LOAD_CATALOG, shows=any_of(_TOP, is_(CallerFact.OWNS_SCHEMA), has(P.USE_SCHEMA))
    )
    CREATE_SCHEMA = Operation(
        _T.CATALOG,
        any_of(_TOP, is_(CallerFact.OWNS_SCHEMA), all_of(has(P.USE_CATALOG), has(P.CREATE_SCHEMA))),
    )
    LOAD_SCHEMA = Operation(_T.SCHEMA, _LOAD_SCHEMA)
    ALTER_SCHEMA = Operation(_T.SCHEMA, any_of(_TOP, _SCHEMA_OWNER))
    DROP_SCHEMA = Operation(_T.SCHEMA, any_of(_TOP, _SCHEMA_OWNER), whole=True)

    # tables and partitions
    LIST_TABLES = Operation(_T.SCHEMA, _LOAD_SCHEMA, shows=_listed(_T.TABLE))
    CREATE_TABLE = Operation(_T.SCHEMA, _in_schema(has(P.CREATE_TABLE)))
    LOAD_TABLE = Operation(_T.TABLE, _in_schema(_read(_T.TABLE)))
    READ_TABLE = Operation(_T.TABLE, _in_schema(_read(_T.TABLE)))
    ALTER_TABLE = Operation(_T.TABLE, _in_schema(any_of(_OWN, has(P.MODIFY_TABLE))), whole=True)
    DROP_TABLE = Operation(_T.TABLE, _in_schema(_OWN), whole=True)
    READ_PARTITIONS = Operation(_T.TABLE, _in_schema(_read(_T.TABLE)))
    WRITE_PARTITIONS = Operation(_T.TABLE, _in_schema(any_of(_OWN, has(P.MODIFY_TABLE))), whole=True)
    READ_STATISTICS = Operation(_T.TABLE, _in_schema(_read(_T.TABLE)))
    WRITE_STATISTICS = Operation(_T.TABLE, _in_schema(any_of(_OWN, has(P.MODIFY_TABLE))), whole=True)

    # views
    LIST_VIEWS = Operation(_T.SCHEMA, _LOAD_SCHEMA, shows=_listed(_T.VIEW))
    CREATE_VIEW = Operation(_T.SCHEMA, _in_schema(has(P.CREATE_VIEW)))
    LOAD_VIEW = Operation(_T.VIEW, _in_schema(_read(_T.VIEW)))
    ALTER_VIEW = Operation(_T.VIEW, _in_schema(_OWN))
    DROP_VIEW = Operation(_T.VIEW, _in_schema(_OWN))

    # functions
    LIST_FUNCTIONS = Operation(_T.SCHEMA, _LOAD_SCHEMA, shows=_listed(_T.FUNCTION))
    REGISTER_FUNCTION = Operation(_T.SCHEMA, _in_schema(has(P.REGISTER_FUNCTION)))
    LOAD_FUNCTION = Operation(_T.FUNCTION, _in_schema(_read(_T.FUNCTION)))
    ALTER_FUNCTION = Operation(_T.FUNCTION, _in_schema(any_of(_OWN, has(P.MODIFY_FUNCTION))))
    DROP_FUNCTION = Operation(_T.FUNCTION, _in_schema(_OWN))

    # filesets
    LIST_FILESETS = Operation(_T.SCHEMA, _LOAD_SCHEMA, shows=_listed(_T.FILESET))
    CREATE_FILESET = Operation(_T.SCHEMA, _in_schema(has(P.CREATE_FILESET)))
    LOAD_FILESET = Operation(_T.FILESET, _in_schema(_read(_T.FILESET)))
    ALTER_FILESET = Operation(_T.FILESET, _in_schema(any_of(_OWN, has(P.WRITE_FILESET))))
    DROP_FILESET = Operation(_T.FILESET, _in_schema(_OWN))
    LIST_FILES = Operation(_T.FILESET, _in_schema(_read(_T.FILESET)))

    # topics
    LIST_TOPICS = Operation(_T.SCHEMA, _LOAD_SCHEMA, shows=_listed(_T.TOPIC))
    CREATE_TOPIC = Operation(_T.SCHEMA, _in_schema(has(P.CREATE_TOPIC)))
    LOAD_TOPIC = Operation(_T.TOPIC, _in_schema(_read(_T.TOPIC)))
    ALTER_TOPIC = Operation(_T.TOPIC, _in_schema(any_of(_OWN, has(P.PRODUCE_TOPIC))))
    DROP_TOPIC = Operation(_T.TOPIC, _in_schema(_OWN))

    # models and their versions
    LIST_MODELS = Operation(_T.SCHEMA, _LOAD_SCHEMA, shows=_listed(_T.MODEL))
    REGISTER_MODEL = Operation(_T.SCHEMA, _in_schema(has(P.REGISTER_MODEL)))
    LOAD_MODEL = Operation(_T.MODEL, _in_schema(_read(_T.MODEL)))
    ALTER_MODEL = Operation(_T.MODEL, _in_schema(_OWN))
    DROP_MODEL = Operation(_T.MODEL, _in_schema(_OWN))
    READ_MODEL_VERSIONS = Operation(_T.MODEL, _in_schema(_read(_T.MODEL)))
    LINK_MODEL_VERSION = Operation(
        _T.MODEL, _in_schema(any_of(_OWN, all_of(has(P.USE_MODEL), has(P.LINK_MODEL_VERSION))))
    )
    ALTER_MODEL_VERSION = Operation(_T.MODEL, _in_schema(_OWN))
    DELETE_MODEL_VERSION = Operation(_T.MODEL, _in_schema(_OWN))

    # users and groups: asked of the metalake, SELF tells about the user or group named
    LIST_USERS = Operation(_T.METALAKE, _MEMBER, shows=any_of(_USERS, _SELF))
    GET_USER = Operation(_T.METALAKE, any_of(_USERS, _SELF))
    ADD_USER = Operation(_T.METALAKE, _USERS)
    REMOVE_USER = Operation(_T.METALAKE, _USERS)
    LIST_GROUPS = Operation(_T.METALAKE, _MEMBER, shows=any_of(_GROUPS, _SELF))
    GET_GROUP = Operation(_T.METALAKE, any_of(_GROUPS, _SELF))
    ADD_GROUP = Operation(_T.METALAKE, _GROUPS)
    REMOVE_GROUP = Operation(_T.METALAKE, _GROUPS)
    SET_GROUP_MEMBERS = Operation(_T.METALAKE, _GROUPS)
    # Policies show people what their attributes say, so changing these takes the right to grant as well.
    SET_USER_ATTRIBUTES = Operation(
        _T.METALAKE, any_of(_METALAKE, all_of(has(P.MANAGE_USERS), has(P.MANAGE_GRANTS)))
    )

    # roles, grants and owners
    LIST_ROLES = Operation(_T.METALAKE, _MEMBER, shows=_LOAD_ROLE)
    CREATE_ROLE = Operation(_T.METALAKE, any_of(_METALAKE, has(P.CREATE_ROLE)))
    GET_ROLE = Operation(_T.ROLE, _LOAD_ROLE)
    DELETE_ROLE = Operation(_T.ROLE, any_of(_METALAKE, _OWN))
    GRANT_ROLE = Operation(_T.METALAKE, any_of(_METALAKE, has(P.MANAGE_GRANTS)))
    REVOKE_ROLE = Operation(_T.METALAKE, any_of(_METALAKE, has(P.MANAGE_GRANTS)))
    OVERRIDE_ROLE = Operation(_T.METALAKE, any_of(_METALAKE, has(P.MANAGE_GRANTS)))
    GRANT_PRIVILEGE = Operation(_T.METALAKE, _MANAGE_GRANTS)
    REVOKE_PRIVILEGE = Operation(_T.METALAKE, _MANAGE_GRANTS)
    SET_OWNER = Operation(_T.METALAKE, _OWNER)
    LIST_OBJECT_ROLES = Operation(_T.METALAKE, _MEMBER, shows=any_of(_METALAKE, _OWN, _SELF))

    # tags and policies
    LIST_TAGS = Operation(_T.METALAKE, _MEMBER, shows=_LOAD_TAG)
    CREATE_TAG = Operation(_T.METALAKE, any_of(_METALAKE, has(P.CREATE_TAG)))
    LOAD_TAG = Operation(_T.TAG, _LOAD_TAG)
    ALTER_TAG = Operation(_T.TAG, any_of(_METALAKE, _OWN))
    DROP_TAG = Operation(_T.TAG, any_of(_METALAKE, _OWN))
    APPLY_TAG = Operation(_T.TAG, any_of(_METALAKE, _OWN, has(P.APPLY_TAG)))
    LIST_POLICIES = Operation(_T.METALAKE, _MEMBER, shows=_LOAD_POLICY)
    CREATE_POLICY = Operation(_T.METALAKE, any_of(_METALAKE, has(P.CREATE_POLICY)))
    LOAD_POLICY = Operation(_T.POLICY, _LOAD_POLICY)
    ALTER_POLICY = Operation(_T.POLICY, any_of(_METALAKE, _OWN))
    SET_POLICY = Operation(_T.POLICY, any_of(_METALAKE, _OWN))
    DROP_POLICY = Operation(_T.POLICY, any_of(_METALAKE, _OWN))
    APPLY_POLICY = Operation(_T.POLICY, any_of(_METALAKE, _OWN, has(P.APPLY_POLICY)))

    # jobs
    LIST_JOB_TEMPLATES = Operation(_T.METALAKE, _MEMBER, shows=_LOAD_TEMPLATE)
    REGISTER_JOB_TEMPLATE = Operation(_T.METALAKE, any_of(_METALAKE, has(P.REGISTER_JOB_TEMPLATE)))
    LOAD_JOB_TEMPLATE = Operation(_T.JOB_TEMPLATE, _LOAD_TEMPLATE)
    ALTER_JOB_TEMPLATE = Operation(_T.JOB_TEMPLATE, any_of(_METALAKE, _OWN))
    DROP_JOB_TEMPLATE = Operation(_T.JOB_TEMPLATE, any_of(_METALAKE, _OWN))
    RUN_JOB = Operation(
        _T.JOB_TEMPLATE, any_of(_METALAKE, all_of(has(P.RUN_JOB), any_of(_OWN, has(P.USE_JOB_TEMPLATE))))
    )
    LIST_JOBS = Operation(_T.METALAKE, _MEMBER, shows=_JOB)
    GET_JOB = Operation(_T.JOB, _JOB)
    CANCEL_JOB = Operation(_T.JOB, _JOB)

    # beyond Gravitino: asking about somebody else, and reading the audit
    ASK = Operation(_T.METALAKE, any_of(_METALAKE, has(P.MANAGE_GRANTS), _SELF))
    READ_AUDIT = Operation(_T.METALAKE, _METALAKE)
    MANAGE_LENSES = Operation(_T.METALAKE, _METALAKE)

    # policies of other systems: of one metalake, and of every system that the server knows
    SYNC_METALAKE = Operation(_T.METALAKE, _METALAKE)
    SYNC_SYSTEMS = Operation(_T.METALAKE, _ADMIN)

    # of the server itself
    MANAGE_TOKENS = Operation(_T.METALAKE, _ADMIN)
    READ_METRICS = Operation(_T.METALAKE, _ADMIN)

    @property
    def on(self) -> ObjectType:
        return self.value.on

    def __repr__(self) -> str:
        return f"Op.{self.name}"

    # Every check looks its operation up; the hash of an enum by name would be a call of its own.
    __hash__ = object.__hash__


def _compile(op: Op) -> Operation:
    """Work the alternatives out once, with membership of the metalake as a part of every condition below it."""
    value = op.value
    inside = value.requirement if op in OUTSIDE else all_of(_MEMBER, value.requirement)
    shows = None if value.shows is None else all_of(_MEMBER, value.shows)
    return Operation(
        value.on,
        inside,
        shows,
        alternatives_of(inside),
        () if shows is None else alternatives_of(shows),
        value.whole,
    )


OUTSIDE: Final = frozenset(
    {Op.CREATE_METALAKE, Op.LIST_METALAKES, Op.MANAGE_TOKENS, Op.READ_METRICS, Op.SYNC_SYSTEMS}
)
"""What is asked of the server itself, also by someone who is in no metalake."""

OPERATIONS: Final[dict[Op, Operation]] = {op: _compile(op) for op in Op}

_PRIVILEGES: Final[dict[P, Operation]] = {
    privilege: Operation(
        _T.METALAKE,
        (both := all_of(_MEMBER, has(privilege.current))),
        None,
        alternatives=alternatives_of(both),
    )
    for privilege in P
}


def required(asked: Op | P) -> Operation:
    """What is required for an operation, or for a privilege to be effective by itself."""
    return OPERATIONS[asked] if isinstance(asked, Op) else _PRIVILEGES[asked]


LOADS: Final[dict[ObjectType, Op]] = {
    _T.METALAKE: Op.LOAD_METALAKE,
    _T.CATALOG: Op.LOAD_CATALOG,
    _T.SCHEMA: Op.LOAD_SCHEMA,
    _T.TABLE: Op.LOAD_TABLE,
    _T.COLUMN: Op.LOAD_TABLE,
    _T.VIEW: Op.LOAD_VIEW,
    _T.FUNCTION: Op.LOAD_FUNCTION,
    _T.FILESET: Op.LOAD_FILESET,
    _T.TOPIC: Op.LOAD_TOPIC,
    _T.MODEL: Op.LOAD_MODEL,
    _T.ROLE: Op.GET_ROLE,
    _T.TAG: Op.LOAD_TAG,
    _T.POLICY: Op.LOAD_POLICY,
    _T.JOB_TEMPLATE: Op.LOAD_JOB_TEMPLATE,
    _T.JOB: Op.GET_JOB,
}
"""What it takes to see an object of each type: also to see its owner, tags, policies and credentials."""
