"""Who there is in a MariaDB or MySQL server, which roles they hold, and what is granted to them on everything.

The two keep it in different tables. INVARIANT: a server that has neither's is refused, as nothing else tells who holds what.
"""

import enum
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec
import pymysql

from headgate.model.errors import IllegalArgument, Unsupported
from headgate.model.objects import ObjectType
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connectors.mariadb.capabilities import MARIADB, MYSQL
from headgate.sync.connectors.mariadb.words import PUBLIC, text
from headgate.sync.snapshots.facts import Fact, Kind, Known, MemberFact, Principal

Rows = Callable[[str], list[dict[str, Any]]]
"""Asks the server; the answers by the names of their columns."""
Place = tuple[str, str]
"""The name and host of an account."""

_BITS: Final = (
    "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "RELOAD", "SHUTDOWN", "PROCESS", "FILE", "GRANT OPTION",
    "REFERENCES", "INDEX", "ALTER", "SHOW DATABASES", "SUPER", "CREATE TEMPORARY TABLES", "LOCK TABLES", "EXECUTE",
    "REPLICATION SLAVE", "BINLOG MONITOR", "CREATE VIEW", "SHOW VIEW", "CREATE ROUTINE", "ALTER ROUTINE", "CREATE USER",
    "EVENT", "TRIGGER", "CREATE TABLESPACE", "DELETE HISTORY",
)  # fmt: skip
"""MariaDB's global privileges by the bit that the server keeps for each."""
_COLUMNS: Final = {
    "Create_tmp_table_priv": "CREATE TEMPORARY TABLES",
    "Grant_priv": "GRANT OPTION",
    "Repl_client_priv": "REPLICATION CLIENT",
    "Repl_slave_priv": "REPLICATION SLAVE",
    "Show_db_priv": "SHOW DATABASES",
}
"""The columns of MySQL's table of accounts that are not called after their privilege."""
_ABOVE: Final = frozenset({"SUPER", "CREATE USER"})
_ABOVE_IN_MYSQL: Final = _ABOVE | {
    "ROLE_ADMIN", "SET_USER_ID", "SET_ANY_DEFINER", "SYSTEM_VARIABLES_ADMIN"
}  # fmt: skip
_OWN_ACCOUNTS: Final = frozenset({"mariadb.sys", "mysql.sys", "mysql.session", "mysql.infoschema"})


class ServerProduct(enum.Enum):
    """Which of the two a server is."""

    MARIADB = "MariaDB"
    MYSQL = "MySQL"

    @property
    def capabilities(self) -> Capabilities:
        return MARIADB if self is ServerProduct.MARIADB else MYSQL

    def account(self, principal: Principal) -> Place:
        """The name and host under which the server keeps a principal."""
        name, at, host = principal.name.rpartition("@")
        if principal.kind is Kind.ROLE:
            # In MySQL a role is an account too, and mostly one of every host.
            if self is ServerProduct.MARIADB:
                return principal.name, ""
            return (name, host) if at else (principal.name, "%")
        if principal == PUBLIC and self is ServerProduct.MARIADB:
            return principal.name, ""
        if principal.kind is Kind.GROUP or not at:
            raise IllegalArgument(
                f"'{principal}' is no account", hint="an account is a name and a host: ann@%"
            )
        return name, host

    def grants(self, type: ObjectType, word: str) -> bool:
        """Whether such a privilege can be granted on an object of that type."""
        if word in self.capabilities.semantics.natives.get(type, {}) or word in _BITS:
            return True
        # What a push took away an undo gives back, also privileges that are the server's own.
        dynamic = re.fullmatch(r"[A-Z]+(?:[_ ][A-Z]+)*", word) is not None
        return self is ServerProduct.MYSQL and type is ObjectType.CATALOG and dynamic


class Accounts(msgspec.Struct, frozen=True):
    """The accounts of a server, those of administrators left out."""

    who: dict[Place, Principal]
    facts: frozenset[Fact]
    globally: tuple[tuple[Place, list[str]], ...]
    """What each holds on everything, in the words of GRANT."""
    acts: frozenset[MemberFact]
    """Who has the rights of another account, beside those of roles."""
    notes: tuple[str, ...]


def answers(connection: "pymysql.Connection[Any]", query: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return [{k: text(v) for k, v in row.items()} for row in cursor.fetchall()]


def detected(connection: "pymysql.Connection[Any]", name: str) -> ServerProduct:
    """Which server it is, by the tables in which it keeps its roles."""
    query = "SELECT TABLE_NAME AS t FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql'"
    return server_with({row["t"].lower() for row in answers(connection, query)}, name)


def server_with(tables: set[str], name: str) -> ServerProduct:
    if {"global_priv", "roles_mapping"} <= tables:
        return ServerProduct.MARIADB
    if {"user", "role_edges", "global_grants"} <= tables:
        return ServerProduct.MYSQL
    raise Unsupported(
        f"'{name}' shows neither MariaDB's tables of roles nor MySQL's",
        hint="it must be MariaDB 10.4 or MySQL 8.0, or later, and its account be allowed to read the database 'mysql'",
        about="sync",
    )


def accounts(server: ServerProduct, ask: Rows) -> Accounts:
    return _of_mariadb(ask) if server is ServerProduct.MARIADB else _of_mysql(ask)


# -- MariaDB -----------------------------------------------------------------------------------------------------


def _of_mariadb(ask: Rows) -> Accounts:
    who: dict[Place, Principal] = {}
    facts: set[Fact] = {Known(PUBLIC, everyone=True)}
    globally: list[tuple[Place, list[str]]] = []
    notes: list[str] = []
    for row in ask("SELECT Host, User, Priv FROM mysql.global_priv"):
        kept = msgspec.json.decode(row["Priv"])
        name, host = row["User"], row["Host"]
        if kept.get("denies"):
            raise _denied(name, host)
        access = int(kept.get("access", 0))
        words = [word for bit, word in enumerate(_BITS) if access >> bit & 1]
        if access >> len(_BITS):
            words.append(f"BITS {access >> len(_BITS) << len(_BITS)}")
        if name == "PUBLIC" and kept.get("is_role"):
            who[name, host] = PUBLIC
        elif kept.get("is_role"):
            who[name, host] = Principal(Kind.ROLE, name)
        elif _above(name, host, words, _ABOVE, notes):
            continue
        else:
            who[name, host] = Principal(Kind.USER, f"{name}@{host}")
        if who[name, host] != PUBLIC:
            facts.add(Known(who[name, host]))
        globally.append(((name, host), words))
    for row in ask("SELECT Host, User, Role FROM mysql.roles_mapping"):
        holder, role = who.get((row["User"], row["Host"])), who.get((row["Role"], ""))
        if holder is not None and role is not None:
            facts.add(MemberFact(role, holder))
    return Accounts(who, frozenset(facts), tuple(globally), frozenset(), tuple(notes))


# -- MySQL -------------------------------------------------------------------------------------------------------


def _of_mysql(ask: Rows) -> Accounts:
    _check_revokes(ask)
    dynamic: dict[Place, list[list[str]]] = {}
    for row in ask("SELECT USER AS u, HOST AS h, PRIV AS p, WITH_GRANT_OPTION AS o FROM mysql.global_grants"):
        words = [row["p"], *(["GRANT OPTION"] if row["o"] == "Y" else [])]
        dynamic.setdefault((row["u"], row["h"]), []).append(words)
    who: dict[Place, Principal] = {}
    globally: list[tuple[Place, list[str]]] = []
    notes: list[str] = []
    for row in ask("SELECT * FROM mysql.user"):
        name, host = row["User"], row["Host"]
        if "Restrictions" in _attributes(row):
            raise _denied(name, host)
        words = [_word(column) for column, value in row.items() if column.endswith("_priv") and value == "Y"]
        own = dynamic.get((name, host), [])
        if _is_role(row):
            who[name, host] = _role(name, host)
        elif _above(name, host, [*words, *(some[0] for some in own)], _ABOVE_IN_MYSQL, notes):
            continue
        else:
            who[name, host] = Principal(Kind.USER, f"{name}@{host}")
        globally += [((name, host), some) for some in (words, *own)]
    facts: set[Fact] = {Known(principal) for principal in who.values()}
    acts: set[MemberFact] = set()

    def held(place: Place, holder: Principal | None) -> None:
        role = who.get(place)
        if role is None or holder is None:
            return
        # An account that people enter by can be granted like a role: whoever holds it has its rights.
        (facts if role.kind is Kind.ROLE else acts).add(MemberFact(role, holder))
        if role.kind is not Kind.ROLE:
            notes.append(f"{holder} has the rights of the account {role}")

    query = "SELECT FROM_USER AS ru, FROM_HOST AS rh, TO_USER AS u, TO_HOST AS h FROM mysql.role_edges"
    for row in ask(query):
        held((row["ru"], row["rh"]), who.get((row["u"], row["h"])))
    for place in mandatory_roles(_setting(ask, "mandatory_roles")):
        facts.add(Known(PUBLIC, everyone=True))
        held(place, PUBLIC)
    return Accounts(who, frozenset(facts), tuple(globally), frozenset(acts), tuple(notes))


def _check_revokes(ask: Rows) -> None:
    if _setting(ask, "partial_revokes") == "ON":
        raise IllegalArgument(
            "the server has partial revokes",
            hint="a server with denials cannot be synchronised",
            about="sync",
        )


def _setting(ask: Rows, name: str) -> str:
    """A setting of the server; empty where it has none of that name."""
    found = ask(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
    return str(found[0]["Value"]) if found else ""


def _attributes(row: dict[str, Any]) -> dict[str, Any]:
    """What newer servers keep of an account beside its columns."""
    kept = row.get("User_attributes")
    found: dict[str, Any] = msgspec.json.decode(kept, type=dict[str, Any]) if kept else {}
    return found


def _is_role(row: dict[str, Any]) -> bool:
    """Whether an account is as CREATE ROLE makes it: nobody can enter by it, and it has no password to wait for."""
    shut = all(row[column] == "Y" for column in ("account_locked", "password_expired"))
    return shut and not row["authentication_string"]


def _role(name: str, host: str) -> Principal:
    """A role under its name alone where that says which."""
    return Principal(Kind.ROLE, name if host == "%" and "@" not in name else f"{name}@{host}")


def _word(column: str) -> str:
    return _COLUMNS.get(column) or column.removesuffix("_priv").replace("_", " ").upper()


_NAME: Final = r"(?:`((?:[^`]|``)*)`|'([^']*)'|\"([^\"]*)\"|([^\s,@`'\"]+))"
_ROLE: Final = re.compile(rf"\s*{_NAME}(?:@{_NAME})?\s*(?:,|$)")


def mandatory_roles(setting: str) -> list[Place]:
    """The roles that every account holds, as the setting names them."""
    found: list[Place] = []
    at = 0
    while at < len(setting):
        match = _ROLE.match(setting, at)
        if match is None:
            raise IllegalArgument(
                "the server's mandatory roles cannot be read",
                hint="look at its setting mandatory_roles",
                about="sync",
            )
        name, host = (
            next(
                (part.replace("``", "`") for part in match.groups()[start : start + 4] if part is not None),
                "%",
            )
            for start in (0, 4)
        )
        found.append((name, host))
        at = match.end()
    return found


# -- both --------------------------------------------------------------------------------------------------------


def _denied(name: str, host: str) -> IllegalArgument:
    return IllegalArgument(
        f"'{name}@{host}' is denied something", hint="a server with denials cannot be synchronised"
    )


def _above(name: str, host: str, words: list[str], above: frozenset[str], notes: list[str]) -> bool:
    if name in _OWN_ACCOUNTS:
        return True
    if above.isdisjoint(words):
        return False
    notes.append(f"'{name}@{host}' administers the server and bypasses what is granted")
    return True
