"""Changes of facts made in a MariaDB or MySQL server."""

from typing import Any, Final

import pymysql

from headgate.model.errors import ConnectionFailed, IllegalArgument
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.connectors.mariadb.accounts import ServerProduct
from headgate.sync.connectors.mariadb.words import PUBLIC, complaint, escaped, matches, quoted, text
from headgate.sync.pushing.results import Applied, Change, Outcome
from headgate.sync.snapshots.facts import Fact, GrantFact, Kind, Known, MemberFact, Principal, Securable

_T = ObjectType
_NO_SUCH_GRANT: Final = frozenset({1141, 1147, 1403})


class MariaDBWriter:
    """Makes changes one statement at a time: the server commits each by itself."""

    def __init__(self, connection: "pymysql.Connection[Any]", server: ServerProduct) -> None:
        self.connection = connection
        self.server = server

    def make(self, change: Change) -> Applied:
        try:
            for fact, holds in ((change.before, False), (change.after, True)):
                if fact is not None:
                    answer = self._one(fact, holds)
                    if answer is not None:
                        return answer
        except (pymysql.OperationalError, pymysql.InterfaceError) as error:
            if error.args and error.args[0] in (2006, 2013):
                raise ConnectionFailed("the server went away", hint=str(error.args[-1])) from error
            return Applied(Outcome.FAILED, complaint(error))
        except pymysql.Error as error:
            return Applied(Outcome.FAILED, complaint(error))
        except IllegalArgument as error:
            return Applied(Outcome.FAILED, str(error))
        return Applied(Outcome.APPLIED)

    def _run(self, statement: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)

    def _one(self, fact: Fact, holds: bool) -> Applied | None:
        match fact:
            case Known(principal) if principal.kind is Kind.USER:
                if holds:
                    # Without a password nobody may enter: the account is locked until its owner is given one.
                    self._run(f"CREATE USER IF NOT EXISTS {self._who(principal)} ACCOUNT LOCK")
                else:
                    self._run(f"DROP USER IF EXISTS {self._who(principal)}")
            case Known(principal) if principal.kind is Kind.ROLE:
                word = "CREATE ROLE IF NOT EXISTS" if holds else "DROP ROLE IF EXISTS"
                self._run(f"{word} {self._who(principal)}")
            case MemberFact(_, who) if who == PUBLIC and self.server is ServerProduct.MYSQL:
                return Applied(Outcome.UNSUPPORTED, "which roles are mandatory is a setting of the server")
            case MemberFact(of_, who):
                if holds:
                    self._run(f"GRANT {self._who(of_)} TO {self._who(who)}")
                else:
                    self._revoke(f"REVOKE {self._who(of_)} FROM {self._who(who)}")
            case GrantFact(_, _, _, Condition.DENY):
                return Applied(Outcome.UNSUPPORTED, "there is no deny")
            case GrantFact(holder, object) if object.type is _T.SCHEMA and self._beside(
                holder, object.path[1]
            ):
                return Applied(Outcome.UNSUPPORTED, "a grant on a pattern would sleep or come alive by it")
            case GrantFact():
                self._grant(fact, holds)
            case _:
                return Applied(Outcome.UNSUPPORTED, "there is no such thing")
        return None

    def _grant(self, fact: GrantFact, holds: bool) -> None:
        object, word, holder = fact.object, fact.privilege, self._who(fact.holder)
        if not self.server.grants(object.type, word):
            raise IllegalArgument(f"'{word}' cannot be granted on a {object.type}")
        if object.type is _T.COLUMN:
            word = f"{word} ({quoted(object.path[3])})"
        if holds:
            option = " WITH GRANT OPTION" if fact.option else ""
            self._run(f"GRANT {word} ON {_on(object, escape=True)} TO {holder}{option}")
            return
        if not self._revoke(f"REVOKE {word} ON {_on(object, escape=True)} FROM {holder}"):
            # Grants that were made without escaping a wildcard are kept under the name as it was typed.
            self._revoke(f"REVOKE {word} ON {_on(object, escape=False)} FROM {holder}")

    def _beside(self, holder: Principal, schema: str) -> bool:
        """Whether the holder has a grant on a pattern too: it counts only as long as there is none on the name itself."""
        name, host = self.server.account(holder)
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT Db FROM mysql.db WHERE User = %s AND Host = %s", (name, host))
            patterns = {text(row["Db"]) for row in cursor.fetchall()}
        return any(matches(pattern, schema) for pattern in patterns - {schema, escaped(schema)})

    def _revoke(self, statement: str) -> bool:
        """Whether there was something to revoke."""
        try:
            self._run(statement)
        except pymysql.Error as error:
            if error.args and error.args[0] in _NO_SUCH_GRANT:
                return False
            raise
        return True

    def _who(self, principal: Principal) -> str:
        if self.server is ServerProduct.MARIADB and principal == PUBLIC:
            return "PUBLIC"
        if self.server is ServerProduct.MARIADB and principal.kind is Kind.ROLE:
            return quoted(principal.name)
        name, host = self.server.account(principal)
        return f"{self.connection.escape(name)}@{self.connection.escape(host)}"


def _on(object: Securable, escape: bool) -> str:
    match object.type:
        case ObjectType.CATALOG:
            return "*.*"
        case ObjectType.SCHEMA:
            return f"{quoted(escaped(object.path[1]) if escape else object.path[1])}.*"
        case ObjectType.FUNCTION:
            return f"FUNCTION {quoted(object.path[1])}.{quoted(object.path[2])}"
    return f"{quoted(object.path[1])}.{quoted(object.path[2])}"
