"""How changes of facts are made in a PostgreSQL database."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

import psycopg
from psycopg import sql

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType, clip
from headgate.model.privileges import Condition
from headgate.sync.connectors.postgresql.capabilities import CAPABILITIES
from headgate.sync.connectors.postgresql.rows import FOREIGN, OPEN, PUBLIC, comment, condition
from headgate.sync.pushing.results import Applied, Change, Outcome
from headgate.sync.snapshots.facts import (
    Fact,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    OwnerFact,
    Principal,
    RowFilter,
    Securable,
)

_T = ObjectType
LONGEST: Final = 63
"""How many bytes of a name the server keeps; what is longer it cuts off without an error."""
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


class PostgresWriter:
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
            "SELECT rolname, rolcanlogin FROM pg_roles WHERE rolname::text = ANY(%s)", [asked]
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
            statements = [
                statement
                for change in changes
                for fact, holds in _sides(change)
                for statement in self._statements(fact, holds)
            ]
            with self.connection.transaction():
                if statements:
                    self.connection.execute(sql.SQL("; ").join(statements))
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
        if isinstance(change.before, OwnerFact) and change.after is None:
            return Applied(Outcome.UNSUPPORTED, "an object cannot be left without its owner")
        for fact, holds in _sides(change):
            if isinstance(fact, RowFilter):
                done = self._filter(fact, holds)
                if done is not None:
                    return done
            elif isinstance(fact, GrantFact) and fact.decision is Condition.DENY:
                return Applied(Outcome.UNSUPPORTED, "there is no deny")
            elif isinstance(fact, Known | MemberFact | GrantFact | OwnerFact):
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
            case MemberFact(of_, who):
                words = "GRANT {} TO {}" if holds else "REVOKE {} FROM {}"
                return [sql.SQL(words).format(_name(of_), _name(who))]
            case GrantFact(holder, object, word, _, option):
                return [self._grant(holder, object, word, option, holds)]
            case OwnerFact(object, principal):
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
            privilege = sql.SQL("{} ({})").format(privilege, _identifier(object.path[3]))
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
        return _identifier(*object.path[1:3])

    def _routine(self, object: Securable) -> sql.Composable:
        """A function by name, or by name and arguments as the server itself tells them."""
        row = self.connection.execute(
            "SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
            " WHERE n.nspname = %s AND %s::text IN (p.proname,"
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
            self._run("DROP POLICY {} ON {}", _identifier(rule.name), table)
            self._close(rule.object, table)
            return None
        others = self._policies(rule.object)
        if any(not own for own in others.values()):
            return Applied(Outcome.UNSUPPORTED, "the table has row-level security of its own")
        oids = self._oids((*rule.to, *rule.exempt))
        if OPEN not in others:
            self._run("CREATE POLICY {} ON {} USING (true)", sql.Identifier(OPEN), table)
        self._run("ALTER TABLE {} ENABLE ROW LEVEL SECURITY", table)
        self._run("ALTER TABLE {} FORCE ROW LEVEL SECURITY", table)
        policy = _identifier(rule.name)
        # One of an older form is written anew.
        self._run("DROP POLICY IF EXISTS {} ON {}", policy, table)
        asks = condition(rule, oids)
        self._run("CREATE POLICY {} ON {} AS RESTRICTIVE TO PUBLIC USING ({})", policy, table, asks)
        text = sql.Literal(comment(rule, oids, self._qual(rule)))
        self._run("COMMENT ON POLICY {} ON {} IS {}", policy, table, text)
        return None

    def _oids(self, principals: Sequence[Principal]) -> dict[Principal, int]:
        """INVARIANT: a filter is for whoever has the name now; nobody can take it over by a name."""
        names = [who.name for who in principals if who != PUBLIC]
        rows = self.connection.execute(
            "SELECT rolname, oid::int8, rolcanlogin FROM pg_roles WHERE rolname::text = ANY(%s)", [names]
        )
        found = {Principal(Kind.USER if login else Kind.ROLE, name): oid for name, oid, login in rows}
        missing = [who for who in principals if who != PUBLIC and who not in found]
        if missing:
            raise IllegalArgument(f"there is no {missing[0]}")
        return {**found, PUBLIC: 0}

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
    if change.before is not None and not isinstance(change.before, OwnerFact):
        sides.append((change.before, False))
    if change.after is not None:
        sides.append((change.after, True))
    return sides


def _plain(change: Change) -> bool:
    """Whether a change is made by statements that need nothing to be asked of the server first."""
    fact = change.fact
    if isinstance(fact, GrantFact):
        return fact.decision is Condition.ALLOW and fact.object.type is not _T.FUNCTION
    return isinstance(fact, Known | MemberFact)


def _name(principal: Principal) -> sql.Composable:
    return sql.SQL("PUBLIC") if principal == PUBLIC else _identifier(principal.name)


def _identifier(*names: str) -> sql.Composable:
    """INVARIANT: a name that the server would cut off is never sent: cut off, it may be another's."""
    for name in names:
        if len(name.encode()) > LONGEST:
            raise IllegalArgument(f"'{clip(name)}' is longer than the {LONGEST} bytes of a name here")
    return sql.Identifier(*names)
