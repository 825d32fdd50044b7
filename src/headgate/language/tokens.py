"""Text to tokens, by sqlglot's tokenizer; what cannot be seen, or hides something, is refused here."""

import bisect
import re
from itertools import pairwise
from typing import Final, NamedTuple

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as SqlglotToken
from sqlglot.tokenizer_core import TokenType
from sqlglot.tokens import Tokenizer

from headgate.language.ast import MAX_CHARACTERS
from headgate.language.errors import ExpressionSyntaxError, Position

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NUMBER: Final = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_MAX_DIGITS: Final = 400
# Direction overrides and invisible characters make a text read differently from what it says.
_DECEIVING: Final = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SYMBOLS: Final = frozenset(
    {"(", ")", ",", ".", "=", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||"}
)


class Token(NamedTuple):
    """One token; `kind` is word, quoted, string, number, symbol or end."""

    kind: str
    text: str
    at: Position
    start: int
    end: int

    @property
    def word(self) -> str:
        """The upper-case word, empty for anything that is not a bare word."""
        return self.text.upper() if self.kind == "word" else ""


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`, ending with one of kind `end`."""
    if len(text) > MAX_CHARACTERS:
        raise ExpressionSyntaxError(
            f"the expression has {len(text)} characters",
            f"at most {MAX_CHARACTERS}; split the policy",
            Position(1, 1),
        )
    places = _TokenPlaces(text)
    for pattern, what in (
        (_CONTROL, "a control character"),
        (_DECEIVING, "an invisible or direction-changing character"),
    ):
        if found := pattern.search(text):
            raise ExpressionSyntaxError(
                f"{what} (U+{ord(found[0]):04X})", "remove it", places.of(found.start())
            )
    try:
        raw = Tokenizer().tokenize(text)
    except TokenError as e:
        raise ExpressionSyntaxError(
            "a quote or comment is never closed", "close it; '' inside '…' is one quote", Position(1, 1)
        ) from e
    out: list[Token] = []
    position = 0
    for token in raw:
        _nothing_hidden(text, position, token.start, places)
        out.append(_classify(token, text, places))
        position = token.end + 1
    _nothing_hidden(text, position, len(text), places)
    out.append(Token("end", "", places.of(len(text.rstrip())), len(text), len(text)))
    for left, right in pairwise(out):
        if left.kind == "number" and right.kind in ("word", "number") and left.end + 1 == right.start:
            raise ExpressionSyntaxError(
                f"{left.text + right.text!r} is not a number", "write plain digits", left.at
            )
    return out


class _TokenPlaces:
    def __init__(self, text: str) -> None:
        self._starts = [0, *(i + 1 for i, character in enumerate(text) if character == "\n")]

    def of(self, offset: int) -> Position:
        line = bisect.bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)


def _nothing_hidden(text: str, start: int, end: int, places: _TokenPlaces) -> None:
    gap = text[start:end]
    if gap and not gap.isspace():
        offset = start + len(gap) - len(gap.lstrip())
        raise ExpressionSyntaxError(
            "comments are not allowed in expressions", "use the policy's comment field", places.of(offset)
        )


def _classify(token: SqlglotToken, text: str, places: _TokenPlaces) -> Token:
    kind_, value, start, end = token.token_type, token.text, token.start, token.end
    at, source = places.of(start), text[start : end + 1]
    if kind_ == TokenType.STRING and source[:1] == "'":
        return Token("string", value, at, start, end)
    if kind_ == TokenType.IDENTIFIER and source[:1] == '"':
        if not value:
            raise ExpressionSyntaxError("an empty name", "name a column", at)
        return Token("quoted", value, at, start, end)
    if kind_ == TokenType.NUMBER and _NUMBER.fullmatch(source) and len(source) <= _MAX_DIGITS:
        return Token("number", source, at, start, end)
    if source in _SYMBOLS:
        return Token("symbol", "<>" if source == "!=" else source, at, start, end)
    if _WORD.fullmatch(source):
        return Token("word", source, at, start, end)
    if source == ";":
        raise ExpressionSyntaxError("several statements", "write one expression, without a semicolon", at)
    quoting = source[:1] in "`[" or source[:1].isalpha()
    fix = (
        "strings are '…', other names than plain words \"…\""
        if quoting
        else "docs/language.md lists the operators"
    )
    raise ExpressionSyntaxError(f"unexpected {source[:40]!r}", fix, at)
