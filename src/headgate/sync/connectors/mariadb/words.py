"""How MariaDB and MySQL write names, sets of privileges and errors."""

import re
from typing import Any, Final

import pymysql

from headgate.model.objects import ObjectType
from headgate.sync.snapshots.facts import Kind, Principal

_T = ObjectType


PUBLIC: Final = Principal(Kind.GROUP, "PUBLIC")
"""Everyone: MariaDB grants to it, MySQL gives it the mandatory roles."""


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
