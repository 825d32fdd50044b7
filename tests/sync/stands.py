"""The systems under test: each can be emptied, can be asked by itself who may do what, and knows its own names."""

import datetime as dt
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio.from_thread
import httpx
import psycopg
import pymysql
from hypothesis import HealthCheck, Phase, settings

from headgate.decide import Authority, Node, Op, allowed
from headgate.decide.authority import Caller
from headgate.decide.policies.lens import lens
from headgate.decide.policies.shape import Shape
from headgate.decide.policies.view import seen
from headgate.doors.authentication import Authentication, SimpleScheme
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.server import Server
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity, PrincipalKind
from headgate.steward import Steward
from headgate.store import Store, access, objects
from headgate.store.snapshot import everything
from headgate.sync.connectors.gravitino.connector import GravitinoConnector
from headgate.sync.connectors.headgate.connector import HeadgateConnector
from headgate.sync.connectors.mariadb.connector import Account, MariaDBConnector
from headgate.sync.connectors.postgresql.connector import PostgresConnector
from headgate.sync.contract import Connector
from headgate.sync.snapshots.facts import Principal, Securable
from headgate.sync.snapshots.names import PrincipalMap
from tests import mariadb
from tests.sync.cells import ROWS, SCHEMA, Row, through_sql
from tests.sync.worlds import CATALOG, GROUPS, OBJECTS, SCHEMAS, TABLES, USERS, VIEWS

_T = ObjectType
SHAPE = Shape.of(SCHEMA)

FEW = settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""How often what takes whole systems is tried; a failure is told as it was found, as to make it smaller takes too long."""


class Stand(ABC):
    """One system with the little catalog and its people in it, and no policies."""

    connector: Connector
    names: PrincipalMap
    """The people of the world under the names of this system."""
    asked: tuple[str, ...]
    """The actions that the system itself can be asked about."""
    members: dict[Principal, frozenset[str]] = {}
    """Who is in which groups by their names in the world, where that is for others to say."""
    a_word = "INSERT"
    """A word of the system for something that may be done to a table."""
    tells_columns = True
    """Whether it tells who may read a table from who may read each of its columns."""

    @abstractmethod
    def empty(self) -> None:
        """Take away every policy."""

    @abstractmethod
    def may(self, user: Principal, object: Securable, action: str) -> bool:
        """What the system itself says, of a user by their name in the world."""

    def cells(self, user: Principal, table: Securable) -> list[Row]:
        """What the user sees of a table with the rows of `cells.ROWS` in it; here all rows of what they may read."""
        return through_sql(self.readable(user, table), "", {})

    def keep_back(self) -> list[str]:
        """Keep something of the first table back by means that only the system can judge; the columns that are left."""
        raise NotImplementedError

    def readable(self, user: Principal, table: Securable) -> list[str]:
        """The columns that the user may read."""
        if self.may(user, table, "table.read"):
            return ["x", "y"]
        if "column.read" not in self.asked:
            return []
        columns = [Securable(_T.COLUMN, (*table.path, name)) for name in ("x", "y")]
        return [column.path[3] for column in columns if self.may(user, column, "column.read")]

    def close(self) -> None:  # noqa: B027 — most have nothing to let go of
        """Let go of everything."""

    def own(self, user: Principal) -> Principal:
        found = self.names.of(user)
        assert found is not None
        return found


_OPS = {
    "table.read": Op.READ_TABLE,
    "table.insert": Op.ALTER_TABLE,
    "table.update": Op.ALTER_TABLE,
    "table.delete": Op.ALTER_TABLE,
    "table.alter": Op.ALTER_TABLE,
    "table.manage_grants": Op.GRANT_PRIVILEGE,
    "view.read": Op.LOAD_VIEW,
    "view.manage_grants": Op.GRANT_PRIVILEGE,
    "schema.manage_grants": Op.GRANT_PRIVILEGE,
    "schema.create_table": Op.CREATE_TABLE,
    "schema.create_view": Op.CREATE_VIEW,
    "schema.register_function": Op.REGISTER_FUNCTION,
}


class HeadgateStand(Stand):
    """A metalake in a store of its own, asked through the decision point."""

    asked = tuple(_OPS)
    a_word = "MODIFY_TABLE"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.store = Store(f"sqlite:///{folder}/lake.db")
        self.store.prepare()
        self.names = PrincipalMap.same_names()
        self.made = 0
        self.authority: Authority | None = None
        self.members = {}
        self.empty()

    def empty(self) -> None:
        # A fresh metalake is the surest way to have none of the old policies.
        self.made += 1
        with self.store.write("test", "world") as tx:
            old = objects.find(tx, 0, _T.METALAKE, f"m{self.made - 1}")
            if old is not None:
                objects.drop(tx, old.id)
            self.metalake = f"m{self.made}"
            root = objects.create(tx, 0, 0, _T.METALAKE, self.metalake)
            ids = {}
            for object in OBJECTS:
                above = object.parent()
                assert above is not None
                parent = ids.get(above, root)
                ids[object] = objects.create(tx, parent, root, object.type, object.path[-1])
            admin = access.add_principal(tx, root, PrincipalKind.USER, "admin")
            access.set_owner(tx, root, admin)
            for person in (*USERS, *GROUPS):
                access.add_principal(tx, root, PrincipalKind(person.kind.value), person.name)
        self.connector = HeadgateConnector(
            self.store,
            self.metalake,
            f"headgate:{self.metalake}",
            shapes=lambda _authority, _table: SHAPE,
            # Who pushes is the author of the policies that come, and sees what they use.
            writing=lambda: self.store.write("admin", "sync"),
        )

    def asked_as(self, user: Principal, object: Securable) -> tuple[Authority, Caller, Node]:
        """The decision point as it is now, who asks it, and about what."""
        if self.authority is None or self.authority.revision != self.store.revision():
            revision, changes = everything(self.store)
            self.authority = Authority().applied(changes, revision)
        node = self.authority.find(ObjectRef(self.metalake, object.type, object.path))
        assert node is not None
        caller = self.authority.caller(Identity(user.name, self.groups(user)), node.metalake)
        return self.authority, caller, node

    def may(self, user: Principal, object: Securable, action: str) -> bool:
        authority, caller, node = self.asked_as(user, object)
        return allowed(authority, caller, _OPS[action], node)

    def cells(self, user: Principal, table: Securable) -> list[Row]:
        """What the lens of the user shows of the rows."""
        if not self.may(user, table, "table.read"):
            return []
        verdict = lens(*self.asked_as(user, table), SHAPE, dt.datetime.now(dt.UTC))
        return [] if verdict.lens is None else list(seen(verdict.lens, SHAPE.schema, ROWS))

    def groups(self, _user: Principal) -> frozenset[str]:
        return frozenset()


class _InProcess(httpx.BaseTransport):
    """The real server behind a client that waits for its answers."""

    def __init__(self, app: Server) -> None:
        self.portal_context = anyio.from_thread.start_blocking_portal()
        self.portal = self.portal_context.__enter__()
        self.inner = httpx.ASGITransport(app=app, client=("127.0.0.1", 1))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def send() -> httpx.Response:
            made = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
            answer = await self.inner.handle_async_request(made)
            content = await answer.aread()
            return httpx.Response(answer.status_code, headers=answer.headers, content=content)

        return self.portal.call(send)

    def close(self) -> None:
        self.portal_context.__exit__(None, None, None)


class GravitinoStand(HeadgateStand):
    """The same behind the REST API that Gravitino's clients speak; who is in which group comes with each request."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(folder)

    def empty(self) -> None:
        self.members = {}
        if not hasattr(self, "client"):
            self._build()
        for kind in ("policies", "tags", "roles"):
            for name in self.call("GET", kind)["names"]:
                self.call("DELETE", f"{kind}/{quote(name, safe='')}")
        for object in OBJECTS:
            body = {"name": "admin", "type": "user"}
            self.call("PUT", f"owners/{object.type}/{'.'.join(object.path)}", body)
        self.connector = GravitinoConnector(self.client, self.metalake, "gravitino:lake")

    def _build(self) -> None:
        self.metalake = "metalake"
        steward = Steward(
            self.store, service_admins=frozenset({"admin"}), warehouse=str(self.folder / "warehouse")
        )
        app = Server(steward, Authentication([SimpleScheme()]), [GravitinoDoor()])
        self.client = httpx.Client(transport=_InProcess(app), base_url="http://headgate", auth=("admin", "x"))
        self._call("POST", "/api/metalakes", {"name": self.metalake})
        at = f"/api/metalakes/{self.metalake}"
        for person in (*USERS, *GROUPS):
            self._call("POST", f"{at}/{person.kind}s", {"name": person.name})
        catalog = {"name": CATALOG.path[0], "type": "relational", "provider": "lakehouse-iceberg"}
        self._call("POST", f"{at}/catalogs", catalog)
        at = f"{at}/catalogs/{CATALOG.path[0]}/schemas"
        columns = [{"name": "x", "type": "integer"}, {"name": "y", "type": "integer"}]
        for schema in SCHEMAS:
            self._call("POST", at, {"name": schema.path[1]})
        for table in TABLES:
            body: dict[str, Any] = {"name": table.path[2], "columns": columns}
            self._call("POST", f"{at}/{table.path[1]}/tables", body)
        for view in VIEWS:
            said = [{"type": "sql", "dialect": "spark", "sql": "SELECT x FROM sales.orders"}]
            body = {"name": view.path[2], "columns": columns[:1], "representations": said}
            self._call("POST", f"{at}/{view.path[1]}/views", body)

    def call(self, method: str, path: str, json: Any = None, version: int = 1) -> Any:
        """A request below the metalake."""
        return self._call(method, f"/api/metalakes/{self.metalake}/{path}", json, version)

    def _call(self, method: str, path: str, json: Any = None, version: int = 1) -> Any:
        headers = {"Accept": f"application/vnd.gravitino.v{version}+json"}
        answer = self.client.request(method, path, json=json, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def close(self) -> None:
        self.client.close()

    def keep_back(self) -> list[str]:
        content = {"on": f"{self.metalake}.{'.'.join(TABLES[0].path)}", "to": ["everyone"], "rows": "x = 1"}
        self.call("POST", "policies", {"name": "theirs", "policyType": "headgate", "content": content})
        return []

    def groups(self, user: Principal) -> frozenset[str]:
        return self.members.get(user, frozenset())


class PostgresStand(Stand):
    """A database of a real PostgreSQL, asked by its own functions."""

    asked = (
        "table.read", "table.insert", "table.update", "table.delete", "view.read", "schema.create_table",
        "schema.create_view", "schema.register_function", "column.read",
    )  # fmt: skip

    def __init__(self, url: str) -> None:
        self.url = url
        self.mark = secrets.token_hex(3)
        self.names = PrincipalMap(
            {"user:*": f"*_{self.mark}", "role:*": f"*_{self.mark}", "group:PUBLIC": "PUBLIC"}
        )
        self.connection = psycopg.connect(url, autocommit=True)
        run = self._run
        self.database = str(self.connection.info.dbname)
        run(f'REVOKE ALL ON DATABASE "{self.database}" FROM PUBLIC')
        run("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        run("DROP SCHEMA public")
        for schema in SCHEMAS:
            run(f'CREATE SCHEMA "{schema.path[1]}"')
        for table in TABLES:
            run(f'CREATE TABLE "{table.path[1]}"."{table.path[2]}" (x int, y int)')
        for view in VIEWS:
            run(f'CREATE VIEW "{view.path[1]}"."{view.path[2]}" AS SELECT x FROM sales.orders')
        for user in USERS:
            run(f'CREATE ROLE "{self.own(user).name}" LOGIN')
        self.connector = PostgresConnector(url, "lake", f"postgresql:{self.mark}")

    def _run(self, text: str) -> None:
        self.connection.execute(text.encode())

    run = _run

    def close(self) -> None:
        self.connection.close()

    def login(self, name: str, options: str = "") -> str:
        """A login role that only this system knows."""
        own = f"{name}_{self.mark}"
        self._run(f'CREATE ROLE "{own}" LOGIN {options}')
        return own

    def forget(self) -> None:
        """Take away what people put here who are not of the world: relations, functions, parents, defaults and logins."""
        known = {".".join(object.path[1:]) for object in (*TABLES, *VIEWS)}
        found = self.connection.execute(
            "SELECT n.nspname || '.' || c.relname, c.relkind::text FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname IN ('sales', 'h_r') AND c.relkind IN ('r', 'p', 'v', 'm')"
            " AND NOT c.relispartition ORDER BY c.relkind IN ('r', 'p')"
        ).fetchall()
        for child, parent in self.connection.execute(
            "SELECT inhrelid::regclass::text, inhparent::regclass::text FROM pg_inherits i"
            " JOIN pg_class c ON c.oid = inhrelid WHERE NOT c.relispartition"
        ).fetchall():
            self._run(f"ALTER TABLE {child} NO INHERIT {parent}")
        words = {"r": "TABLE", "p": "TABLE", "v": "VIEW", "m": "MATERIALIZED VIEW"}
        for name, kind in found:
            if name not in known:
                self._run(f"DROP {words[kind]} IF EXISTS {name} CASCADE")
        for (name,) in self.connection.execute(
            "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace::regnamespace::text IN ('sales', 'h_r')"
        ).fetchall():
            self._run(f"DROP FUNCTION {name} CASCADE")
        self.empty()
        own = {self.own(user).name for user in USERS}
        for (name,) in self.connection.execute(
            "SELECT rolname FROM pg_roles WHERE rolcanlogin AND rolname LIKE %s", [f"%{self.mark}"]
        ).fetchall():
            if name not in own:
                self._run(f'DROP ROLE "{name}"')
        for one in own:
            self._run(f'ALTER ROLE "{one}" INHERIT NOBYPASSRLS NOCREATEROLE')
            for other in own - {one}:
                self._run(f'REVOKE "{one}" FROM "{other}"')

    def empty(self) -> None:
        for table in TABLES:
            place = f'"{table.path[1]}"."{table.path[2]}"'
            for (name,) in self.connection.execute(
                "SELECT polname FROM pg_policy WHERE polrelid = %s::regclass", [place]
            ).fetchall():
                self._run(f'DROP POLICY "{name}" ON {place}')
            self._run(f"ALTER TABLE {place} DISABLE ROW LEVEL SECURITY")
        rows = self.connection.execute(
            "SELECT rolname, rolcanlogin FROM pg_roles WHERE rolname LIKE %s", [f"%{self.mark}"]
        ).fetchall()
        for name, _ in rows:
            self._run(f'REASSIGN OWNED BY "{name}" TO headgate')
            self._run(f'DROP OWNED BY "{name}"')
        for name, login in rows:
            if not login:
                self._run(f'DROP ROLE "{name}"')
        for schema in SCHEMAS:
            self._run(f'REVOKE ALL ON SCHEMA "{schema.path[1]}" FROM PUBLIC')
            self._run(f'REVOKE ALL ON ALL TABLES IN SCHEMA "{schema.path[1]}" FROM PUBLIC')
        self._run(f'REVOKE ALL ON DATABASE "{self.database}" FROM PUBLIC')

    def may(self, user: Principal, object: Securable, action: str) -> bool:
        type, _, verb = action.partition(".")
        name = self.own(user).name
        ways = ["has_database_privilege(%(u)s, current_database(), 'CONNECT')"]
        if type != "schema":
            ways.append("has_schema_privilege(%(u)s, %(s)s, 'USAGE')")
        words = {"read": "SELECT", "insert": "INSERT", "update": "UPDATE", "delete": "DELETE"}
        if type == "schema":
            ways.append("has_schema_privilege(%(u)s, %(s)s, 'CREATE')")
        elif type == "column":
            ways.append("has_column_privilege(%(u)s, %(t)s, %(c)s, 'SELECT')")
        else:
            ways.append(f"has_table_privilege(%(u)s, %(t)s, '{words[verb]}')")
        path = (*object.path, "", "", "")
        values = {"u": name, "s": path[1], "t": f'"{path[1]}"."{path[2]}"', "c": path[3]}
        row = self.connection.execute(f"SELECT {' AND '.join(ways)}".encode(), values).fetchone()
        assert row is not None
        return bool(row[0])

    def keep_back(self) -> list[str]:
        self._run("ALTER TABLE sales.orders ENABLE ROW LEVEL SECURITY")
        self._run("CREATE POLICY theirs ON sales.orders USING (x = 1)")
        return []

    def cells(self, user: Principal, table: Securable) -> list[Row]:
        """Asked as the user, of real rows."""
        columns, place = self.readable(user, table), f'"{table.path[1]}"."{table.path[2]}"'
        if not columns:
            return []
        self._run(f"TRUNCATE {place}")
        with self.connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {place} VALUES (%(x)s, %(y)s)".encode(), ROWS)
        with psycopg.connect(self.url, user=self.own(user).name, autocommit=True) as session:
            try:
                rows = session.execute(f"SELECT {', '.join(columns)} FROM {place}".encode()).fetchall()
            except psycopg.errors.InsufficientPrivilege:
                # A filter may ask for a column that the user may not read.
                return []
        return [dict(zip(columns, row, strict=True)) for row in rows]


class MariaDBStand(Stand):
    """A real MariaDB, asked by trying as the user."""

    system = "mariadb"
    roles = "SELECT User FROM mysql.global_priv WHERE JSON_VALUE(Priv, '$.is_role') AND User <> 'PUBLIC'"
    tells_columns = False
    asked = (
        "table.read",
        "table.insert",
        "table.update",
        "table.delete",
        "table.alter",
        "view.read",
        "column.read",
    )

    def __init__(self, server: mariadb.Server) -> None:
        self.server = server
        self.names = PrincipalMap({"user:*": "*@%", "group:PUBLIC": "PUBLIC"})
        self.connection = server.connect()
        self.sessions: dict[Principal, pymysql.Connection[Any]] = {}
        for schema in SCHEMAS:
            self._run(f"CREATE DATABASE IF NOT EXISTS `{schema.path[1]}`")
        # A neighbour that an unescaped wildcard would reach.
        self._run("CREATE DATABASE IF NOT EXISTS `hxr`")
        self._run("CREATE TABLE IF NOT EXISTS `hxr`.staff (x int, y int)")
        for table in TABLES:
            self._run(f"CREATE TABLE IF NOT EXISTS `{table.path[1]}`.`{table.path[2]}` (x int, y int)")
        for view in VIEWS:
            self._run(
                f"CREATE OR REPLACE VIEW `{view.path[1]}`.`{view.path[2]}` AS SELECT x FROM sales.orders"
            )
        for user in USERS:
            self._run(f"CREATE USER IF NOT EXISTS '{user.name}'@'%'")
        account = Account("127.0.0.1", server.port, server.user, server.password)
        self.connector = MariaDBConnector(account, "lake", f"{self.system}:{secrets.token_hex(3)}")
        self.empty()

    def _run(self, text: str) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchall()

    def close(self) -> None:
        for session in (*self.sessions.values(), self.connection):
            session.close()
        self.sessions = {}

    def empty(self) -> None:
        for session in self.sessions.values():
            session.close()
        self.sessions = {}
        for user in USERS:
            self._run(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM '{user.name}'@'%'")
        for (name,) in self._run(self.roles):
            self._run(f"DROP ROLE `{name.decode() if isinstance(name, bytes) else name}`")

    def may(self, user: Principal, object: Securable, action: str) -> bool:
        place = f"`{object.path[1]}`.`{object.path[2]}`"
        tries = {
            "table.read": f"SELECT * FROM {place} LIMIT 0",
            "view.read": f"SELECT * FROM {place} LIMIT 0",
            "table.insert": f"INSERT INTO {place} VALUES (1, 1)",
            "table.update": f"UPDATE {place} SET x = 1 WHERE 1 = 0",
            "table.delete": f"DELETE FROM {place} WHERE 1 = 0",
            "table.alter": f"ALTER TABLE {place} COMMENT = ''",
        }
        statement = tries.get(action) or f"SELECT `{object.path[3]}` FROM {place} LIMIT 0"
        if user not in self.sessions:
            self.sessions[user] = pymysql.connect(host="127.0.0.1", port=self.server.port, user=user.name)
        session = self.sessions[user]
        try:
            with session.cursor() as cursor:
                cursor.execute(statement)
            return True
        except pymysql.OperationalError as error:
            if error.args[0] not in (1142, 1143, 1044, 1370, 1356):
                raise
            return False
        finally:
            session.rollback()


class MySQLStand(MariaDBStand):
    """A real MySQL, asked in the same way: with every role active that the user holds."""

    system = "mysql"
    roles = "SELECT User FROM mysql.user WHERE account_locked = 'Y' AND password_expired = 'Y'"

    def __init__(self, server: mariadb.Server) -> None:
        super().__init__(server)
        self._run("SET GLOBAL activate_all_roles_on_login = ON")


def places(action: str) -> Iterator[Securable]:
    """The objects of the world that an action is done to."""
    type = action.partition(".")[0]
    if type == "column":
        yield from (Securable(_T.COLUMN, (*table.path, "y")) for table in TABLES)
    else:
        yield from (object for object in OBJECTS if object.type == type)


__all__ = [
    "CATALOG",
    "GravitinoStand",
    "HeadgateStand",
    "MariaDBStand",
    "MySQLStand",
    "PostgresStand",
    "Stand",
    "places",
]
