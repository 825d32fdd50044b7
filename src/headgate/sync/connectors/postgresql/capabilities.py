"""What PostgreSQL can hold, and what its privileges give."""

from typing import Final

from headgate.model.objects import ObjectType
from headgate.sync.access.actions import of
from headgate.sync.access.capabilities import (
    CATALOG_GATE_ON_SCHEMAS,
    Capabilities,
    Semantics,
)
from headgate.sync.snapshots.facts import Kind

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
    longest_name=63,
)  # fmt: skip
