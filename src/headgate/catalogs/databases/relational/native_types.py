"""Types of databases as clients know them, and back.

INVARIANT: a type is written from the words of these tables and from numbers. One that only its database knows keeps its
text when it is shown, and is written only if it is one of those that are listed here.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from headgate.model import tables as t
from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

_WORD: Final = re.compile(
    r"([a-z][a-z0-9_ ]*?)(?:\((\d{1,8})(?:,(\d{1,5}))?\))?(\[\])?( unsigned)?", re.ASCII
)

_DIGITS: Final = re.compile(r"\d{1,8}", re.ASCII)


class NativeTypes(msgspec.Struct, frozen=True):
    """The types of one kind of database."""

    system: str
    plain: Mapping[str, str]
    """Ours without numbers, to theirs."""
    sized: Mapping[str, tuple[str, int, int]]
    """Ours with one number, to theirs, with the least and the most."""
    read: Mapping[str, str]
    """Theirs to ours, where several of theirs are one of ours."""
    precise: int
    """The most digits of a decimal there."""
    scaled: str
    """What they call a decimal."""
    own: frozenset[str]
    """Types that only they know and that can be written, with or without one or two numbers."""
    arrays: bool

    def shown(self, text: str) -> t.DataType:
        """The type that the database writes as this."""
        low = re.sub(r"\s+", " ", text.strip().lower())
        if self.arrays and low.endswith("[]"):
            inner = self.shown(low[:-2])
            return t.ExternalType(text) if isinstance(inner, t.ExternalType) else t.ListDataType(inner)
        if low in self.read:
            return self.read[low]
        if (sized := self._sized(low)) is not None:
            return sized
        found = _WORD.fullmatch(low)
        if found is None or found[4] or found[5]:
            return t.ExternalType(text)
        word, first, second = found[1], found[2], found[3]
        if word == self.scaled and first is not None:
            precision, scale = int(first), int(second or 0)
            plain = 1 <= precision <= 38 and scale <= precision
            return f"decimal({precision},{scale})" if plain else t.ExternalType(text)
        return t.ExternalType(text)

    def _sized(self, low: str) -> str | None:
        for ours, (theirs, least, most) in self.sized.items():
            before, after = theirs.split("{n}")
            number = low.removeprefix(before).removesuffix(after)
            if (
                low == f"{before}{number}{after}"
                and _DIGITS.fullmatch(number)
                and least <= int(number) <= most
            ):
                return f"{ours}({int(number)})"
        return None

    def written(self, type: t.DataType) -> str:
        """The type as the database writes it, or a refusal of one that it does not have."""
        t.checked_depth(type)
        match type:
            case str():
                return self._plain(type)
            case t.ListDataType(element) if self.arrays and not isinstance(element, t.ListDataType):
                return f"{self.written(element)}[]"
            case t.ExternalType(text):
                return self._own(text)
        raise IllegalArgument(f"{self.system} has no such type", hint=self._hint())

    def _plain(self, text: str) -> str:
        low = re.sub(r"\s+", " ", text.strip().lower())
        if low in self.plain:
            return self.plain[low]
        found = _WORD.fullmatch(low.replace(", ", ","))
        if found is not None and found[2] is not None and not found[4] and not found[5]:
            first = int(found[2])
            if found[1] == "decimal" and found[3] is not None:
                if 1 <= first <= min(38, self.precise) and int(found[3]) <= first:
                    return f"{self.scaled}({first},{int(found[3])})"
            elif found[1] in self.sized and found[3] is None:
                theirs, least, most = self.sized[found[1]]
                if least <= first <= most:
                    return theirs.format(n=first)
        raise IllegalArgument(f"{self.system} has no type '{clip(text)}'", hint=self._hint())

    def _own(self, text: str) -> str:
        found = _WORD.fullmatch(text.strip().lower())
        if found is None or f"{found[1]}{found[5] or ''}" not in self.own or (found[4] and not self.arrays):
            raise IllegalArgument(
                f"columns of the type '{clip(text)}' cannot be made here",
                hint=f"make the column in {self.system} itself, or use one of {', '.join(sorted(self.own))}",
            )
        numbers = [str(int(number)) for number in (found[2], found[3]) if number is not None]
        return f"{found[1]}{'(' + ','.join(numbers) + ')' if numbers else ''}{found[5] or ''}{found[4] or ''}"

    def _hint(self) -> str:
        return f"use one of {', '.join(sorted({*self.plain, *(f'{ours}(n)' for ours in self.sized)}))}, decimal(p,s)"


POSTGRES: Final = NativeTypes(
    "PostgreSQL",
    plain={
        "boolean": "boolean",
        "short": "smallint",
        "integer": "integer",
        "long": "bigint",
        "float": "real",
        "double": "double precision",
        "string": "text",
        "date": "date",
        "time": "time without time zone",
        "timestamp": "timestamp without time zone",
        "timestamp_tz": "timestamp with time zone",
        "binary": "bytea",
        "uuid": "uuid",
    },
    sized={
        "varchar": ("character varying({n})", 1, 10_485_760),
        "char": ("character({n})", 1, 10_485_760),
        "time": ("time({n}) without time zone", 0, 6),
        "timestamp": ("timestamp({n}) without time zone", 0, 6),
        "timestamp_tz": ("timestamp({n}) with time zone", 0, 6),
    },
    read={
        "boolean": "boolean",
        "smallint": "short",
        "integer": "integer",
        "bigint": "long",
        "real": "float",
        "double precision": "double",
        "text": "string",
        "character varying": "string",
        "date": "date",
        "time without time zone": "time",
        "timestamp without time zone": "timestamp",
        "timestamp with time zone": "timestamp_tz",
        "bytea": "binary",
        "uuid": "uuid",
    },
    precise=38,
    scaled="numeric",
    own=frozenset(
        {
            "bit",
            "bit varying",
            "box",
            "cidr",
            "circle",
            "inet",
            "interval",
            "json",
            "jsonb",
            "line",
            "lseg",
            "macaddr",
            "macaddr8",
            "money",
            "numeric",
            "path",
            "point",
            "polygon",
            "tsquery",
            "tsvector",
            "xml",
            "int4range",
            "int8range",
            "numrange",
            "tsrange",
            "tstzrange",
            "daterange",
        }
    ),
    arrays=True,
)

_INTEGERS: Final = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}

MYSQL: Final = NativeTypes(
    "MySQL",
    plain={
        "boolean": "bit(1)",
        **{ours: theirs for theirs, ours in _INTEGERS.items()},
        **{f"{ours} unsigned": f"{theirs} unsigned" for theirs, ours in _INTEGERS.items()},
        "float": "float",
        "double": "double",
        "string": "text",
        "date": "date",
        "time": "time",
        "timestamp": "datetime",
        "timestamp_tz": "timestamp",
        "binary": "binary(1)",
    },
    sized={
        "varchar": ("varchar({n})", 1, 65_535),
        "char": ("char({n})", 1, 255),
        "fixed": ("binary({n})", 2, 255),
        "time": ("time({n})", 0, 6),
        "timestamp": ("datetime({n})", 0, 6),
        "timestamp_tz": ("timestamp({n})", 0, 6),
    },
    read={
        "bit(1)": "boolean",
        **_INTEGERS,
        **{f"{theirs} unsigned": f"{ours} unsigned" for theirs, ours in _INTEGERS.items()},
        "float": "float",
        "double": "double",
        "text": "string",
        "date": "date",
        "time": "time",
        "datetime": "timestamp",
        "timestamp": "timestamp_tz",
        "binary(1)": "binary",
    },
    precise=38,
    scaled="decimal",
    own=frozenset(
        {
            "bit",
            "blob",
            "decimal",
            "decimal unsigned",
            "geometry",
            "json",
            "linestring",
            "longblob",
            "longtext",
            "mediumblob",
            "mediumint",
            "mediumint unsigned",
            "mediumtext",
            "point",
            "polygon",
            "tinyblob",
            "tinytext",
            "varbinary",
            "year",
        }
    ),
    arrays=False,
)

_WIDTH: Final = re.compile(r"(tinyint|smallint|mediumint|int|bigint)\(\d{1,3}\)( unsigned)?", re.ASCII)


def mysql_shown(text: str) -> t.DataType:
    """As `MYSQL.shown`; older servers tell how wide integers are shown, which is no part of the type."""
    found = _WIDTH.fullmatch(text.strip().lower())
    return MYSQL.shown(f"{found[1]}{found[2] or ''}" if found else text)
