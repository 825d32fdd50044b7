"""PostgreSQL: one database, presented as one catalog.

A role that may log in is a user, one that may not is a role; PUBLIC is a group of everyone. Superusers bypass all of it and are
named in the notes. Row filters are restrictive row-level policies that carry their canonical form in a comment.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any, Final

import psycopg
import sqlglot
from psycopg import sql
from sqlglot import exp

from headgate.model.errors import ConnectionFailed, IllegalArgument
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.model.privileges import Condition
from headgate.sync.actions import of
from headgate.sync.capabilities import CATALOG_GATE_ON_SCHEMAS, Capabilities, Semantics
from headgate.sync.connectors.postgresql_rows import FOREIGN, OPEN, POLICIES, PUBLIC, row_filters
from headgate.sync.contract import Connector
from headgate.sync.facts import (
    Fact,
    Facts,
    Grant,
    Kind,
    Known,
    Member,
    Owner,
    Present,
    Principal,
    RowFilter,
    Securable,
)
from headgate.sync.restrictions import Rule
from headgate.sync.results import Applied, Change, Outcome
from headgate.sync.run import Reading

_T = ObjectType


def _each(type: ObjectType, **words: str) -> dict[str, frozenset[str]]:
    return {word: of(type, verb) for word, verb in words.items()}


CAPABILITIES: Final = Capabilities(
    system="postgresql",
    semantics=Semantics(
        natives={
            _T.CATALOG: {
                "CONNECT": of(_T.CATALOG, "use"),
                "CREATE": of(_T.CATALOG, "create_schema", "extend"),
                "TEMPORARY": of(_T.CATALOG, "temporary"),
            },
            _T.SCHEMA: {
                "USAGE": of(_T.SCHEMA, "use"),
                "CREATE": of(_T.SCHEMA, "create_table", "create_view", "register_function"),
            },
            _T.TABLE: _each(
                _T.TABLE, SELECT="read", INSERT="insert", UPDATE="update", DELETE="delete", TRUNCATE="truncate",
                REFERENCES="references", TRIGGER="trigger",
            ),
            _T.VIEW: _each(
                _T.VIEW, SELECT="read", INSERT="insert", UPDATE="update", DELETE="delete", TRUNCATE="truncate",
                REFERENCES="references", TRIGGER="trigger",
            ),
            _T.COLUMN: _each(_T.COLUMN, SELECT="read", INSERT="insert", UPDATE="update", REFERENCES="references"),
            _T.FUNCTION: _each(_T.FUNCTION, EXECUTE="execute"),
        },
        inherits=frozenset(),
        gates=CATALOG_GATE_ON_SCHEMAS,
        owner_inherits=False,
    ),
    roles=True,
    role_holders=frozenset({Kind.USER, Kind.ROLE}),
    direct=frozenset({Kind.USER, Kind.GROUP}),
    columns=True,
    rows=True,
    cells=True,
    owners=frozenset({_T.CATALOG, _T.SCHEMA, _T.TABLE, _T.VIEW, _T.FUNCTION}),
    grant_option=True,
    creates=frozenset({Kind.USER, Kind.ROLE}),
    dialect="postgres",
)  # fmt: skip


class PostgresConnector(Connector):
    """One database over one connection per call; a batch is one transaction."""

    batch = 2_000

    def __init__(self, url: str, catalog: str, name: str | None = None) -> None:
        super().__init__(name or f"postgresql:{catalog}")
        self.url = url
        self.catalog = catalog

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        with self._connected() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return _Sight(connection, self.catalog).reading()

    def takes(self, rule: Rule) -> bool:
        try:
            _expression(rule.sql)
        except IllegalArgument:
            return False
        # A longer name would be cut off.
        return len(rule.name.encode()) < 64

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        with self._connected() as connection, connection.transaction():
            return _Hand(connection, changes).make()

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        try:
            with psycopg.connect(self.url, autocommit=True, connect_timeout=10) as connection:
                yield connection
        except psycopg.OperationalError as error:
            raise ConnectionFailed(
                f"'{self.name}' does not answer", hint=str(error).splitlines()[0], about="sync"
            ) from error


_ROLES = """
SELECT oid, rolname, rolcanlogin, rolsuper OR rolbypassrls AS above, rolinherit FROM pg_roles
WHERE rolname NOT LIKE 'pg\\_%'"""
_MEMBERS = """
SELECT r.rolname AS of, m.rolname AS who, coalesce((to_jsonb(a) ->> 'inherit_option')::bool, m.rolinherit) AS inherits
FROM pg_auth_members a JOIN pg_roles r ON r.oid = a.roleid JOIN pg_roles m ON m.oid = a.member"""
_SCHEMAS = """
SELECT n.oid, n.nspname, n.nspowner, n.nspacl FROM pg_namespace n
WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'"""
_ACL = """
SELECT {key}, a.grantee, a.privilege_type, a.is_grantable
FROM {from_}, aclexplode(coalesce({acl}, acldefault('{code}', {owner}))) a WHERE a.grantee <> {owner}"""
_KINDS = "c.relkind IN ('r','p','f','v','m')"


class _Sight:
    """The facts of one database, read in one snapshot."""

    def __init__(self, connection: psycopg.Connection[Any], catalog: str) -> None:
        self.connection = connection
        self.catalog = Securable(_T.CATALOG, (catalog,))
        self.facts: set[Fact] = {Present(self.catalog), Known(PUBLIC, everyone=True)}
        self.notes: list[str] = []
        self.who: dict[int, Principal] = {0: PUBLIC}

    def reading(self) -> Reading:
        self._roles()
        self._database()
        schemas = self._schemas()
        relations = self._relations(schemas)
        self._columns(relations)
        self._functions(schemas)
        self._policies(relations)
        return Reading(Facts(self.facts), notes=tuple(sorted(self.notes)))

    def _rows(self, query: str) -> list[Any]:
        return self.connection.execute(query.encode()).fetchall()

    def _roles(self) -> None:
        names: dict[str, Principal] = {}
        for oid, name, login, above, _ in self._rows(_ROLES):
            if above:
                self.notes.append(f"role '{name}' bypasses all privileges or row-level security")
                continue
            self.who[oid] = names[name] = Principal(Kind.USER if login else Kind.ROLE, name)
            self.facts.add(Known(names[name]))
        for of_, who, inherits in self._rows(_MEMBERS):
            if who not in names:
                continue
            if of_ not in names:
                self.notes.append(f"'{who}' is a member of '{of_}', which is not modelled")
            elif not inherits:
                self.notes.append(f"'{who}' holds '{of_}' only after SET ROLE")
            elif names[of_].kind is Kind.USER:
                self.notes.append(f"'{who}' is a member of the user '{of_}', which is not modelled")
            else:
                self.facts.add(Member(names[of_], names[who]))

    def _owned(self, object: Securable, owner: int) -> None:
        if owner in self.who:
            self.facts.add(Owner(object, self.who[owner]))

    def _granted(self, object: Securable, grantee: int, word: str, option: bool) -> None:
        if grantee in self.who:
            self.facts.add(Grant(self.who[grantee], object, word, option=option))

    def _database(self) -> None:
        here = "datname = current_database()"
        for (owner,) in self._rows(f"SELECT datdba FROM pg_database WHERE {here}"):
            self._owned(self.catalog, owner)
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
            if oid in tables:
                self._granted(Securable(_T.COLUMN, (*tables[oid].path, name)), grantee, word, option)
            elif oid in relations and grantee in self.who:
                self.notes.append(f"{self.who[grantee]} has {word} on column '{name}' of {relations[oid]}")

    def _functions(self, schemas: dict[int, Securable]) -> None:
        query = (
            "SELECT p.oid, p.pronamespace, p.proname, pg_get_function_identity_arguments(p.oid),"
            " count(*) OVER (PARTITION BY p.pronamespace, p.proname), p.proowner FROM pg_proc p"
            " WHERE p.prokind IN ('f','p','w')"
        )
        found: dict[int, Securable] = {}
        for oid, schema, name, arguments, overloads, owner in self._rows(query):
            if schema in schemas:
                full = name if overloads == 1 else f"{name}({arguments})"
                found[oid] = Securable(_T.FUNCTION, (*schemas[schema].path, full))
                self.facts.add(Present(found[oid]))
                self._owned(found[oid], owner)
        acl = _ACL.format(key="p.oid", from_="pg_proc p", acl="p.proacl", code="f", owner="p.proowner")
        for oid, grantee, word, option in self._rows(acl):
            if oid in found:
                self._granted(found[oid], grantee, word, option)

    def _policies(self, relations: dict[int, Securable]) -> None:
        rules, notes = row_filters(self._rows(POLICIES.format(kinds=_KINDS)), relations)
        self.facts.update(rules)
        self.notes += notes


_ON: Final = {
    _T.CATALOG: "DATABASE {}",
    _T.SCHEMA: "SCHEMA {}",
    _T.TABLE: "TABLE {}",
    _T.VIEW: "TABLE {}",
    _T.COLUMN: "TABLE {}",
    _T.FUNCTION: "ROUTINE {}",
}
_OWN: Final = {**_ON, _T.VIEW: "VIEW {}"}


_TOGETHER: Final = 200
"""How many plain changes go to the server in one message."""


class _Hand:
    """Makes changes in one transaction.

    Plain ones go together in one message under one savepoint; if any of them fails, and for all others, each change has a
    savepoint of its own.
    """

    def __init__(self, connection: psycopg.Connection[Any], changes: Sequence[Change]) -> None:
        self.connection = connection
        self.changes = changes
        row = connection.execute("SELECT current_database()").fetchone()
        assert row is not None
        self.database: str = row[0]
        asked = [change.fact.principal.name for change in changes if isinstance(change.fact, Known)]
        found = connection.execute(
            "SELECT rolname, rolcanlogin FROM pg_roles WHERE rolname = ANY(%s)", [asked]
        )
        self.logins: dict[str, bool] = dict(found.fetchall()) if asked else {}
        """Which of the roles that are made or dropped were there, and whether they may log in."""

    def make(self) -> list[Applied]:
        """What became of each change, in their order."""
        answers: list[Applied] = []
        for plain, run in groupby(self.changes, key=_plain):
            changes = list(run)
            if plain:
                for start in range(0, len(changes), _TOGETHER):
                    answers += self._together(changes[start : start + _TOGETHER])
            else:
                answers += map(self._alone, changes)
        return answers

    def _together(self, changes: list[Change]) -> list[Applied]:
        try:
            said = [
                statement
                for change in changes
                for fact, holds in _sides(change)
                for statement in self._statements(fact, holds)
            ]
            with self.connection.transaction():
                if said:
                    self.connection.execute(sql.SQL("; ").join(said))
            return [Applied(Outcome.APPLIED)] * len(changes)
        except psycopg.OperationalError:
            raise
        except (psycopg.Error, IllegalArgument):
            return [self._alone(change) for change in changes]

    def _alone(self, change: Change) -> Applied:
        try:
            with self.connection.transaction():
                return self._make(change)
        except psycopg.OperationalError:
            raise
        except psycopg.Error as error:
            return Applied(Outcome.FAILED, f"{error.sqlstate}: {str(error).splitlines()[0]}")
        except IllegalArgument as error:
            return Applied(Outcome.FAILED, str(error))

    def _make(self, change: Change) -> Applied:
        if isinstance(change.before, Owner) and change.after is None:
            return Applied(Outcome.UNSUPPORTED, "an object cannot be left without its owner")
        for fact, holds in _sides(change):
            if isinstance(fact, RowFilter):
                done = self._filter(fact, holds)
                if done is not None:
                    return done
            elif isinstance(fact, Grant) and fact.decision is Condition.DENY:
                return Applied(Outcome.UNSUPPORTED, "there is no deny")
            elif isinstance(fact, Known | Member | Grant | Owner):
                for statement in self._statements(fact, holds):
                    self.connection.execute(statement)
            else:
                return Applied(Outcome.UNSUPPORTED, "there is no such thing")
        return Applied(Outcome.APPLIED)

    def _run(self, text: str, *parts: sql.Composable) -> None:
        self.connection.execute(sql.SQL(text).format(*parts))

    def _statements(self, fact: Fact, holds: bool) -> list[sql.Composed]:
        """What makes a fact so, or not so any more."""
        match fact:
            case Known(principal):
                return self._role(principal, holds)
            case Member(of_, who):
                words = "GRANT {} TO {}" if holds else "REVOKE {} FROM {}"
                return [sql.SQL(words).format(_name(of_), _name(who))]
            case Grant(holder, object, word, _, option):
                return [self._grant(holder, object, word, option, holds)]
            case Owner(object, principal):
                text = sql.SQL(f"ALTER {_OWN[object.type]} OWNER TO {{}}")
                return [text.format(self._on(object), _name(principal))]
            case _:
                raise IllegalArgument(f"{fact} is not said in one statement")

    def _grant(
        self, holder: Principal, object: Securable, word: str, option: bool, holds: bool
    ) -> sql.Composed:
        if word not in CAPABILITIES.semantics.natives.get(object.type, {}):
            raise IllegalArgument(f"'{word}' is not a privilege on a {object.type}")
        privilege: sql.Composable = sql.SQL(word)
        if object.type is _T.COLUMN:
            privilege = sql.SQL("{} ({})").format(privilege, sql.Identifier(object.path[3]))
        if holds:
            text = f"GRANT {{}} ON {_ON[object.type]} TO {{}}{' WITH GRANT OPTION' if option else ''}"
        else:
            text = f"REVOKE {{}} ON {_ON[object.type]} FROM {{}}"
        return sql.SQL(text).format(privilege, self._on(object), _name(holder))

    def _role(self, principal: Principal, exists: bool) -> list[sql.Composed]:
        if principal.kind is Kind.GROUP:
            raise IllegalArgument("there are no groups in PostgreSQL")
        login = self.logins.get(principal.name)
        if exists and login is None:
            words = "LOGIN" if principal.kind is Kind.USER else "NOLOGIN"
            return [sql.SQL(f"CREATE ROLE {{}} {words}").format(_name(principal))]
        if exists and login is not (principal.kind is Kind.USER):
            raise IllegalArgument(
                f"'{principal.name}' is there already, as something else than a {principal.kind}"
            )
        if not exists and login is not None:
            return [sql.SQL("DROP ROLE {}").format(_name(principal))]
        return []

    def _on(self, object: Securable) -> sql.Composable:
        if object.type is _T.CATALOG:
            return sql.Identifier(self.database)
        if object.type is _T.FUNCTION:
            return self._routine(object)
        return sql.Identifier(*object.path[1:3])

    def _routine(self, object: Securable) -> sql.Composable:
        """A function by name, or by name and arguments as the server itself tells them."""
        row = self.connection.execute(
            "SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
            " WHERE n.nspname = %s AND %s IN (p.proname,"
            " p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')') LIMIT 2",
            object.path[1:3],
        ).fetchall()
        if len(row) != 1:
            raise IllegalArgument(f"{object} names {'no' if not row else 'more than one'} function")
        return sql.SQL(row[0][0])

    # -- rows ----------------------------------------------------------------------------------------------------

    def _filter(self, rule: RowFilter, holds: bool) -> Applied | None:
        if rule.name == FOREIGN:
            return Applied(Outcome.UNSUPPORTED, "row-level security of others is left alone")
        table = self._on(rule.object)
        if not holds:
            self._run("DROP POLICY {} ON {}", sql.Identifier(rule.name), table)
            self._close(rule.object, table)
            return None
        others = self._policies(rule.object)
        if any(not own for own in others.values()):
            return Applied(Outcome.UNSUPPORTED, "the table has row-level security of its own")
        if not others:
            self._run("CREATE POLICY {} ON {} USING (true)", sql.Identifier(OPEN), table)
            self._run("ALTER TABLE {} ENABLE ROW LEVEL SECURITY", table)
            self._run("ALTER TABLE {} FORCE ROW LEVEL SECURITY", table)
        condition = sql.SQL("({})").format(sql.SQL(_expression(rule.sql)))
        if rule.exempt:
            names = sql.SQL(", ").join(sql.Literal(p.name) for p in rule.exempt)
            condition = sql.SQL("{} OR current_user IN ({})").format(condition, names)
        to = sql.SQL(", ").join(map(_name, rule.to)) if rule.to else sql.SQL("PUBLIC")
        policy = sql.Identifier(rule.name)
        self._run("CREATE POLICY {} ON {} AS RESTRICTIVE TO {} USING ({})", policy, table, to, condition)
        told = {
            "sql": rule.sql,
            "to": [str(p) for p in rule.to],
            "exempt": [str(p) for p in rule.exempt],
            "qual": self._qual(rule),
        }
        self._run(
            "COMMENT ON POLICY {} ON {} IS {}", policy, table, sql.Literal(json.dumps({"headgate": told}))
        )
        return None

    def _policies(self, table: Securable) -> dict[str, bool]:
        """The policies on a table, and whether a push made each."""
        rows = self.connection.execute(
            "SELECT p.polname, p.polname = %s OR starts_with(obj_description(p.oid, 'pg_policy'), %s)"
            " FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = %s AND c.relname = %s",
            [OPEN, '{"headgate"', *table.path[1:3]],
        )
        return {name: bool(own) for name, own in rows}

    def _close(self, object: Securable, table: sql.Composable) -> None:
        """Without any filter left the table is as it was before the first."""
        if set(self._policies(object)) == {OPEN}:
            self._run("DROP POLICY {} ON {}", sql.Identifier(OPEN), table)
            self._run("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY", table)
            self._run("ALTER TABLE {} DISABLE ROW LEVEL SECURITY", table)

    def _qual(self, rule: RowFilter) -> str:
        row = self.connection.execute(
            "SELECT pg_get_expr(p.polqual, p.polrelid) FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = %s AND c.relname = %s AND p.polname = %s",
            [*rule.object.path[1:3], rule.name],
        ).fetchone()
        assert row is not None
        return str(row[0])


def _sides(change: Change) -> list[tuple[Fact, bool]]:
    """What must be so no more and then what must be so. An owner is put in the place of another at once."""
    sides: list[tuple[Fact, bool]] = []
    if change.before is not None and not isinstance(change.before, Owner):
        sides.append((change.before, False))
    if change.after is not None:
        sides.append((change.after, True))
    return sides


def _plain(change: Change) -> bool:
    """Whether a change is made by statements that need nothing to be asked of the server first."""
    fact = change.fact
    if isinstance(fact, Grant):
        return fact.decision is Condition.ALLOW and fact.object.type is not _T.FUNCTION
    return isinstance(fact, Known | Member)


def _name(principal: Principal) -> sql.Composable:
    return sql.SQL("PUBLIC") if principal == PUBLIC else sql.Identifier(principal.name)


def _expression(text: str) -> str:
    """INVARIANT: what is written into a policy is one expression, parsed and written anew, never text as it came."""
    try:
        parsed = [tree for tree in sqlglot.parse(text, dialect="postgres") if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        raise IllegalArgument("a row filter cannot be read", hint=str(error)[:200]) from error
    forbidden = (exp.Query, exp.Command, exp.DDL, exp.DML)
    alone = len(parsed) == 1 and isinstance(parsed[0], exp.Condition)
    if not alone or any(parsed[0].find(kind) for kind in forbidden):
        raise IllegalArgument("a row filter must be one expression without queries")
    return parsed[0].sql("postgres")
