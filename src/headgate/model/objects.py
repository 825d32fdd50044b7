"""Securable objects: the tree metalake ▸ catalog ▸ schema ▸ leaf, and what hangs beside it."""

import enum
import re
from typing import Final

import msgspec

from headgate.model.errors import IllegalArgument


class ObjectType(enum.StrEnum):
    """Every kind of metadata object; the value is the word used on the wire."""

    METALAKE = "metalake"
    CATALOG = "catalog"
    SCHEMA = "schema"
    TABLE = "table"
    VIEW = "view"
    TOPIC = "topic"
    FILESET = "fileset"
    MODEL = "model"
    FUNCTION = "function"
    COLUMN = "column"
    ROLE = "role"
    TAG = "tag"
    POLICY = "policy"
    JOB_TEMPLATE = "job_template"
    JOB = "job"

    # Types are part of the keys that names are looked up by: hash as the text they equal, not by a call of its own.
    __hash__ = str.__hash__

    @classmethod
    def parse(cls, text: str) -> "ObjectType":
        """Read a type as clients write it, in any case."""
        try:
            return cls(text.lower())
        except ValueError:
            raise IllegalArgument(
                f"'{clip(text)}' is not a type of metadata object", hint=f"use one of {', '.join(cls)}"
            ) from None


LEAVES: Final = frozenset(
    {
        ObjectType.TABLE,
        ObjectType.VIEW,
        ObjectType.TOPIC,
        ObjectType.FILESET,
        ObjectType.MODEL,
        ObjectType.FUNCTION,
    }
)
"""What lives in a schema."""

BESIDE: Final = frozenset(
    {ObjectType.ROLE, ObjectType.TAG, ObjectType.POLICY, ObjectType.JOB_TEMPLATE, ObjectType.JOB}
)
"""What lives directly in a metalake, beside the catalogs."""

OWNABLE: Final = frozenset(ObjectType) - {ObjectType.COLUMN}


class CatalogType(enum.StrEnum):
    """What a catalog holds."""

    RELATIONAL = "relational"
    FILESET = "fileset"
    MESSAGING = "messaging"
    MODEL = "model"


LEAVES_OF: Final[dict[CatalogType, frozenset[ObjectType]]] = {
    CatalogType.RELATIONAL: frozenset({ObjectType.TABLE, ObjectType.VIEW, ObjectType.FUNCTION}),
    CatalogType.FILESET: frozenset({ObjectType.FILESET, ObjectType.FUNCTION}),
    CatalogType.MESSAGING: frozenset({ObjectType.TOPIC, ObjectType.FUNCTION}),
    CatalogType.MODEL: frozenset({ObjectType.MODEL, ObjectType.FUNCTION}),
}
"""What lives in the schemas of each type of catalog. Functions are kept beside anything."""

SCHEMA_SEPARATOR: Final = ":"
"""Joins the segments of a nested schema: ``A:B:C`` inherits from ``A:B`` and ``A``."""
MOST_LEVELS: Final = 16
"""How deep schemas lie in one another: a decision walks all of them."""


class ObjectRef(msgspec.Struct, frozen=True):
    """An object named as a client names it: a metalake, a type, and the path below the metalake.

    The path of a metalake itself is empty; that of a column is catalog, schema, table, column.
    """

    metalake: str
    type: ObjectType
    path: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else self.metalake

    @property
    def full_name(self) -> str:
        """The dotted name below the metalake, or the metalake's own name. A container with a dot stands in backticks."""
        if not self.path:
            return self.metalake
        above = [f"`{part}`" if "." in part else part for part in self.path[:-1]]
        return ".".join((*above, self.path[-1]))

    def child(self, type: ObjectType, name: str) -> "ObjectRef":
        return ObjectRef(self.metalake, type, (*self.path, name))

    @property
    def parent(self) -> "ObjectRef":
        """The container: the catalog of a schema, the schema of a table, the metalake of a catalog or role."""
        if self.type is ObjectType.METALAKE:
            raise IllegalArgument("a metalake has no parent")
        if self.type is ObjectType.CATALOG or self.type in BESIDE:
            return ObjectRef(self.metalake, ObjectType.METALAKE)
        if self.type is ObjectType.SCHEMA:
            return ObjectRef(self.metalake, ObjectType.CATALOG, self.path[:-1])
        if self.type is ObjectType.COLUMN:
            return ObjectRef(self.metalake, ObjectType.TABLE, self.path[:-1])
        return ObjectRef(self.metalake, ObjectType.SCHEMA, self.path[:-1])

    @classmethod
    def parse(cls, metalake: str, type: ObjectType, full_name: str) -> "ObjectRef":
        """Read the dotted name that a client gave for an object of this type."""
        if type is ObjectType.METALAKE:
            if full_name != metalake:
                raise IllegalArgument(f"metalake '{clip(full_name)}' is not '{clip(metalake)}'")
            return cls(metalake, type)
        depth = 1 if type is ObjectType.CATALOG or type in BESIDE else 2 if type is ObjectType.SCHEMA else 3
        if type is ObjectType.COLUMN:
            depth = 4
        parts = _split(full_name, depth)
        if len(parts) != depth or not all(parts):
            raise IllegalArgument(
                f"'{clip(full_name)}' does not name a {type}",
                hint=f"a {type} is named by {depth} part{'s' if depth > 1 else ''} joined by dots",
            )
        return cls(metalake, type, parts)


_PART: Final = re.compile(r"`([^`]+)`(?:\.|$)|([^.`]+)\.|(.+)$")


def _split(full_name: str, depth: int) -> tuple[str, ...]:
    """The parts of a dotted name: one in backticks may hold dots, and so may the last."""
    parts: list[str] = []
    position = 0
    while position < len(full_name) and len(parts) < depth - 1:
        found = _PART.match(full_name, position)
        if found is None:
            return ()
        parts.append(found[1] or found[2] or found[3])
        position = found.end()
    last = full_name[position:]
    quoted = len(last) > 2 and last[0] == last[-1] == "`"
    return (*parts, last[1:-1] if quoted else last)


_NAME: Final = re.compile(r"[\w][\w/=@:+\-. ]*", re.UNICODE)
_MAX_NAME: Final = 128


def clip(text: str, most: int = 80) -> str:
    """Shorten what a caller sent before it goes into a message, and make control characters visible."""
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[: most + 1])
    return shown if len(text) <= most else shown[:most] + "…"


def checked_name(name: object, what: str) -> str:
    """Return the name of a new object, or refuse what could mean something else in a path, a pattern or a log.

    INVARIANT: names hold no ``*``, ``?``, ``$``, ``%``, quotes, backslash, control character, no ``..`` and no
    empty segment, so a name can never widen a storage prefix, a session policy or a LIKE pattern.
    """
    return _checked(name, what, _NAME, "letters, digits, underscores and / = @ : + - .")


def _checked(name: object, what: str, pattern: re.Pattern[str], signs: str) -> str:
    if not isinstance(name, str) or not name:
        raise IllegalArgument(f"the {what} name must be a non-empty string")
    if len(name) > _MAX_NAME:
        raise IllegalArgument(
            f"the {what} name '{clip(name)}' has {len(name)} characters", hint=f"use at most {_MAX_NAME}"
        )
    if not pattern.fullmatch(name) or ".." in name or "//" in name or name != name.strip():
        raise IllegalArgument(
            f"the {what} name '{clip(name)}' has characters that a name may not have",
            hint=f"use {signs} and inner spaces; begin with a letter or digit; no '..' or '//'",
        )
    return name


_PERSON: Final = re.compile(r"[\w#@&()\[\]~!^;|=+][\w/=@:+\-. #&()\[\]~!^;|]*", re.UNICODE)


def governable(name: str) -> bool:
    """Whether an object of another system can be shown and governed here under its name there."""
    try:
        return SCHEMA_SEPARATOR not in checked_name(name, "object")
    except IllegalArgument:
        return False


def checked_person_name(name: object, what: str) -> str:
    """As `checked_name`, for users, groups and roles, which other systems name: more signs, of which none has a meaning.

    INVARIANT: still no wildcard, quote, backslash, ``$`` or ``%``, as such a name stands in session names, in other
    systems' grants and in patterns; no comma, which separates names in headers; and no sign that opens an option or markup.
    """
    return _checked(name, what, _PERSON, "letters, digits and _ / = @ : + - . # & ( ) [ ] ~ ! ^ ; |")


def checked_container_name(name: object, what: str) -> str:
    """As `checked_name`, for what contains other objects: no dot or slash, which would blur dotted names and paths."""
    good = checked_name(name, what)
    if "." in good or "/" in good:
        raise IllegalArgument(
            f"the {what} name '{clip(good)}' has a dot or a slash",
            hint="dots join the parts of a full name: leave them out",
        )
    return good
