"""A PostgreSQL that people have used, and what every login role really sees of it: asked by trying, with every role it can set."""

from collections.abc import Iterable

import psycopg

from tests.sync.stands import PostgresStand

Seen = frozenset[tuple[str, str, str]]
"""What somebody sees: relation, column and value."""
RELATIONS = ("sales.orders", "sales.refunds", "h_r.staff", "sales.totals")


def logins(pg: PostgresStand) -> list[str]:
    """Everybody of this stand who can enter and is no superuser."""
    rows = pg.connection.execute(
        "SELECT rolname FROM pg_roles WHERE rolcanlogin AND NOT rolsuper AND rolname LIKE %s ORDER BY 1",
        [f"%{pg.mark}"],
    )
    return [name for (name,) in rows]


def sees(
    pg: PostgresStand, login: str, relations: Iterable[str] = RELATIONS, calls: Iterable[str] = ()
) -> Seen:
    """Everything a login role sees by itself and after setting each role that it may set."""
    found: set[tuple[str, str, str]] = set()
    try:
        session = psycopg.connect(pg.url, user=login, autocommit=True)
    except psycopg.OperationalError:
        return frozenset()
    with session:
        names = pg.connection.execute(
            "SELECT rolname FROM pg_roles WHERE pg_has_role(%s, oid, 'MEMBER') AND rolname <> %s",
            [login, login],
        ).fetchall()
        for role in (None, *(name for (name,) in names)):
            session.execute("RESET ROLE" if role is None else f'SET ROLE "{role}"'.encode())  # type: ignore[arg-type]
            for relation in relations:
                found |= {(relation, *cell) for cell in _cells(session, relation)}
            for call in calls:
                found |= {(call, "", value) for value in _values(session, f"SELECT {call}")}
    return frozenset(found)


def _cells(session: psycopg.Connection[object], relation: str) -> Iterable[tuple[str, str]]:
    for column in ("x", "y"):
        for value in _values(session, f"SELECT {column} FROM {relation}"):
            yield column, value


def _values(session: psycopg.Connection[object], query: str) -> list[str]:
    try:
        return [str(row[0]) for row in session.execute(query.encode()).fetchall()]  # type: ignore[index]
    except psycopg.Error:
        return []
