"""A policy as a frozen value: to whom it applies, where and when, and what it does."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from headgate.language.ast import Expr, Name
from headgate.language.bind import REQUEST_ONLY, bind, resolve
from headgate.language.errors import NOWHERE, Position
from headgate.language.masks.mask import ColumnMask, bind_mask, parse_mask
from headgate.language.parse import parse
from headgate.model.schema import Schema

Effect = Literal["rows", "mask", "hide", "deny"]
EFFECTS: Final[tuple[Effect, ...]] = ("rows", "mask", "hide", "deny")


@dataclass(frozen=True)
class Policy:
    """One policy; expressions are kept as written, and known to parse."""

    name: str
    on: tuple[str, ...]
    to: tuple[str, ...]
    effect: Effect
    except_: tuple[str, ...] = ()
    when: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    """Aliases, each with the condition (about a column's tags) that a column must meet."""
    rows: str | None = None
    mask: tuple[tuple[str, str], ...] = ()
    """Columns or aliases, each with its mask."""
    hide: tuple[str, ...] = ()
    priority: int = 0
    from_: dt.datetime | None = None
    until: dt.datetime | None = None
    purpose: tuple[str, ...] = ()
    accept: tuple[tuple[str, str], ...] = ()
    """Findings of the linter that are meant so, by rule, each with the reason. They change nothing of what the policy does."""
    enabled: bool = True
    comment: str | None = None
    file: str | None = field(default=None, compare=False)
    at: Position = field(default=NOWHERE, compare=False)

    def in_force(self, now: dt.datetime) -> bool:
        """Whether the policy is enabled and its time has come and not passed; `until` itself is outside."""
        started = self.from_ is None or self.from_ <= now
        return self.enabled and started and (self.until is None or now < self.until)

    def when_expr(self) -> Expr | None:
        """The bound condition about the table and the request, if there is one."""
        return None if self.when is None else bind(parse(self.when), REQUEST_ONLY)

    def column_exprs(self) -> tuple[tuple[str, Expr], ...]:
        """The bound conditions that the aliases' columns must meet."""
        return tuple((alias, bind(parse(source), REQUEST_ONLY)) for alias, source in self.columns)

    def bind_rows(self, schema: Schema, aliases: Mapping[str, int]) -> Expr:
        """The row filter, bound to a table."""
        assert self.rows is not None
        return bind(parse(self.rows), schema, aliases)

    def bind_masks(self, schema: Schema, aliases: Mapping[str, int]) -> tuple[ColumnMask, ...]:
        """The masks, bound to a table."""
        return tuple(
            bind_mask(parse_mask(source), schema, self._field(target, schema, aliases), aliases)
            for target, source in self.mask
        )

    def bind_hidden(self, schema: Schema, aliases: Mapping[str, int]) -> tuple[int, ...]:
        """The field ids of the hidden columns."""
        return tuple(self._field(target, schema, aliases) for target in self.hide)

    @staticmethod
    def _field(target: str, schema: Schema, aliases: Mapping[str, int]) -> int:
        name = parse(target)
        assert isinstance(name, Name)
        return resolve(name.parts, schema, aliases, name.at).field_id
