"""The table of functions in docs/language.md, written from the vocabulary."""

from typing import Final

from headgate.language.vocabulary import FUNCTIONS

_MEANS: Final = {
    "lower": ("lower(s)", "the string in small letters"),
    "upper": ("upper(s)", "the string in capital letters"),
    "length": ("length(s)", "its number of characters"),
    "substring": ("substring(s, from[, count])", "a part of it; the first character is number 1"),
    "left": ("left(s, count)", "its first characters"),
    "concat": ("concat(a, b, …)", "strings one behind the other"),
    "coalesce": ("coalesce(a, b, …)", "the first that is not NULL"),
    "trim": ("trim(s)", "without spaces at both ends"),
    "ltrim": ("ltrim(s)", "without spaces at the begin"),
    "rtrim": ("rtrim(s)", "without spaces at the end"),
    "starts_with": ("starts_with(s, t)", "whether it begins so"),
    "ends_with": ("ends_with(s, t)", "whether it ends so"),
    "contains": ("contains(s, t)", "whether the other is in it"),
    "is_nan": ("is_nan(x)", "whether a float is not a number"),
    "year": ("year(t)", "the year of a date or moment"),
    "month": ("month(t)", "its month, from 1"),
    "day": ("day(t)", "its day of the month"),
    "hour": ("hour(t)", "its hour"),
    "date_trunc": ("date_trunc('unit', t)", "the begin of its year, quarter, month, week, day or hour"),
    "nullif": ("nullif(a, b)", "NULL where both are equal, else the first"),
    "if": ("if(condition, a, b)", "the one or the other"),
    "in_network": (
        "in_network(context.address, '10.0.0.0/8')",
        "whether the caller's address is in a network",
    ),
    "session_user": ("session_user()", "who asks"),
    "is_member": ("is_member('group')", "whether they are in a group"),
    "has_tag": ("has_tag('key'[, 'value'])", "whether the table or the column has a tag"),
    "current_date": ("current_date", "today"),
}


def function_table() -> str:
    """One line per function, its other names beside it."""
    names: dict[str, list[str]] = {}
    for name, arity in FUNCTIONS.items():
        names.setdefault(arity.op, []).append(name.lower())
    lines = ["| function | gives | also called |", "|---|---|---|"]
    for op, called in names.items():
        written, means = _MEANS[op]
        others = ", ".join(f"`{name}`" for name in called if name != op)
        lines.append(f"| `{written}` | {means} | {others} |")
    return "\n".join(lines) + "\n"
