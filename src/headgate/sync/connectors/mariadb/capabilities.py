"""What MariaDB and MySQL can hold, and what their privileges give."""

from typing import Final

import msgspec

from headgate.model.objects import ObjectType
from headgate.sync.access.actions import of
from headgate.sync.access.capabilities import (
    NO_GATES,
    Capabilities,
    Natives,
    Semantics,
)
from headgate.sync.snapshots.facts import Kind

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

MARIADB: Final = Capabilities(
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
    other_roles=True,
    direct=frozenset({Kind.USER, Kind.GROUP}),
    columns=True,
    creates=frozenset({Kind.USER}),
)
"""An account of MariaDB has one active role at a time, so roles are read and not written."""


def _without(natives: Natives, word: str) -> Natives:
    return {type: {w: gives for w, gives in table.items() if w != word} for type, table in natives.items()}


MYSQL: Final = msgspec.structs.replace(
    MARIADB,
    system="mysql",
    semantics=msgspec.structs.replace(
        MARIADB.semantics, natives=_without(MARIADB.semantics.natives, "DELETE HISTORY")
    ),
    # There is no PUBLIC to grant to.
    direct=frozenset({Kind.USER}),
)
"""A role of MySQL gives nothing until it is activated, which is the account's own matter: read and not written, too."""

DB_COLUMNS: Final = {f"{word.capitalize().replace(' ', '_')}_priv": word for word in _SCHEMA} | {
    "Create_tmp_table_priv": "CREATE TEMPORARY TABLES"
}
