"""A second decision point, as slow and plain as can be: the reference that the real one is held against.

It shares nothing with the real one: dictionaries and lists, names instead of ids, walks instead of masks. Each rule
stands here as its specification words it: `owns_any` is ownership of one of some levels, `has` is an allow on any level with a
deny on none, `at_metalake` the same asked of the metalake alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

FORMER_NAMES = {"CREATE_MODEL": "REGISTER_MODEL", "CREATE_MODEL_VERSION": "LINK_MODEL_VERSION"}

Key = tuple[str, ...]
"""An object: its metalake, its kind and its path, one segment of a nested schema at a time."""

LEAVES = ("table", "view", "topic", "fileset", "model", "function")
BESIDE = ("role", "tag", "policy", "job_template", "job")


@dataclass
class World:
    """All state, as a person would write it down."""

    admins: set[str] = field(default_factory=set)
    parents: dict[Key, Key | None] = field(default_factory=dict)
    owners: dict[Key, tuple[str, str]] = field(default_factory=dict)
    """Object → ("user" or "group", name)."""
    users: dict[tuple[str, str], bool] = field(default_factory=dict)
    """(metalake, name) → enabled."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = field(default_factory=dict)
    """(metalake, name) → members, each ("user" or "group", name)."""
    holders: list[tuple[Key, tuple[str, str]]] = field(default_factory=list)
    """A role and a principal that holds it."""
    grants: set[tuple[Key, Key, str, str]] = field(default_factory=set)
    """Role, object, privilege, "allow" or "deny"."""


@dataclass(frozen=True)
class Who:
    """A caller: the name, the groups the token claims, and the active roles (None for all)."""

    user: str
    claims: tuple[str, ...] = ()
    active: tuple[str, ...] | None = None
    groups_known: bool = True
    """Whether the token tells the groups at all."""


def kind(key: Key) -> str:
    return key[1]


class Question:
    """One caller, one object, and for users and groups whom it is about."""

    def __init__(self, world: World, who: Who, key: Key, about: tuple[str, str] | None = None) -> None:
        self.world, self.who, self.key, self.about = world, who, key, about
        self.lake = key[0]

    def is_member(self) -> bool:
        return self.world.users.get((self.lake, self.who.user), False)

    @cached_property
    def my_groups(self) -> set[str]:
        """Claimed, kept, or holding a group that is one of mine."""
        mine = {name for name in self.who.claims if (self.lake, name) in self.world.groups}
        while True:
            more = {
                name
                for (lake, name), members in self.world.groups.items()
                if lake == self.lake
                and (("user", self.who.user) in members or any(("group", g) in members for g in mine))
            }
            if more <= mine:
                return mine
            mine |= more

    def is_me(self, principal: tuple[str, str]) -> bool:
        what, name = principal
        return name == self.who.user if what == "user" else name in self.my_groups

    @cached_property
    def held_roles(self) -> list[Key]:
        return [role for role, p in self.world.holders if role[0] == self.lake and self.is_me(p)]

    @cached_property
    def chain(self) -> list[Key]:
        """The object and all that holds it, the metalake first."""
        way: list[Key] = []
        key: Key | None = self.key
        while key is not None:
            way.insert(0, key)
            key = self.world.parents[key]
        return way

    # -- the words of the table ---------------------------------------------------------------------------------

    def owns(self, key: Key) -> bool:
        owner = self.world.owners.get(key)
        return owner is not None and self.is_me(owner)

    def owns_any(self, *kinds: str) -> bool:
        return any(kind(key) in kinds and self.owns(key) for key in self.chain)

    def owns_it(self) -> bool:
        return self.owns(self.key)

    def says(self, effect: str, privilege: str, chain: list[Key]) -> bool:
        """Whether a role has this effect on one of these levels: allows of active roles, denies of all held ones.

        A privilege may have been given under a former name.

        Whose groups are not known is denied what any group is denied.
        """
        roles = list(self.held_roles)
        if effect == "deny" and not self.who.groups_known:
            roles += [
                role for role, (what, _) in self.world.holders if role[0] == self.lake and what == "group"
            ]
        for role in roles:
            if effect == "allow" and self.who.active is not None and role[-1] not in self.who.active:
                continue
            names = (privilege, *(old for old, new in FORMER_NAMES.items() if new == privilege))
            if any((role, key, name, effect) in self.world.grants for key in chain for name in names):
                return True
        return False

    def has(self, *privileges: str) -> bool:
        return any(
            self.says("allow", p, self.chain) and not self.says("deny", p, self.chain) for p in privileges
        )

    def at_metalake(self, privilege: str) -> bool:
        top = self.chain[:1]
        return self.says("allow", privilege, top) and not self.says("deny", privilege, top)

    def top(self) -> bool:
        return self.owns_any("metalake", "catalog")

    def schema_owner(self) -> bool:
        return self.owns_any("schema") and self.has("USE_CATALOG")

    def uses(self) -> bool:
        return self.has("USE_CATALOG") and self.has("USE_SCHEMA")

    def inside(self, leaf: bool) -> bool:
        """What the rules of everything in a schema begin with."""
        return self.top() or self.schema_owner() or (self.uses() and leaf)

    def is_self(self) -> bool:
        if self.about is not None:
            return self.is_me(self.about)
        return kind(self.key) == "role" and self.key in self.held_roles

    def owns_it_or_above(self) -> bool:
        return any(self.owns(key) for key in self.chain)


Rule = Callable[[Question], bool]


def _load_catalog(q: Question) -> bool:
    return q.has("USE_CATALOG") or q.top()


def _load_schema(q: Question) -> bool:
    return q.top() or (q.has("USE_CATALOG") and (q.owns_any("schema") or q.has("USE_SCHEMA")))


def _change_schema(q: Question) -> bool:
    return q.top() or q.schema_owner()


def _read_table(q: Question) -> bool:
    return q.inside(q.owns_it() or q.has("SELECT_TABLE", "MODIFY_TABLE"))


def _write_table(q: Question) -> bool:
    return q.inside(q.owns_it() or q.has("MODIFY_TABLE"))


def _own_leaf(q: Question) -> bool:
    return q.inside(q.owns_it())


def _create(privilege: str) -> Rule:
    return lambda q: q.inside(q.has(privilege))


def _metalake_or(privilege: str) -> Rule:
    return lambda q: q.owns_any("metalake") or q.at_metalake(privilege)


def _own_or_metalake(q: Question) -> bool:
    return q.owns_any("metalake") or q.owns_it()


def _or_self(rule: Rule) -> Rule:
    return lambda q: rule(q) or q.is_self()


def _usable(privilege: str) -> Rule:
    return lambda q: q.owns_any("metalake") or q.owns_it() or q.has(privilege)


def _read_fileset(q: Question) -> bool:
    return q.inside(q.owns_it() or q.has("READ_FILESET", "WRITE_FILESET"))


def _read_model(q: Question) -> bool:
    return q.inside(q.owns_it() or q.has("USE_MODEL"))


def _get_role(q: Question) -> bool:
    return q.owns_any("metalake") or q.at_metalake("MANAGE_GRANTS") or q.owns_it() or q.is_self()


def _grant_privilege(q: Question) -> bool:
    return q.has("MANAGE_GRANTS") or q.owns_it_or_above()


def _member(q: Question) -> bool:
    return q.is_member()


RULES: dict[str, Rule] = {
    "CREATE_METALAKE": lambda q: q.who.user in q.world.admins,
    "LIST_METALAKES": lambda q: True,
    "LOAD_METALAKE": _member,
    "ALTER_METALAKE": lambda q: q.owns_any("metalake"),
    "SET_METALAKE_IN_USE": lambda q: q.owns_any("metalake"),
    "DROP_METALAKE": lambda q: q.owns_any("metalake"),
    "LIST_CATALOGS": _member,
    "CREATE_CATALOG": _metalake_or("CREATE_CATALOG"),
    "TEST_CONNECTION": _metalake_or("CREATE_CATALOG"),
    "TEST_CATALOG_CONNECTION": lambda q: q.top(),
    "LOAD_CATALOG": _load_catalog,
    "SET_CATALOG_IN_USE": lambda q: q.top(),
    "ALTER_CATALOG": lambda q: q.top(),
    "CHOOSE_PLACE": lambda q: q.top(),
    "DROP_CATALOG": lambda q: q.top(),
    "LIST_SCHEMAS": _load_catalog,
    "CREATE_SCHEMA": lambda q: (
        q.owns_any("metalake", "catalog", "schema") or (q.has("USE_CATALOG") and q.has("CREATE_SCHEMA"))
    ),
    "LOAD_SCHEMA": _load_schema,
    "ALTER_SCHEMA": _change_schema,
    "DROP_SCHEMA": _change_schema,
    "LIST_TABLES": _load_schema,
    "CREATE_TABLE": _create("CREATE_TABLE"),
    "LOAD_TABLE": _read_table,
    "READ_TABLE": _read_table,
    "READ_PARTITIONS": _read_table,
    "READ_STATISTICS": _read_table,
    "ALTER_TABLE": _write_table,
    "WRITE_PARTITIONS": _write_table,
    "WRITE_STATISTICS": _write_table,
    "DROP_TABLE": _own_leaf,
    "LIST_VIEWS": _load_schema,
    "CREATE_VIEW": _create("CREATE_VIEW"),
    "LOAD_VIEW": lambda q: q.inside(q.owns_it() or q.has("SELECT_VIEW")),
    "ALTER_VIEW": _own_leaf,
    "DROP_VIEW": _own_leaf,
    "LIST_FUNCTIONS": _load_schema,
    "REGISTER_FUNCTION": _create("REGISTER_FUNCTION"),
    "LOAD_FUNCTION": lambda q: q.inside(q.owns_it() or q.has("EXECUTE_FUNCTION", "MODIFY_FUNCTION")),
    "ALTER_FUNCTION": lambda q: q.inside(q.owns_it() or q.has("MODIFY_FUNCTION")),
    "DROP_FUNCTION": _own_leaf,
    "LIST_FILESETS": _load_schema,
    "CREATE_FILESET": _create("CREATE_FILESET"),
    "LOAD_FILESET": _read_fileset,
    "LIST_FILES": _read_fileset,
    "ALTER_FILESET": lambda q: q.inside(q.owns_it() or q.has("WRITE_FILESET")),
    "DROP_FILESET": _own_leaf,
    "LIST_TOPICS": _load_schema,
    "CREATE_TOPIC": _create("CREATE_TOPIC"),
    "LOAD_TOPIC": lambda q: q.inside(q.owns_it() or q.has("CONSUME_TOPIC", "PRODUCE_TOPIC")),
    "ALTER_TOPIC": lambda q: q.inside(q.owns_it() or q.has("PRODUCE_TOPIC")),
    "DROP_TOPIC": _own_leaf,
    "LIST_MODELS": _load_schema,
    "REGISTER_MODEL": _create("REGISTER_MODEL"),
    "LOAD_MODEL": _read_model,
    "READ_MODEL_VERSIONS": _read_model,
    "LINK_MODEL_VERSION": lambda q: q.inside(
        q.owns_it() or (q.has("USE_MODEL") and q.has("LINK_MODEL_VERSION"))
    ),
    "ALTER_MODEL": _own_leaf,
    "DROP_MODEL": _own_leaf,
    "ALTER_MODEL_VERSION": _own_leaf,
    "DELETE_MODEL_VERSION": _own_leaf,
    "LIST_USERS": _member,
    "GET_USER": _or_self(_metalake_or("MANAGE_USERS")),
    "ADD_USER": _metalake_or("MANAGE_USERS"),
    "REMOVE_USER": _metalake_or("MANAGE_USERS"),
    "LIST_GROUPS": _member,
    "GET_GROUP": _or_self(_metalake_or("MANAGE_GROUPS")),
    "ADD_GROUP": _metalake_or("MANAGE_GROUPS"),
    "REMOVE_GROUP": _metalake_or("MANAGE_GROUPS"),
    "SET_GROUP_MEMBERS": _metalake_or("MANAGE_GROUPS"),
    "SET_USER_ATTRIBUTES": lambda q: (
        q.owns_any("metalake") or (q.at_metalake("MANAGE_USERS") and q.at_metalake("MANAGE_GRANTS"))
    ),
    "LIST_ROLES": _member,
    "CREATE_ROLE": _metalake_or("CREATE_ROLE"),
    "GET_ROLE": _get_role,
    "DELETE_ROLE": _own_or_metalake,
    "GRANT_ROLE": _metalake_or("MANAGE_GRANTS"),
    "REVOKE_ROLE": _metalake_or("MANAGE_GRANTS"),
    "OVERRIDE_ROLE": _metalake_or("MANAGE_GRANTS"),
    "GRANT_PRIVILEGE": _grant_privilege,
    "REVOKE_PRIVILEGE": _grant_privilege,
    "SET_OWNER": lambda q: q.owns_it_or_above(),
    "LIST_OBJECT_ROLES": _member,
    "LIST_TAGS": _member,
    "CREATE_TAG": _metalake_or("CREATE_TAG"),
    "LOAD_TAG": _usable("APPLY_TAG"),
    "ALTER_TAG": _own_or_metalake,
    "DROP_TAG": _own_or_metalake,
    "APPLY_TAG": _usable("APPLY_TAG"),
    "LIST_POLICIES": _member,
    "CREATE_POLICY": _metalake_or("CREATE_POLICY"),
    "LOAD_POLICY": _usable("APPLY_POLICY"),
    "ALTER_POLICY": _own_or_metalake,
    "SET_POLICY": _own_or_metalake,
    "DROP_POLICY": _own_or_metalake,
    "APPLY_POLICY": _usable("APPLY_POLICY"),
    "LIST_JOB_TEMPLATES": _member,
    "REGISTER_JOB_TEMPLATE": _metalake_or("REGISTER_JOB_TEMPLATE"),
    "LOAD_JOB_TEMPLATE": _usable("USE_JOB_TEMPLATE"),
    "ALTER_JOB_TEMPLATE": _own_or_metalake,
    "DROP_JOB_TEMPLATE": _own_or_metalake,
    "RUN_JOB": lambda q: (
        q.owns_any("metalake") or (q.at_metalake("RUN_JOB") and (q.has("USE_JOB_TEMPLATE") or q.owns_it()))
    ),
    "LIST_JOBS": _member,
    "GET_JOB": _own_or_metalake,
    "CANCEL_JOB": _own_or_metalake,
    "ASK": _or_self(_metalake_or("MANAGE_GRANTS")),
    "MANAGE_LENSES": lambda q: q.owns_any("metalake"),
    "READ_AUDIT": lambda q: q.owns_any("metalake"),
    "SYNC_METALAKE": lambda q: q.owns_any("metalake"),
    "SYNC_SYSTEMS": lambda q: q.who.user in q.world.admins,
    "MANAGE_TOKENS": lambda q: q.who.user in q.world.admins,
    "READ_METRICS": lambda q: q.who.user in q.world.admins,
}
"""Operation → its rule, without membership of the metalake, which `may` asks of everything inside one."""


def _shown(*privileges: str) -> Rule:
    return lambda q: q.owns_any("metalake", "catalog", "schema") or q.owns_it() or q.has(*privileges)


SHOWS: dict[str, Rule] = {
    "LIST_METALAKES": _member,
    "LIST_CATALOGS": _load_catalog,
    "LIST_SCHEMAS": lambda q: q.owns_any("metalake", "catalog", "schema") or q.has("USE_SCHEMA"),
    "LIST_TABLES": _shown("SELECT_TABLE", "MODIFY_TABLE"),
    "LIST_VIEWS": _shown("SELECT_VIEW"),
    "LIST_FUNCTIONS": _shown("EXECUTE_FUNCTION", "MODIFY_FUNCTION"),
    "LIST_FILESETS": _shown("READ_FILESET", "WRITE_FILESET"),
    "LIST_TOPICS": _shown("CONSUME_TOPIC", "PRODUCE_TOPIC"),
    "LIST_MODELS": _shown("USE_MODEL"),
    "LIST_USERS": RULES["GET_USER"],
    "LIST_GROUPS": RULES["GET_GROUP"],
    "LIST_ROLES": _get_role,
    "LIST_OBJECT_ROLES": lambda q: q.owns_any("metalake") or q.owns_it() or q.is_self(),
    "LIST_TAGS": RULES["LOAD_TAG"],
    "LIST_POLICIES": RULES["LOAD_POLICY"],
    "LIST_JOB_TEMPLATES": RULES["LOAD_JOB_TEMPLATE"],
    "LIST_JOBS": RULES["GET_JOB"],
}
"""List operation → whether an entry is shown; the key of the question is the entry."""

OUTSIDE = ("CREATE_METALAKE", "LIST_METALAKES", "MANAGE_TOKENS", "READ_METRICS", "SYNC_SYSTEMS")


def may(world: World, who: Who, operation: str, key: Key, about: tuple[str, str] | None = None) -> bool:
    """Whether the caller may do the operation on the object."""
    question = Question(world, who, key, about)
    if operation in OUTSIDE:
        return RULES[operation](question)
    return question.is_member() and RULES[operation](question)


def shows(world: World, who: Who, operation: str, entry: Key, about: tuple[str, str] | None = None) -> bool:
    """Whether a list that the caller may ask for shows this entry."""
    question = Question(world, who, entry, about)
    return question.is_member() and SHOWS[operation](question)
