"""Statements that define things: put together from words of ours, names and texts, which the dialect quotes."""

from typing import Any

import msgspec
from sqlalchemy import String
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import ExecutableDDLElement


class Word(msgspec.Struct, frozen=True):
    """SQL. INVARIANT: made from constants and numbers only, never from anybody's text."""

    sql: str


class QuotedName(msgspec.Struct, frozen=True):
    """A name, of a schema and what is in it or alone. The dialect quotes each part, whatever it holds."""

    parts: tuple[str, ...]


class QuotedText(msgspec.Struct, frozen=True):
    """A value as a literal of the dialect."""

    text: str


Piece = Word | QuotedName | QuotedText


class Statement(ExecutableDDLElement):
    """One statement."""

    def __init__(self, *pieces: Piece) -> None:
        self.pieces = pieces


@compiles(Statement)
def _compiled(element: Statement, compiler: Any, **_: Any) -> str:
    return " ".join(_piece(piece, compiler) for piece in element.pieces)


def _piece(piece: Piece, compiler: Any) -> str:
    match piece:
        case Word(sql):
            return sql
        case QuotedName(parts):
            return ".".join(str(compiler.preparer.quote_identifier(part)) for part in parts)
        case QuotedText(text):
            return str(compiler.sql_compiler.render_literal_value(text, String()))


def name(*parts: str) -> QuotedName:
    return QuotedName(parts)


def listed(groups: list[tuple[Piece, ...]]) -> tuple[Piece, ...]:
    """Groups of pieces with commas between them."""
    found: list[Piece] = []
    for group in groups:
        if found:
            found.append(Word(","))
        found += group
    return tuple(found)


def names(columns: tuple[str, ...]) -> tuple[Piece, ...]:
    """Columns in brackets."""
    return (Word("("), *listed([(name(column),) for column in columns]), Word(")"))
