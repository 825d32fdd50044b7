"""Masks of strings, code point by code point."""

from typing import Any, Final

from headgate.language.ast import Literal
from headgate.language.lower.spark import SparkPrinter
from headgate.language.lower.sql import Printer
from headgate.language.masks.kind import NO_MASKS, Argument, ColumnMask, Columns, MaskKind, Nulls
from headgate.language.masks.python import Secrets
from headgate.language.masks.spark import SparkSecrets
from headgate.model.schema import INT, STRING, Type

KEPT: Final = frozenset("(),.-@")
_KEPT_SQL: Final = "[^0-9(),.@-]"
_STRINGS: Final = Columns.of(STRING)


def whole_number(least: int, form: str) -> Argument:
    """An argument that is a whole number from `least` up."""

    def read(given: Literal, type_: Type) -> int | None:
        return given.value if given.type == INT and given.value >= least else None

    return Argument(form, f"write a whole number from {least} up", read, whole_number=True)


def alphanum(text: str) -> str:
    """Digits become n, ( ) , . - @ stay, everything else becomes x; code point by code point."""
    return "".join(c if c in KEPT else "n" if "0" <= c <= "9" else "x" for c in text)


def _alphanum_sql(text: str) -> str:
    return f"regexp_replace(regexp_replace({text}, '{_KEPT_SQL}', 'x'), '[0-9]', 'n')"


MASK_ALPHANUM: Final = MaskKind(
    name="mask_alphanum",
    columns=_STRINGS,
    arguments=(),
    keyed_by=None,
    needs_other_rows=False,
    shows_nothing=False,
    nulls=Nulls.KEEPS,
    iceberg_action="mask-alphanum",
    python=lambda mask, value, secrets: alphanum(value),
    spark=lambda mask, printer, secrets: _alphanum_sql(printer.print(mask.column)),
    dialects={"hive": lambda mask, printer: _alphanum_sql(printer.print(mask.column)), **NO_MASKS},
    result="digits `n`, `( ) , . - @` kept, everything else `x`",
)


def _show(name: str, first: bool, strict: bool) -> MaskKind:
    def python(mask: ColumnMask, value: Any, secrets: Secrets) -> str:
        text = str(value)
        if len(text) <= 4:
            return alphanum(text) if strict else text
        return text[:4] + alphanum(text[4:]) if first else alphanum(text[:-4]) + text[-4:]

    def sql(text: str, length: str, part: str) -> str:
        short = _alphanum_sql(text) if strict else text
        if first:
            long = f"concat({part}({text}, 1, 4), {_alphanum_sql(f'{part}({text}, 5)')})"
        else:
            long = f"concat({_alphanum_sql(f'{part}({text}, 1, {length}({text}) - 4)')}, {part}({text}, -4))"
        return f"CASE WHEN {length}({text}) <= 4 THEN {short} ELSE {long} END"

    def spark(mask: ColumnMask, printer: SparkPrinter, secrets: SparkSecrets) -> str:
        return sql(printer.print(mask.column), "char_length", "substring")

    def hive(mask: ColumnMask, printer: Printer) -> str:
        return sql(printer.print(mask.column), "length", "substr")

    kept = f"the {'first' if first else 'last'} four code points kept, the rest as by `mask_alphanum`"
    return MaskKind(
        name=name,
        columns=_STRINGS,
        arguments=(),
        keyed_by=None,
        needs_other_rows=False,
        shows_nothing=False,
        nulls=Nulls.KEEPS,
        iceberg_action=None if strict else name.replace("_", "-"),
        python=python,
        spark=spark,
        dialects={"hive": hive, **NO_MASKS},
        result=f"{kept}; {'four or fewer are masked' if strict else '**four or fewer are shown unchanged**'}",
    )


SHOW_FIRST_4: Final = _show("show_first_4", first=True, strict=False)
SHOW_LAST_4: Final = _show("show_last_4", first=False, strict=False)
SHOW_FIRST_4_STRICT: Final = _show("show_first_4_strict", first=True, strict=True)
SHOW_LAST_4_STRICT: Final = _show("show_last_4_strict", first=False, strict=True)


def _prefix(mask: ColumnMask, text: Any, secrets: Secrets) -> str:
    return str(text[: mask.args[0]] + "*" if len(text) > mask.args[0] else "*")


def _prefix_spark(mask: ColumnMask, printer: SparkPrinter, secrets: SparkSecrets) -> str:
    return _prefix_sql(mask, printer.print(mask.column), "char_length", "substring")


def _prefix_hive(mask: ColumnMask, printer: Printer) -> str:
    return _prefix_sql(mask, printer.print(mask.column), "length", "substr")


def _prefix_sql(mask: ColumnMask, text: str, length: str, part: str) -> str:
    count = mask.args[0]
    return (
        f"CASE WHEN {length}({text}) > {count} THEN concat({part}({text}, 1, {count}), '*')"
        f" WHEN {text} IS NOT NULL THEN '*' END"
    )


PREFIX: Final = MaskKind(
    name="prefix",
    columns=_STRINGS,
    arguments=(whole_number(1, "n"),),
    keyed_by=None,
    needs_other_rows=False,
    shows_nothing=False,
    nulls=Nulls.KEEPS,
    iceberg_action=None,
    python=_prefix,
    spark=_prefix_spark,
    dialects={"hive": _prefix_hive, **NO_MASKS},
    result="the first n code points and `*`; `*` alone for n or fewer",
)
