"""The privileges of MariaDB and MySQL, what each server can hold, and how both write names."""

import re
from typing import Any, Final

import msgspec
import pymysql

from headgate.model.objects import ObjectType
from headgate.sync.actions import of
from headgate.sync.capabilities import NO_GATES, Capabilities, Natives, Semantics
from headgate.sync.facts import Kind, Principal

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

PUBLIC: Final = Principal(Kind.GROUP, "PUBLIC")
"""Everyone: MariaDB grants to it, MySQL gives it the mandatory roles."""
DB_COLUMNS: Final = {f"{word.capitalize().replace(' ', '_')}_priv": word for word in _SCHEMA} | {
    "Create_tmp_table_priv": "CREATE TEMPORARY TABLES"
}


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def escaped(schema: str) -> str:
    r"""INVARIANT: in a grant on a database its name is a pattern; ``_`` and ``%`` must not match anything else."""
    return re.sub(r"([_%\\])", r"\\\1", schema)


def matches(pattern: str, name: str) -> bool:
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    text = "".join(wild.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(text, name, re.DOTALL) is not None


def words_in(privileges: str) -> list[str]:
    """A set as the server keeps it, in the words of GRANT."""
    found = [word.strip().upper() for word in privileges.split(",") if word.strip()]
    known = {"GRANT": "GRANT OPTION", "DELETE VERSIONING ROWS": "DELETE HISTORY"}
    return [known.get(word, word) for word in found]


def text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def complaint(error: pymysql.Error) -> str:
    return " ".join(str(part) for part in error.args)
