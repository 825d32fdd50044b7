"""A MariaDB or MySQL server as facts, and what surrounds them, read from its own tables."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pymysql

from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.sync.access.surroundings import Proxy, Surroundings
from headgate.sync.connectors.mariadb.accounts import ServerProduct, accounts, answers
from headgate.sync.connectors.mariadb.capabilities import DB_COLUMNS
from headgate.sync.connectors.mariadb.words import escaped, matches, words_in
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import Fact, Facts, GrantFact, MemberFact, Present, Principal, Securable

_T = ObjectType
_SYSTEM: Final = frozenset({"mysql", "information_schema", "performance_schema", "sys"})


class MariaDBReader:
    """The facts of one server, read from its own tables: the views of the standard expand roles."""

    def __init__(self, connection: "pymysql.Connection[Any]", server: ServerProduct, catalog: str) -> None:
        self.connection = connection
        self.server = server
        self.catalog = Securable(_T.CATALOG, (catalog,))
        self.facts: set[Fact] = {Present(self.catalog)}
        self.notes: list[str] = []
        self.who: dict[tuple[str, str], Principal] = {}
        self.acts: frozenset[MemberFact] = frozenset()
        self.leaves: dict[tuple[str, str], Securable] = {}
        self.schemas: dict[str, Securable] = {}

    def reading(self) -> Reading:
        self._accounts()
        self._inventory()
        self._databases()
        self._tables()
        self._routines()
        around = Surroundings(acts=self.acts.union(self._proxied()), proxies=tuple(self._definers()))
        return Reading(Facts(self.facts), notes=tuple(sorted(self.notes)), around=around)

    def _proxied(self) -> Iterator[MemberFact]:
        """Accounts that may enter as others."""
        query = "SELECT User, Host, Proxied_user, Proxied_host FROM mysql.proxies_priv"
        for row in self._rows(query):
            who = self.who.get((row["User"], row["Host"]))
            other = self.who.get((row["Proxied_user"], row["Proxied_host"]))
            if who is not None and other is not None:
                yield MemberFact(other, who)

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
        return answers(self.connection, query)

    def _granted(self, row: dict[str, Any], object: Securable | None, words: Sequence[str]) -> None:
        holder = self.who.get((row["User"], row["Host"]))
        if holder is None or object is None:
            return
        option = "GRANT OPTION" in words
        for word in words:
            if word != "GRANT OPTION":
                self.facts.add(GrantFact(holder, object, word, option=option))
        if words == ["GRANT OPTION"]:
            self.notes.append(f"{holder} may hand on whatever it gets on {object}")

    def _accounts(self) -> None:
        found = accounts(self.server, self._rows)
        self.who, self.acts = found.who, found.acts
        self.facts |= found.facts
        self.notes += found.notes
        for (name, host), words in found.globally:
            self._granted({"User": name, "Host": host}, self.catalog, words)

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
            words = [word for column, word in DB_COLUMNS.items() if row.get(column) == "Y"]
            if row.get("Grant_priv") == "Y":
                words.append("GRANT OPTION")
            pattern = row["Db"]
            matched = [name for name in self.schemas if matches(pattern, name)]
            if len(matched) != 1 or escaped(matched[0]) != pattern:
                self.notes.append(f"'{row['User']}@{row['Host']}' has grants on the pattern '{pattern}'")
            for name in matched:
                found[row["User"], row["Host"], name][pattern] = words
        for (user, host, name), rows in found.items():
            # INVARIANT: of several rows the server takes the nearest alone; where that is not the name itself, what all give.
            nearest = rows.get(escaped(name))
            every = [nearest] if nearest is not None else list(rows.values())
            words = [word for word in every[0] if all(word in other for other in every)]
            self._granted({"User": user, "Host": host}, self.schemas[name], words)

    def _tables(self) -> None:
        for row in self._rows("SELECT Host, User, Db, Table_name, Table_priv FROM mysql.tables_priv"):
            self._granted(row, self.leaves.get((row["Db"], row["Table_name"])), words_in(row["Table_priv"]))
        query = "SELECT Host, User, Db, Table_name, Column_name, Column_priv FROM mysql.columns_priv"
        for row in self._rows(query):
            leaf = self.leaves.get((row["Db"], row["Table_name"]))
            if leaf is not None and leaf.type is _T.TABLE:
                column = Securable(_T.COLUMN, (*leaf.path, row["Column_name"]))
                self._granted(row, column, words_in(row["Column_priv"]))
            elif leaf is not None:
                self.notes.append(f"'{row['User']}@{row['Host']}' has grants on columns of {leaf}")

    def _routines(self) -> None:
        query = "SELECT Host, User, Db, Routine_name, Routine_type, Proc_priv FROM mysql.procs_priv"
        for row in self._rows(query):
            if row["Routine_type"] == "FUNCTION" and row["Db"] in self.schemas:
                path = (*self.schemas[row["Db"]].path, row["Routine_name"])
                self._granted(row, Securable(_T.FUNCTION, path), words_in(row["Proc_priv"]))
            else:
                self.notes.append(f"'{row['User']}@{row['Host']}' has grants on {row['Routine_name']}")
