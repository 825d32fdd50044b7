"""What the language refuses, each with the place and what to write instead."""

from typing import NamedTuple


class Position(NamedTuple):
    """Where something stands in its text; both counted from 1."""

    line: int
    column: int


NOWHERE = Position(0, 0)


class LanguageError(ValueError):
    """Something written in the policy language that cannot be accepted."""

    def __init__(self, message: str, fix: str = "", at: Position = NOWHERE, file: str | None = None) -> None:
        self.message = message
        self.fix = fix
        self.at = at
        self.file = file
        super().__init__(message)

    def __str__(self) -> str:
        where = ":".join([self.file] if self.file else []) + (":" if self.file else "")
        place = (
            f"{where}{self.at.line}:{self.at.column}: " if self.at.line else (f"{where} " if where else "")
        )
        return f"{place}{self.message}" + (f" ({self.fix})" if self.fix else "")


class ExpressionSyntaxError(LanguageError):
    """Text that is not an expression of the language."""


class UnknownNameError(LanguageError):
    """A column, function or request fact that does not exist."""


class UnknownColumnNameError(UnknownNameError):
    """A column that the table does not have; `name` is the path as written."""

    def __init__(self, name: tuple[str, ...], message: str, fix: str, at: Position) -> None:
        self.name = name
        super().__init__(message, fix, at)


class ExpressionTypeError(LanguageError):
    """Types that do not fit together."""


class LoweringError(LanguageError):
    """An expression that a target cannot express with the same meaning; `target` says which."""

    def __init__(self, target: str, message: str, fix: str = "", at: Position = NOWHERE) -> None:
        self.target = target
        super().__init__(f"{target}: {message}", fix, at)


class DocumentError(LanguageError):
    """A policy document that is malformed."""
