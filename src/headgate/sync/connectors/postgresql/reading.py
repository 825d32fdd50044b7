"""A PostgreSQL database as facts, and what surrounds them: read in one snapshot.

INVARIANT: whoever can act as somebody, by whatever option of a membership, counts as able to do what they may; what such a
membership gives is judged, but never carried anywhere.
"""

from typing import Any, Final

import psycopg

from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.sync.access.surroundings import Part, Proxy, Surroundings
from headgate.sync.connectors.postgresql.rows import POLICIES, PUBLIC, row_filters
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    OwnerFact,
    Present,
    Principal,
    Securable,
)

_T = ObjectType
_ROLES = "SELECT oid, rolname, rolcanlogin, rolsuper, rolbypassrls, rolcreaterole FROM pg_roles"
_MEMBERS = """
SELECT a.roleid, a.member, coalesce((to_jsonb(a) ->> 'inherit_option')::bool, m.rolinherit),
  a.admin_option OR coalesce((to_jsonb(a) ->> 'set_option')::bool, true)
FROM pg_auth_members a JOIN pg_roles m ON m.oid = a.member"""
_SCHEMAS = """
SELECT n.oid, n.nspname, n.nspowner, n.nspacl FROM pg_namespace n
WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'"""
_ACL = """
SELECT {key}, a.grantee, a.privilege_type, a.is_grantable
FROM {from_}, aclexplode(coalesce({acl}, acldefault('{code}', {owner}))) a WHERE a.grantee <> {owner}"""
_KINDS = "c.relkind IN ('r','p','f','v','m')"
_READ_BY_VIEWS = """
SELECT r.ev_class, d.refobjid, t.attname FROM pg_rewrite r
JOIN pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
LEFT JOIN pg_attribute t ON t.attrelid = d.refobjid AND t.attnum = d.refobjsubid AND d.refobjsubid <> 0
WHERE r.rulename = '_RETURN' AND d.refobjid <> r.ev_class"""
_VIEWS = """
SELECT c.oid, c.relowner, coalesce(EXISTS (SELECT FROM pg_options_to_table(c.reloptions)
  WHERE option_name = 'security_invoker' AND option_value::bool), false)
FROM pg_class c WHERE c.relkind IN ('v', 'm')"""
_PARTS = """
SELECT i.inhparent, i.inhrelid, c.relispartition FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"""
_DEFAULTS = """
SELECT d.defaclrole, d.defaclnamespace, d.defaclobjtype::text, a.grantee, a.privilege_type
FROM pg_default_acl d, aclexplode(d.defaclacl) a WHERE a.grantee <> d.defaclrole AND d.defaclobjtype IN ('r', 'n')"""
_OF_DATABASE: Final = "pg_database_owner"
"""The one predefined role that gives nothing but what it is granted."""


class PostgresReader:
    """The facts of one database."""

    def __init__(self, connection: psycopg.Connection[Any], catalog: str) -> None:
        self.connection = connection
        self.catalog = Securable(_T.CATALOG, (catalog,))
        self.facts: set[Fact] = {Present(self.catalog), Known(PUBLIC, everyone=True)}
        self.latent: set[Fact] = set()
        """What counts and is not carried anywhere."""
        self.acts: set[MemberFact] = set()
        self.notes: list[str] = []
        self.who: dict[int, Principal] = {0: PUBLIC}
        """Everybody who is modelled."""
        self.others: dict[int, Principal] = {}
        """Everybody else."""
        self.superusers: set[Principal] = set()
        self.above: set[Principal] = set()
        self.closed: set[Principal] = set()
        self.proxies: list[Proxy] = []

    def reading(self) -> Reading:
        self._roles()
        self._members()
        self._database()
        schemas = self._schemas()
        relations = self._relations(schemas)
        self._columns(relations)
        self._functions(schemas)
        self._policies(relations)
        self._views(relations)
        self._defaults(schemas)
        parts = [
            Part(relations[parent], relations[child], partition)
            for parent, child, partition in self._rows(_PARTS)
            if parent in relations and child in relations
        ]
        latent, acting = Facts(self.latent), Facts(self.latent | self.acts)
        unbound = {user for user in acting.users if acting.closure(user) & self.superusers}
        around = Surroundings(
            latent,
            frozenset(self.acts),
            frozenset(self.above),
            frozenset(self.closed),
            frozenset(unbound | self.superusers),
            tuple(self.proxies),
            tuple(parts),
        )
        return Reading(Facts(self.facts), notes=tuple(sorted(self.notes)), around=around)

    def _rows(self, query: str) -> list[Any]:
        return self.connection.execute(query.encode()).fetchall()

    # -- who -----------------------------------------------------------------------------------------------------

    def _roles(self) -> None:
        old = self.connection.info.server_version < 160000
        for oid, name, login, superuser, bypass, makes_roles in self._rows(_ROLES):
            principal = Principal(Kind.USER if login else Kind.ROLE, name)
            predefined = name.startswith("pg_")
            if superuser or bypass or predefined:
                self.others[oid] = principal
            else:
                self.who[oid] = principal
                self.facts.add(Known(principal))
            if superuser or bypass:
                self.notes.append(f"role '{name}' bypasses all privileges or row-level security")
                self.above.add(principal)
            if superuser:
                self.superusers.add(principal)
            elif bypass and login:
                self.latent.add(MemberFact(PUBLIC, principal))
            if predefined and name != _OF_DATABASE:
                self.closed.add(principal)
            if makes_roles and old and not superuser:
                self.closed.add(principal)
                self.notes.append(f"role '{name}' may give itself any role that is no superuser's")

    def _members(self) -> None:
        everybody = self.who | self.others
        for of_, who, inherits, acts in self._rows(_MEMBERS):
            role, member = everybody[of_], everybody[who]
            if inherits:
                self.latent.add(MemberFact(role, member))
            if acts:
                self.acts.add(MemberFact(role, member))
            if member in self.superusers or who not in self.who:
                continue
            if of_ not in self.who:
                self.notes.append(f"'{member.name}' is a member of '{role.name}', which is not modelled")
            elif not inherits:
                self.notes.append(f"'{member.name}' holds '{role.name}' only after SET ROLE")
            elif role.kind is Kind.USER:
                self.notes.append(
                    f"'{member.name}' is a member of the user '{role.name}', which is not modelled"
                )
            else:
                self.facts.add(MemberFact(role, member))

    def _owned(self, object: Securable, owner: int) -> None:
        if owner in self.who:
            self.facts.add(OwnerFact(object, self.who[owner]))
        elif owner in self.others and self.others[owner] not in self.superusers:
            self.latent.add(OwnerFact(object, self.others[owner]))

    def _granted(self, object: Securable, grantee: int, word: str, option: bool) -> None:
        if grantee in self.who:
            self.facts.add(GrantFact(self.who[grantee], object, word, option=option))
        elif grantee in self.others and self.others[grantee] not in self.superusers:
            self.latent.add(GrantFact(self.others[grantee], object, word))

    def _acting(self, owner: int) -> Principal | None:
        """With whose rights something is done; None for a superuser."""
        found = (self.who | self.others).get(owner)
        return None if found is None or found in self.superusers else found

    # -- what ----------------------------------------------------------------------------------------------------

    def _database(self) -> None:
        here = "datname = current_database()"
        for (owner,) in self._rows(f"SELECT datdba FROM pg_database WHERE {here}"):
            self._owned(self.catalog, owner)
            acting = self._acting(owner)
            if acting is not None:
                self.latent.add(MemberFact(Principal(Kind.ROLE, _OF_DATABASE), acting))
        acl = _ACL.format(key="1", from_="pg_database d", acl="d.datacl", code="d", owner="d.datdba")
        for _, grantee, word, option in self._rows(f"{acl} AND {here}"):
            self._granted(self.catalog, grantee, word, option)

    def _schemas(self) -> dict[int, Securable]:
        found: dict[int, Securable] = {}
        for oid, name, owner, _ in self._rows(_SCHEMAS):
            if SCHEMA_SEPARATOR in name:
                self.notes.append(f"schema '{name}' has a colon in its name and cannot be named here")
                continue
            found[oid] = Securable(_T.SCHEMA, (*self.catalog.path, name))
            self.facts.add(Present(found[oid]))
            self._owned(found[oid], owner)
        acl = _ACL.format(key="n.oid", from_="pg_namespace n", acl="n.nspacl", code="n", owner="n.nspowner")
        for oid, grantee, word, option in self._rows(acl):
            if oid in found:
                self._granted(found[oid], grantee, word, option)
        return found

    def _relations(self, schemas: dict[int, Securable]) -> dict[int, Securable]:
        found: dict[int, Securable] = {}
        query = (
            f"SELECT c.oid, c.relnamespace, c.relname, c.relkind, c.relowner FROM pg_class c WHERE {_KINDS}"
        )
        for oid, schema, name, kind, owner in self._rows(query):
            if schema in schemas:
                type = _T.VIEW if kind in (b"v", b"m", "v", "m") else _T.TABLE
                found[oid] = Securable(type, (*schemas[schema].path, name))
                self.facts.add(Present(found[oid]))
                self._owned(found[oid], owner)
        acl = _ACL.format(key="c.oid", from_="pg_class c", acl="c.relacl", code="r", owner="c.relowner")
        for oid, grantee, word, option in self._rows(f"{acl} AND {_KINDS}"):
            if oid in found:
                self._granted(found[oid], grantee, word, option)
        return found

    def _columns(self, relations: dict[int, Securable]) -> None:
        query = (
            f"SELECT t.attrelid, t.attname FROM pg_attribute t JOIN pg_class c ON c.oid = t.attrelid"
            f" WHERE t.attnum > 0 AND NOT t.attisdropped AND {_KINDS}"
        )
        tables = {oid: relation for oid, relation in relations.items() if relation.type is _T.TABLE}
        for oid, name in self._rows(query):
            if oid in tables:
                self.facts.add(Present(Securable(_T.COLUMN, (*relations[oid].path, name))))
        acl = (
            "SELECT t.attrelid, t.attname, a.grantee, a.privilege_type, a.is_grantable FROM pg_attribute t"
            " JOIN pg_class c ON c.oid = t.attrelid, aclexplode(t.attacl) a"
            " WHERE t.attnum > 0 AND NOT t.attisdropped AND a.grantee <> c.relowner"
        )
        for oid, name, grantee, word, option in self._rows(acl):
            if oid not in relations:
                continue
            column = Securable(_T.COLUMN, (*relations[oid].path, name))
            if oid in tables:
                self._granted(column, grantee, word, option)
            elif grantee in self.who or grantee in self.others:
                holder = (self.who | self.others)[grantee]
                self.latent.add(GrantFact(holder, column, word))
                self.notes.append(f"{holder} has {word} on column '{name}' of {relations[oid]}")

    def _functions(self, schemas: dict[int, Securable]) -> None:
        query = (
            "SELECT p.oid, p.pronamespace, p.proname, pg_get_function_identity_arguments(p.oid),"
            " count(*) OVER (PARTITION BY p.pronamespace, p.proname), p.proowner, p.prosecdef FROM pg_proc p"
            " WHERE p.prokind IN ('f','p','w')"
        )
        found: dict[int, Securable] = {}
        for oid, schema, name, arguments, overloads, owner, definer in self._rows(query):
            if schema in schemas:
                full = name if overloads == 1 else f"{name}({arguments})"
                found[oid] = Securable(_T.FUNCTION, (*schemas[schema].path, full))
                self.facts.add(Present(found[oid]))
                self._owned(found[oid], owner)
                if definer:
                    self.proxies.append(Proxy(found[oid], "function.execute", self._acting(owner)))
        acl = _ACL.format(key="p.oid", from_="pg_proc p", acl="p.proacl", code="f", owner="p.proowner")
        for oid, grantee, word, option in self._rows(acl):
            if oid in found:
                self._granted(found[oid], grantee, word, option)

    # -- with whose rights, and which rows -----------------------------------------------------------------------

    def _policies(self, relations: dict[int, Securable]) -> None:
        roles = {oid: who for oid, who in self.who.items() if oid}
        rules, notes = row_filters(self._rows(POLICIES.format(kinds=_KINDS)), relations, roles)
        self.facts.update(rules)
        self.notes += notes

    def _views(self, relations: dict[int, Securable]) -> None:
        """INVARIANT: what a view reads outside the schemas that are modelled is nobody's to gain."""
        read: dict[int, set[tuple[Securable, str]]] = {}
        for view, table, column in self._rows(_READ_BY_VIEWS):
            if table in relations:
                of_ = relations[table]
                one = Securable(_T.COLUMN, (*of_.path, column)) if column is not None else of_
                read.setdefault(view, set()).add(
                    (one, "column.read" if column is not None else f"{of_.type}.read")
                )
        for oid, owner, invoker in self._rows(_VIEWS):
            if oid in relations and not invoker:
                reads = read.get(oid, set())
                # A whole relation is named beside its columns.
                parts = {object.path[:3] for object, action in reads if action == "column.read"}
                kept = {(o, a) for o, a in reads if a == "column.read" or o.path not in parts}
                acting = self._acting(owner)
                self.proxies.append(Proxy(relations[oid], "view.read", acting, frozenset(kept)))

    def _defaults(self, schemas: dict[int, Securable]) -> None:
        """What default privileges grant on what will be created, on objects that stand for it."""
        everybody = self.who | self.others
        for creator, schema, kind, grantee, word in self._rows(_DEFAULTS):
            holder, maker = everybody.get(grantee), everybody.get(creator)
            if holder is None or maker is None or holder in self.superusers:
                continue
            if kind == "n":
                places = [Securable(_T.SCHEMA, (*self.catalog.path, f"(new schemas of {maker.name})"))]
            else:
                where = (
                    list(schemas.values()) if not schema else [schemas[schema]] if schema in schemas else []
                )
                places = [Securable(_T.TABLE, (*at.path, f"(new tables of {maker.name})")) for at in where]
            for place in places:
                self.latent.update((Present(place), GrantFact(holder, place, word)))
