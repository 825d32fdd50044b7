"""Policies made ready: parsed once for each document, whoever they are asked of and whatever they stand on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import msgspec

from headgate.language.ast import FALSE, TRUE, Call, Expr, Fact, Literal, Name, facts, walk
from headgate.language.errors import LanguageError
from headgate.language.fold import Request, fold
from headgate.language.masks.mask import parse_mask
from headgate.language.parse import parse
from headgate.language.policies.content import trusted
from headgate.language.policies.policy import Policy

Path = tuple[str, ...]
Tags = Mapping[str, str]
"""The tags of something by name, inherited ones included; without a value, the empty text."""

NOBODY: frozenset[str] = frozenset()
_NO_REQUEST = Request("")


@dataclass(frozen=True)
class Audience:
    """Those whom `to` or `except` names. A service is a user."""

    everyone: bool
    users: frozenset[str]
    groups: frozenset[str]
    roles: frozenset[str]

    @classmethod
    def of(cls, names: Iterable[str]) -> "Audience":
        found: dict[str, set[str]] = {"user": set(), "group": set(), "role": set()}
        everyone = False
        for name in names:
            kind, colon, rest = name.partition(":")
            if not colon:
                everyone = True
            else:
                found["user" if kind == "service" else kind].add(rest)
        return cls(everyone, *(frozenset(found[kind]) for kind in ("user", "group", "role")))

    def has(self, user: str, groups: frozenset[str], roles: frozenset[str]) -> bool:
        return (
            self.everyone
            or user in self.users
            or not self.groups.isdisjoint(groups)
            or not self.roles.isdisjoint(roles)
        )


@dataclass(frozen=True, eq=False)
class Parsed:
    """One policy with its expressions read; names of columns are still names."""

    policy: Policy
    when: Expr | None
    columns: tuple[tuple[str, Expr], ...]
    rows: Expr | None
    mask: tuple[tuple[Path, Expr], ...]
    hide: tuple[Path, ...]

    @cached_property
    def to(self) -> Audience:
        return Audience.of(self.policy.to)

    @cached_property
    def except_(self) -> Audience:
        return Audience.of(self.policy.except_)

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        """Every expression of the policy."""
        own = (self.when, self.rows, *(e for _, e in self.columns), *(e for _, e in self.mask))
        return tuple(e for e in own if e is not None)

    @cached_property
    def facts(self) -> frozenset[Fact]:
        """What the policy asks about the request and about tags."""
        return frozenset().union(*(facts(e) for e in self.expressions))

    @cached_property
    def tags(self) -> frozenset[str]:
        """The tags it asks for."""
        return frozenset(fact.key for fact in self.facts if fact.kind == "tag")

    @cached_property
    def tag_order(self) -> tuple[str, ...]:
        return tuple(sorted(self.tags))

    @cached_property
    def row_names(self) -> tuple[Path, ...]:
        """The columns and aliases that the row filter names."""
        return () if self.rows is None else names(self.rows)

    @cached_property
    def aliases(self) -> frozenset[str]:
        return frozenset(alias for alias, _ in self.columns)

    @cached_property
    def only_aliases(self) -> bool:
        """Whether every column it speaks of stands behind an alias, whole."""
        every = {*self.row_names, *self.hide, *(path for path, _ in self.mask)}
        return bool(every) and all(len(path) == 1 and path[0] in self.aliases for path in every)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys that its masks name."""
        return frozenset(
            str(arg.value)
            for _, mask in self.mask
            if isinstance(mask, Call) and mask.op == "mask:token"
            for arg in mask.args
            if isinstance(arg, Literal)
        )

    @cached_property
    def named(self) -> frozenset[Path]:
        """The columns that it names itself, without those behind aliases."""
        names = {name.parts for e in (self.rows, *(m for _, m in self.mask)) if e for name in _names(e)}
        names |= {*self.hide, *(path for path, _ in self.mask)}
        return frozenset(path for path in names if path[0] not in self.aliases)


@lru_cache(maxsize=16_384)
def parsed(document: str) -> Parsed:
    """The policy of a document as it is journaled; raises LanguageError if this version cannot read it."""
    try:
        policy = trusted(msgspec.json.decode(document))
    except (KeyError, ValueError, TypeError, AttributeError, StopIteration) as error:
        raise LanguageError(f"the document cannot be read: {error}", "write it again") from error
    return ready(policy)


def readable(document: str) -> Parsed | None:
    """As `parsed`; None for a document that this version cannot read, which denies wherever it is."""
    try:
        return parsed(document)
    except LanguageError:
        return None


def ready(policy: Policy) -> Parsed:
    """A policy with its expressions read."""
    return Parsed(
        policy,
        policy.when_expr(),
        policy.column_exprs(),
        None if policy.rows is None else parse(policy.rows),
        tuple((_path(target), parse_mask(source)) for target, source in policy.mask),
        tuple(_path(target) for target in policy.hide),
    )


def _path(source: str) -> Path:
    name = parse(source)
    assert isinstance(name, Name), "documents take only names here"
    return name.parts


def _names(expr: Expr) -> Iterable[Name]:
    return (node for node in walk(expr) if isinstance(node, Name))


def names(expr: Expr) -> tuple[Path, ...]:
    """The columns that an expression names, each once, in a fixed order."""
    return tuple(sorted({name.parts for name in _names(expr)}))


def renamed(expr: Expr, to: Mapping[Path, Path]) -> Expr:
    """The expression with columns named otherwise."""
    match expr:
        case Name(parts=parts, at=at):
            return Name(to.get(parts, parts), at)
        case Call(op=op, args=args, type=type, at=at):
            return Call(op, tuple(renamed(a, to) for a in args), type, at)
    return expr


def tagged(expr: Expr, tags: Tags) -> Expr:
    """A condition with what it asks about tags answered; one that then speaks of nothing else is TRUE or FALSE itself."""
    answered = with_tags(expr, tags)
    if facts(answered) or any(isinstance(node, Name) for node in walk(answered)):
        return answered
    return TRUE if decided(answered, _NO_REQUEST) else FALSE


def with_tags(expr: Expr, tags: Tags) -> Expr:
    """The expression with what it asks about tags answered."""
    match expr:
        case Fact(kind="tag", key=key, value=value):
            held = tags.get(key)
            return TRUE if held is not None and value in (None, held) else FALSE
        case Call(op=op, args=args, type=type, at=at):
            return Call(op, tuple(with_tags(a, tags) for a in args), type, at)
    return expr


def decided(expr: Expr, request: Request) -> bool:
    """Whether a condition about the request alone holds; raises if it cannot be said."""
    folded = fold(expr, request)
    if folded.problems:
        raise LanguageError(folded.problems[0])
    return isinstance(folded.expr, Literal) and folded.expr.value is True
