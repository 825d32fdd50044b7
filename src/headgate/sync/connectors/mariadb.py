"""MariaDB: one server, presented as one catalog whose schemas are its databases.

A user is an account with its host, ``ann@%``. Roles are read, but not written: an account has one active role at a time, so a
push grants to the accounts themselves. Grants on a database reach everything in it, tables and views alike; there are no gates.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import pymysql

from headgate.model.errors import ConnectionFailed, IllegalArgument
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.model.privileges import Condition
from headgate.sync.actions import of
from headgate.sync.capabilities import NO_GATES, Capabilities, Semantics
from headgate.sync.contract import Connector
from headgate.sync.facts import Fact, Facts, Grant, Kind, Known, Member, Present, Principal, Securable
from headgate.sync.results import Applied, Change, Outcome
from headgate.sync.run import Reading
from headgate.sync.surroundings import Proxy, Surroundings

_T = ObjectType


def _each(type: ObjectType, **words: str) -> dict[str, frozenset[str]]:
    return {word.replace("_", " "): of(type, verb) for word, verb in words.items()}


_COLUMN = _each(_T.COLUMN, SELECT="read", INSERT="insert", UPDATE="update", REFERENCES="references")
_TABLE = _each(
    _T.TABLE, SELECT="read", INSERT="insert", UPDATE="update", DELETE="delete", ALTER="alter", DROP="drop",
    REFERENCES="references", INDEX="index", TRIGGER="trigger", DELETE_HISTORY="delete_history",
)  # fmt: skip
_VIEW = _each(
    _T.VIEW, SELECT="read", INSERT="insert", UPDATE="update", DELETE="delete", DROP="drop", SHOW_VIEW="show"
)
_SCHEMA = {
    "SELECT": _TABLE["SELECT"] | _VIEW["SELECT"],
    "INSERT": _TABLE["INSERT"] | _VIEW["INSERT"],
    "UPDATE": _TABLE["UPDATE"] | _VIEW["UPDATE"],
    "DELETE": _TABLE["DELETE"] | _VIEW["DELETE"],
    "CREATE": of(_T.SCHEMA, "create_table", "replace"),
    "DROP": _TABLE["DROP"] | _VIEW["DROP"] | of(_T.SCHEMA, "drop"),
    "ALTER": _TABLE["ALTER"] | of(_T.SCHEMA, "alter"),
    "INDEX": _TABLE["INDEX"],
    "REFERENCES": _TABLE["REFERENCES"],
    "TRIGGER": _TABLE["TRIGGER"],
    "DELETE HISTORY": _TABLE["DELETE HISTORY"],
    "LOCK TABLES": of(_T.TABLE, "lock") | of(_T.VIEW, "lock"),
    "CREATE TEMPORARY TABLES": of(_T.SCHEMA, "temporary"),
    "CREATE VIEW": of(_T.SCHEMA, "create_view"),
    "SHOW VIEW": _VIEW["SHOW VIEW"],
    "CREATE ROUTINE": of(_T.SCHEMA, "register_function"),
    "ALTER ROUTINE": of(_T.FUNCTION, "alter", "drop"),
    "EXECUTE": of(_T.FUNCTION, "execute"),
    "EVENT": of(_T.SCHEMA, "event"),
}

CAPABILITIES: Final = Capabilities(
    system="mariadb",
    semantics=Semantics(
        natives={
            _T.CATALOG: {**_SCHEMA, "CREATE": _SCHEMA["CREATE"] | of(_T.CATALOG, "create_schema")},
            _T.SCHEMA: _SCHEMA,
            _T.TABLE: _TABLE,
            _T.VIEW: _VIEW,
            _T.COLUMN: _COLUMN,
            _T.FUNCTION: {"EXECUTE": _SCHEMA["EXECUTE"], "ALTER ROUTINE": _SCHEMA["ALTER ROUTINE"]},
        },
        inherits=frozenset({_T.CATALOG, _T.SCHEMA}),
        gates=NO_GATES,
        owner_inherits=False,
    ),
    direct=frozenset({Kind.USER, Kind.GROUP}),
    columns=True,
    creates=frozenset({Kind.USER}),
)

PUBLIC: Final = Principal(Kind.GROUP, "PUBLIC")
_SYSTEM: Final = frozenset({"mysql", "information_schema", "performance_schema", "sys"})
_BITS: Final = (
    "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "RELOAD", "SHUTDOWN", "PROCESS", "FILE", "GRANT OPTION",
    "REFERENCES", "INDEX", "ALTER", "SHOW DATABASES", "SUPER", "CREATE TEMPORARY TABLES", "LOCK TABLES", "EXECUTE",
    "REPLICATION SLAVE", "BINLOG MONITOR", "CREATE VIEW", "SHOW VIEW", "CREATE ROUTINE", "ALTER ROUTINE", "CREATE USER",
    "EVENT", "TRIGGER", "CREATE TABLESPACE", "DELETE HISTORY",
)  # fmt: skip
"""The global privileges by the bit that the server keeps for each."""
_ABOVE: Final = (1 << _BITS.index("SUPER")) | (1 << _BITS.index("CREATE USER"))
_DB_COLUMNS: Final = {f"{word.capitalize().replace(' ', '_')}_priv": word for word in _SCHEMA} | {
    "Create_tmp_table_priv": "CREATE TEMPORARY TABLES"
}
_NO_SUCH_GRANT: Final = frozenset({1141, 1147, 1403})


class Account(msgspec.Struct, frozen=True):
    """Where a server is and who administers it."""

    host: str
    port: int
    user: str
    password: str

    def __repr__(self) -> str:
        return f"Account({self.user!r} at {self.host!r}:{self.port})"


class MariaDBConnector(Connector):
    """One server over one connection per call."""

    def __init__(self, account: Account, catalog: str, name: str | None = None) -> None:
        super().__init__(name or f"mariadb:{catalog}")
        self.account = account
        self.catalog = catalog

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        with self._connected() as connection:
            return _Sight(connection, self.catalog).reading()

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        with self._connected() as connection:
            hand = _Hand(connection)
            return [hand.make(change) for change in changes]

    @contextmanager
    def _connected(self) -> Iterator["pymysql.Connection[Any]"]:
        at = self.account
        try:
            connection = pymysql.connect(
                host=at.host,
                port=at.port,
                user=at.user,
                password=at.password,
                autocommit=True,
                connect_timeout=10,
                cursorclass=pymysql.cursors.DictCursor,
            )
        except pymysql.Error as error:
            raise ConnectionFailed(
                f"'{self.name}' does not answer", hint=str(error.args[-1]), about="sync"
            ) from error
        with connection:
            yield connection


class _Sight:
    """The facts of one server, read from its own tables: the views of the standard expand roles."""

    def __init__(self, connection: "pymysql.Connection[Any]", catalog: str) -> None:
        self.connection = connection
        self.catalog = Securable(_T.CATALOG, (catalog,))
        self.facts: set[Fact] = {Present(self.catalog), Known(PUBLIC, everyone=True)}
        self.notes: list[str] = []
        self.who: dict[tuple[str, str], Principal] = {}
        self.leaves: dict[tuple[str, str], Securable] = {}
        self.schemas: dict[str, Securable] = {}

    def reading(self) -> Reading:
        self._accounts()
        self._inventory()
        self._databases()
        self._tables()
        self._routines()
        around = Surroundings(acts=frozenset(self._proxied()), proxies=tuple(self._definers()))
        return Reading(Facts(self.facts), notes=tuple(sorted(self.notes)), around=around)

    def _proxied(self) -> Iterator[Member]:
        """Accounts that may enter as others."""
        query = "SELECT User, Host, Proxied_user, Proxied_host FROM mysql.proxies_priv"
        for row in self._rows(query):
            who = self.who.get((row["User"], row["Host"]))
            other = self.who.get((row["Proxied_user"], row["Proxied_host"]))
            if who is not None and other is not None:
                yield Member(other, who)

    def _definers(self) -> Iterator[Proxy]:
        """Views and functions that read with the rights of who defined them; what a view reads the server does not tell."""
        query = (
            "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS n, DEFINER AS d FROM information_schema.VIEWS"
            " WHERE SECURITY_TYPE = 'DEFINER'"
        )
        for row in self._rows(query):
            view = self.leaves.get((row["s"], row["n"]))
            if view is not None:
                yield Proxy(view, "view.read", self._definer(row["d"]))
        query = (
            "SELECT ROUTINE_SCHEMA AS s, ROUTINE_NAME AS n, DEFINER AS d FROM information_schema.ROUTINES"
            " WHERE ROUTINE_TYPE = 'FUNCTION' AND SECURITY_TYPE = 'DEFINER'"
        )
        for row in self._rows(query):
            if row["s"] in self.schemas:
                function = Securable(_T.FUNCTION, (*self.schemas[row["s"]].path, row["n"]))
                yield Proxy(function, "function.execute", self._definer(row["d"]))

    def _definer(self, account: str) -> Principal | None:
        """None for one who administers the server, or who is gone: then it shows nothing, whatever is granted."""
        name, _, host = account.rpartition("@")
        return self.who.get((name, host)) or self.who.get((account, ""))

    def _rows(self, query: str) -> list[dict[str, Any]]:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return [{k: _text(v) for k, v in row.items()} for row in cursor.fetchall()]

    def _granted(self, row: dict[str, Any], object: Securable | None, words: Sequence[str]) -> None:
        holder = self.who.get((row["User"], row["Host"]))
        if holder is None or object is None:
            return
        option = "GRANT OPTION" in words
        for word in words:
            if word != "GRANT OPTION":
                self.facts.add(Grant(holder, object, word, option=option))
        if words == ["GRANT OPTION"]:
            self.notes.append(f"{holder} may hand on whatever it gets on {object}")

    def _accounts(self) -> None:
        rows = self._rows("SELECT Host, User, Priv FROM mysql.global_priv")
        for row in rows:
            told = msgspec.json.decode(row["Priv"])
            access = int(told.get("access", 0))
            name, host = row["User"], row["Host"]
            if told.get("denies"):
                raise IllegalArgument(
                    f"'{name}@{host}' is denied something",
                    hint="a server with denials cannot be synchronised",
                )
            if name == "PUBLIC" and told.get("is_role"):
                self.who[name, host] = PUBLIC
            elif told.get("is_role"):
                self.who[name, host] = Principal(Kind.ROLE, name)
            elif access & _ABOVE or name == "mariadb.sys":
                if name != "mariadb.sys":
                    self.notes.append(f"'{name}@{host}' administers the server and bypasses what is granted")
                continue
            else:
                self.who[name, host] = Principal(Kind.USER, f"{name}@{host}")
            principal = self.who[name, host]
            if principal != PUBLIC:
                self.facts.add(Known(principal))
            words = [word for bit, word in enumerate(_BITS) if access >> bit & 1]
            if access >> len(_BITS):
                words.append(f"BITS {access >> len(_BITS) << len(_BITS)}")
            self._granted(row, self.catalog, words)
        for row in self._rows("SELECT Host, User, Role FROM mysql.roles_mapping"):
            who, role = self.who.get((row["User"], row["Host"])), self.who.get((row["Role"], ""))
            if who is not None and role is not None:
                self.facts.add(Member(role, who))

    def _inventory(self) -> None:
        for row in self._rows("SELECT SCHEMA_NAME AS s FROM information_schema.SCHEMATA"):
            name = row["s"]
            if name in _SYSTEM:
                continue
            if SCHEMA_SEPARATOR in name:
                self.notes.append(f"database '{name}' has a colon in its name and cannot be named here")
                continue
            self.schemas[name] = Securable(_T.SCHEMA, (*self.catalog.path, name))
            self.facts.add(Present(self.schemas[name]))
        query = "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, TABLE_TYPE AS k FROM information_schema.TABLES"
        for row in self._rows(query):
            if row["s"] in self.schemas:
                type = _T.VIEW if row["k"] == "VIEW" else _T.TABLE
                leaf = Securable(type, (*self.schemas[row["s"]].path, row["t"]))
                self.leaves[row["s"], row["t"]] = leaf
                self.facts.add(Present(leaf))
        query = "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, COLUMN_NAME AS c FROM information_schema.COLUMNS"
        for row in self._rows(query):
            found = self.leaves.get((row["s"], row["t"]))
            if found is not None and found.type is _T.TABLE:
                self.facts.add(Present(Securable(_T.COLUMN, (*found.path, row["c"]))))
        query = (
            "SELECT ROUTINE_SCHEMA AS s, ROUTINE_NAME AS r FROM information_schema.ROUTINES"
            " WHERE ROUTINE_TYPE = 'FUNCTION'"
        )
        for row in self._rows(query):
            if row["s"] in self.schemas:
                self.facts.add(Present(Securable(_T.FUNCTION, (*self.schemas[row["s"]].path, row["r"]))))

    def _databases(self) -> None:
        found: dict[tuple[str, str, str], dict[str, list[str]]] = defaultdict(dict)
        for row in self._rows("SELECT * FROM mysql.db"):
            words = [word for column, word in _DB_COLUMNS.items() if row.get(column) == "Y"]
            if row.get("Grant_priv") == "Y":
                words.append("GRANT OPTION")
            pattern = row["Db"]
            matched = [name for name in self.schemas if _matches(pattern, name)]
            if len(matched) != 1 or _escaped(matched[0]) != pattern:
                self.notes.append(f"'{row['User']}@{row['Host']}' has grants on the pattern '{pattern}'")
            for name in matched:
                found[row["User"], row["Host"], name][pattern] = words
        for (user, host, name), rows in found.items():
            # INVARIANT: of several rows the server takes the nearest alone; where that is not the name itself, what all give.
            nearest = rows.get(_escaped(name))
            every = [nearest] if nearest is not None else list(rows.values())
            words = [word for word in every[0] if all(word in other for other in every)]
            self._granted({"User": user, "Host": host}, self.schemas[name], words)

    def _tables(self) -> None:
        for row in self._rows("SELECT Host, User, Db, Table_name, Table_priv FROM mysql.tables_priv"):
            self._granted(row, self.leaves.get((row["Db"], row["Table_name"])), _words(row["Table_priv"]))
        query = "SELECT Host, User, Db, Table_name, Column_name, Column_priv FROM mysql.columns_priv"
        for row in self._rows(query):
            leaf = self.leaves.get((row["Db"], row["Table_name"]))
            if leaf is not None and leaf.type is _T.TABLE:
                column = Securable(_T.COLUMN, (*leaf.path, row["Column_name"]))
                self._granted(row, column, _words(row["Column_priv"]))
            elif leaf is not None:
                self.notes.append(f"'{row['User']}@{row['Host']}' has grants on columns of {leaf}")

    def _routines(self) -> None:
        query = "SELECT Host, User, Db, Routine_name, Routine_type, Proc_priv FROM mysql.procs_priv"
        for row in self._rows(query):
            if row["Routine_type"] == "FUNCTION" and row["Db"] in self.schemas:
                path = (*self.schemas[row["Db"]].path, row["Routine_name"])
                self._granted(row, Securable(_T.FUNCTION, path), _words(row["Proc_priv"]))
            else:
                self.notes.append(f"'{row['User']}@{row['Host']}' has grants on {row['Routine_name']}")


class _Hand:
    """Makes changes one statement at a time: the server commits each by itself."""

    def __init__(self, connection: "pymysql.Connection[Any]") -> None:
        self.connection = connection

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
            return Applied(Outcome.FAILED, _told(error))
        except pymysql.Error as error:
            return Applied(Outcome.FAILED, _told(error))
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
            case Member(of_, who):
                if holds:
                    self._run(f"GRANT {self._who(of_)} TO {self._who(who)}")
                else:
                    self._revoke(f"REVOKE {self._who(of_)} FROM {self._who(who)}")
            case Grant(_, _, _, Condition.DENY):
                return Applied(Outcome.UNSUPPORTED, "there is no deny")
            case Grant(holder, object) if object.type is _T.SCHEMA and self._beside(holder, object.path[1]):
                return Applied(Outcome.UNSUPPORTED, "a grant on a pattern would sleep or come alive by it")
            case Grant():
                self._grant(fact, holds)
            case _:
                return Applied(Outcome.UNSUPPORTED, "there is no such thing")
        return None

    def _grant(self, fact: Grant, holds: bool) -> None:
        object, word, holder = fact.object, fact.privilege, self._who(fact.holder)
        if word not in CAPABILITIES.semantics.natives.get(object.type, {}) and word not in _BITS:
            raise IllegalArgument(f"'{word}' cannot be granted on a {object.type}")
        if object.type is _T.COLUMN:
            word = f"{word} ({_quoted(object.path[3])})"
        if holds:
            option = " WITH GRANT OPTION" if fact.option else ""
            self._run(f"GRANT {word} ON {_on(object, escape=True)} TO {holder}{option}")
            return
        if not self._revoke(f"REVOKE {word} ON {_on(object, escape=True)} FROM {holder}"):
            # Grants that were made without escaping a wildcard are kept under the name as it was typed.
            self._revoke(f"REVOKE {word} ON {_on(object, escape=False)} FROM {holder}")

    def _beside(self, holder: Principal, schema: str) -> bool:
        """Whether the holder has a grant on a pattern too: it counts only as long as there is none on the name itself."""
        name, _, host = holder.name.rpartition("@") if holder.kind is Kind.USER else (holder.name, "", "")
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT Db FROM mysql.db WHERE User = %s AND Host = %s", (name, host))
            patterns = {_text(row["Db"]) for row in cursor.fetchall()}
        return any(_matches(pattern, schema) for pattern in patterns - {schema, _escaped(schema)})

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
        if principal == PUBLIC:
            return "PUBLIC"
        if principal.kind is Kind.ROLE:
            return _quoted(principal.name)
        name, at, host = principal.name.rpartition("@")
        if principal.kind is Kind.GROUP or not at:
            raise IllegalArgument(
                f"'{principal}' is no account", hint="an account is a name and a host: ann@%"
            )
        return f"{self.connection.escape(name)}@{self.connection.escape(host)}"


def _on(object: Securable, escape: bool) -> str:
    match object.type:
        case ObjectType.CATALOG:
            return "*.*"
        case ObjectType.SCHEMA:
            return f"{_quoted(_escaped(object.path[1]) if escape else object.path[1])}.*"
        case ObjectType.FUNCTION:
            return f"FUNCTION {_quoted(object.path[1])}.{_quoted(object.path[2])}"
    return f"{_quoted(object.path[1])}.{_quoted(object.path[2])}"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _escaped(schema: str) -> str:
    r"""INVARIANT: in a grant on a database its name is a pattern; ``_`` and ``%`` must not match anything else."""
    return re.sub(r"([_%\\])", r"\\\1", schema)


def _matches(pattern: str, name: str) -> bool:
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    text = "".join(wild.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(text, name, re.DOTALL) is not None


def _words(privileges: str) -> list[str]:
    """A set as the server keeps it, in the words of GRANT."""
    found = [word.strip().upper() for word in privileges.split(",") if word.strip()]
    known = {"GRANT": "GRANT OPTION", "DELETE VERSIONING ROWS": "DELETE HISTORY"}
    return [known.get(word, word) for word in found]


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _told(error: pymysql.Error) -> str:
    return " ".join(str(part) for part in error.args)
