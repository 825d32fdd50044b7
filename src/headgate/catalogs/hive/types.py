"""Hive's types as clients know them, and back. A type that only its own system knows keeps its text."""

import re
from typing import Final

from headgate.model import tables as t
from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

_NAMED: Final = {
    "boolean": "boolean",
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp with local time zone": "timestamp_tz",
    "interval_year_month": "interval_year",
    "interval_day_time": "interval_day",
}
_BACK: Final = {ours: theirs for theirs, ours in _NAMED.items()}
_ALIASES: Final = {"integer": "integer", "decimal": "decimal(10,0)", "double precision": "double"}
_SIZED: Final = re.compile(r"(varchar|char)\((\d{1,5})\)")
_DECIMAL: Final = re.compile(r"decimal\((\d{1,2})(?:,(\d{1,2}))?\)")
_MORE: Final = re.compile(r"(time|timestamp|timestamp_tz)\(\d\)")


def from_hive(text: str, depth: int = 0) -> t.DataType:
    """The type that Hive writes as this."""
    word = text.strip()
    low = re.sub(r"\s+", " ", word.lower())
    if depth > t.MAX_DEPTH:
        return t.ExternalType(word)
    if low in _NAMED or low in _ALIASES:
        return _NAMED.get(low) or _ALIASES[low]
    if _SIZED.fullmatch(low):
        return low
    bare = low.replace(" ", "")
    if (decimal := _DECIMAL.fullmatch(bare)) and _plain_decimal(int(decimal[1]), int(decimal[2] or 0)):
        return f"decimal({int(decimal[1])},{int(decimal[2] or 0)})"
    name, opening, rest = word.partition("<")
    if opening and rest.endswith(">"):
        nested = _nested(name.strip().lower(), _split(rest[:-1], ","), depth + 1)
        if nested is not None:
            return nested
    return t.ExternalType(word)


def to_hive(type: t.DataType, depth: int = 0) -> str:
    """The type as Hive writes it, or a refusal of one that Hive does not have."""
    t.checked_depth(type, depth)
    match type:
        case str():
            return _primitive(type)
        case t.ListDataType(element, True):
            return f"array<{to_hive(element)}>"
        case t.MapDataType(str() as key, value, True):
            return f"map<{to_hive(key)},{to_hive(value)}>"
        case t.StructDataType(fields) if fields:
            for field in fields:
                if not field.nullable or re.search(r"[<>:,`\s]", t.checked_column_name(field.name)):
                    raise IllegalArgument(
                        f"Hive cannot keep the field '{clip(field.name)}' of a struct",
                        hint="make it nullable, with a plain name",
                    )
            return f"struct<{','.join(f'{f.name}:{to_hive(f.type)}' for f in fields)}>"
        case t.UnionType(types) if types:
            return f"uniontype<{','.join(map(to_hive, types))}>"
        case t.ExternalType(text) if text.isprintable() and 0 < len(text) < 10_000:
            return text
    raise IllegalArgument("Hive has no such type", hint="nested types hold NULL, and maps have plain keys")


def _primitive(text: str) -> str:
    word = re.sub(r"\s", "", text.lower())
    if word in _BACK:
        return _BACK[word]
    decimal = _DECIMAL.fullmatch(word)
    if decimal and decimal[2] is not None and _plain_decimal(int(decimal[1]), int(decimal[2])):
        return word
    if sized := _SIZED.fullmatch(word):
        most = 255 if sized[1] == "char" else 65_535
        if 0 < int(sized[2]) <= most:
            return word
    raise IllegalArgument(
        f"Hive has no type '{clip(text)}'",
        hint=f"use one of {', '.join(_BACK)}, decimal(p,s), varchar(n), char(n), list, map or struct",
    )


def _plain_decimal(precision: int, scale: int) -> bool:
    return 1 <= precision <= 38 and scale <= precision


def _nested(name: str, parts: list[str], depth: int) -> t.DataType | None:
    match name, parts:
        case "array", [element]:
            return t.ListDataType(from_hive(element, depth))
        case "map", [key, value]:
            return t.MapDataType(from_hive(key, depth), from_hive(value, depth))
        case "uniontype", _ if all(parts):
            return t.UnionType(tuple(from_hive(part, depth) for part in parts))
        case "struct", _:
            fields = [part.partition(":") for part in parts]
            names = [field.strip(" `") for field, _, _ in fields]
            if all(names) and all(type.strip() for _, _, type in fields) and len(set(names)) == len(names):
                types = (from_hive(type, depth) for _, _, type in fields)
                return t.StructDataType(tuple(map(t.StructField, names, types)))
    return None


def _split(text: str, by: str) -> list[str]:
    """The parts of a text, where brackets keep what is inside of them together."""
    parts, level, start = [], 0, 0
    for at, letter in enumerate(text):
        level += (letter in "<(") - (letter in ">)")
        if letter == by and level == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
