"""Policies on one table: found on the way to it, their tags answered, their names bound to its field ids.

Nothing here depends on who asks, so it is worked out once for all tables with the same columns, tags and policies.
"""

import datetime as dt
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final, Literal

from headgate.decide.authority import Authority, Node, Rule
from headgate.decide.policies.rules import Parsed, Path, names, parsed, renamed, tagged, with_tags
from headgate.decide.policies.shape import Shape
from headgate.decide.policies.standing import Standing, known_groups, standing_of
from headgate.language.ast import FALSE, TRUE, Call, Expr, Fact
from headgate.language.bind import bind, shown
from headgate.language.errors import LanguageError
from headgate.language.masks.mask import ColumnMask, bind_mask
from headgate.model.objects import ObjectType
from headgate.model.schema import BOOLEAN

Chosen = tuple[tuple[str, tuple[int, ...]], ...]
"""The columns behind each alias."""

TagItems = tuple[tuple[str, str], ...]

MAX_COMBINATIONS: Final = 64
"""So many row filters may come of one, where its names stand for several columns each."""


@dataclass(frozen=True, eq=False)
class Bound:
    """What a policy does to a table, by field ids. Empty if it speaks of columns that the table never had."""

    rows: tuple[Expr, ...] = ()
    masks: tuple[ColumnMask, ...] = ()
    hidden: tuple[int, ...] = ()
    deny: bool = False
    problem: str | None = None

    @property
    def empty(self) -> bool:
        return not (self.rows or self.masks or self.hidden or self.deny or self.problem)


@dataclass(frozen=True, eq=False)
class Clause:
    """A policy on the way to a table that may do something to it."""

    id: int
    name: str
    on: int
    parsed: Parsed
    shape: Shape
    when: Expr
    """What remains to be asked of the request; TRUE if nothing does."""
    aliases: tuple[tuple[str, tuple[tuple[int, Expr], ...]], ...]
    """The columns that may stand behind each alias, each with what remains to be asked of the request."""
    tags: TagItems
    standing: Standing
    problem: str | None = None
    """Why the policy cannot be evaluated here, whoever asks."""
    stray: bool = False
    """Stands for the same policy where `to` names a group that is not kept: it binds those who do not claim to be in it."""
    _bound: dict[Chosen, Bound] = field(default_factory=dict)

    def facts(self) -> frozenset[Fact]:
        """All that the clause may ask of a request."""
        return frozenset(fact for fact in self.parsed.facts if fact.kind != "tag")

    def bound(self, chosen: Chosen) -> Bound:
        """What it does where the aliases stand for these columns."""
        found = self._bound.get(chosen)
        if found is None:
            try:
                found = self._bind(dict(chosen))
            except (LanguageError, ValueError, ArithmeticError, RecursionError) as error:
                found = Bound(problem=str(error))
            self._bound[chosen] = found
        return found

    def touches(self, chosen: Chosen) -> bool:
        """Whether it speaks of columns that the table has or had; told without binding anything."""
        policy, columns = self.parsed, dict(chosen)
        if policy.policy.effect == "deny" or policy.only_aliases:
            return True
        try:
            if policy.rows is not None:
                named = policy.row_names
                return not named or any(self._ids(path, columns) for path in named)
            return any(self._ids(path, columns) for path in (*policy.hide, *(t for t, _ in policy.mask)))
        except LanguageError:
            return True

    def uses_any_of(self, hidden: frozenset[int]) -> bool:
        """Whether what it does depends on one of these columns, or on what lies inside of one; told without binding.

        A whole column that it hides does not count: that needs nothing of it.
        """
        policy = self.parsed
        columns = {alias: tuple(id for id, _ in matching) for alias, matching in self.aliases}
        used = {*policy.row_names, *(path for path in policy.hide if len(path) > 1)}
        for target, expr in policy.mask:
            used |= {target, *names(expr)}
        return any(self._leads_to(path, hidden, columns) for path in used)

    def _leads_to(self, path: Path, hidden: frozenset[int], columns: Mapping[str, tuple[int, ...]]) -> bool:
        """Whether a name in this policy, or what is before a dot in it, means one of these columns."""
        roots = [self.shape.path(id) for id in columns[path[0]]] if path[0] in columns else [path[:1]]
        within = self.shape.schema.by_id
        for root in roots:
            full = (*root, *path[1:])
            for depth in range(1, len(full) + 1):
                for id in self.shape.ids(full[:depth]) or ():
                    if not hidden.isdisjoint(within[id].ids):
                        return True
        return False

    def _bind(self, chosen: Mapping[str, tuple[int, ...]]) -> Bound:
        policy, schema = self.parsed, self.shape.schema
        if policy.policy.effect == "deny":
            return Bound(deny=True)
        if policy.rows is not None:
            rows = tagged(policy.rows, dict(self.tags))
            used = () if rows is TRUE or rows is FALSE else policy.row_names
            if used and not any(self._ids(path, chosen) for path in used):
                return Bound()
            return Bound(rows=tuple(bind(e, schema) for e in self._spelled(rows, used, chosen)))
        if policy.hide:
            hidden = [id for path in policy.hide for id in self._ids(path, chosen)]
            for id in hidden:
                if schema.by_id[id].inside:
                    raise LanguageError(
                        f"{shown(self.shape.path(id))} lies inside a list or map", "hide the whole column"
                    )
            return Bound(hidden=tuple(sorted(set(hidden))))
        masks = []
        for target, expr in policy.mask:
            mask = with_tags(expr, dict(self.tags))
            for id in self._ids(target, chosen):
                masks += [
                    bind_mask(e, schema, id)
                    for e in self._spelled(mask, names(expr), chosen, {target: (id,)})
                ]
        return Bound(masks=tuple(masks))

    def _spelled(
        self,
        expr: Expr,
        used: tuple[Path, ...],
        chosen: Mapping[str, tuple[int, ...]],
        settled: Mapping[Path, tuple[int, ...]] | None = None,
    ) -> Iterator[Expr]:
        """The expression once for every choice of columns behind the names it uses, in the names of today.

        INVARIANT: a policy that speaks of some column of the table either does to it what it says or cannot be
        evaluated; it never does nothing because another column that it names is not there.
        """
        settled = settled or {}
        choices = [settled.get(path) or self._ids(path, chosen) for path in used]
        for path, ids in zip(used, choices, strict=True):
            if not ids and chosen.get(path[0], True):
                raise LanguageError(
                    f"the table never had column {shown(path)}, but has others that are named with it",
                    "write a policy for each kind of table",
                )
        count = 1
        for ids in choices:
            count *= len(ids)
        if count > MAX_COMBINATIONS:
            raise LanguageError(f"its names stand for {count} choices of columns", "use narrower tags")
        for ids in itertools.product(*choices):
            yield renamed(expr, {path: self.shape.path(id) for path, id in zip(used, ids, strict=True)})

    def _ids(self, path: Path, chosen: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
        """The columns that a name in this policy means; none if the table never had it."""
        if path[0] not in chosen:
            return self._present(path)
        return tuple(
            id for root in chosen[path[0]] for id in self._present((*self.shape.path(root), *path[1:]))
        )

    def _present(self, path: Path) -> tuple[int, ...]:
        found = self.shape.ids(path)
        if found is None:
            raise LanguageError(
                f"column {shown(path)} is gone from the table", "change the policy, or bring it back"
            )
        return found


@dataclass(frozen=True, eq=False)
class Skipped:
    """A policy on the way to a table that does nothing to it, whoever asks, and why."""

    id: int
    name: str
    on: int
    why: str


@dataclass(frozen=True, eq=False)
class TableRules:
    """All policies on the way to a table."""

    shape: Shape
    clauses: tuple[Clause, ...]
    skipped: tuple[Skipped, ...]
    verdicts: dict[object, object] = field(default_factory=dict)
    """What was decided before, by what it depended on."""
    asked: dict[int, tuple[Fact, ...]] = field(default_factory=dict)

    @cached_property
    def moments(self) -> tuple[dt.datetime, ...]:
        """When a policy begins or ends."""
        every = ((c.parsed.policy.from_, c.parsed.policy.until) for c in self.clauses)
        return tuple(sorted({moment for pair in every for moment in pair if moment is not None}))

    @cached_property
    def clock(self) -> Literal["hour", "day"] | None:
        """How fine a time the policies ask for."""
        asked = {fact.kind if fact.kind == "date" else fact.key for c in self.clauses for fact in c.facts()}
        return "hour" if "hour" in asked else "day" if "date" in asked else None

    def facts(self, applying: int) -> tuple[Fact, ...]:
        """What the clauses of this set, as bits, ask of a request."""
        found = self.asked.get(applying)
        if found is None:
            every = {f for n, c in enumerate(self.clauses) if applying >> n & 1 for f in c.facts()}
            found = tuple(sorted(every, key=lambda f: (f.kind, f.key)))
            self.asked[applying] = found
        return found


_MAX_KEPT: Final = 20_000


def rules_of(authority: Authority, table: Node, shape: Shape) -> TableRules:
    """The policies on a table, kept over revisions for as long as nothing they rest on changes."""
    return authority.kept(("rules", table.id, shape.key), lambda: _shared(authority, table, shape))


def _shared(authority: Authority, table: Node, shape: Shape) -> TableRules:
    found = _on_the_way(authority, table)
    tags, fields = tags_of(authority, table)
    known = known_tags(authority, table.metalake)
    key = (*way_key(authority, table), shape.key)
    rules = authority.shared.get(key)
    if rules is None:
        if len(authority.shared) > _MAX_KEPT:
            authority.shared.clear()
        rules = authority.shared[key] = _build(found, tags, fields, known, shape)
    assert isinstance(rules, TableRules)
    return rules


def way_key(authority: Authority, table: Node) -> tuple[object, ...]:
    """All that the rules of a table rest on besides its columns: equal keys and columns give equal rules."""
    found = _on_the_way(authority, table)
    known = known_tags(authority, table.metalake)
    missing = tuple(p is None or not p.tags <= known for _, _, _, p, _, _, _ in found)
    # By rule, name, object, standing and unknown groups: the rest follows from the rule.
    return (tuple((*x[:3], *x[5:]) for x in found), missing, *tags_of(authority, table))


_Found = tuple[Rule, str, int, Parsed | None, str, Standing, frozenset[str]]
"""A policy with its name, its object, what is wrong with it, who stands behind it, and unknown groups in its `to`."""


def _on_the_way(authority: Authority, table: Node) -> list[_Found]:
    """The enabled policies on the table and above it, each with its name, its object and what is wrong with it."""
    return [x for id, _ in table.chain for x in authority.kept(("on", id), partial(_on, authority, id))]


def any_on_the_way(authority: Authority, table: Node) -> tuple[str, ...]:
    """The names of all enabled policies on a table and above it."""
    return tuple(found[1] for found in _on_the_way(authority, table))


def policies_on_the_way(authority: Authority, table: Node) -> tuple[tuple[int, Parsed | None], ...]:
    """All enabled policies on a table and above it by id; None for one that this version cannot read."""
    return tuple((found[0].id, found[3]) for found in _on_the_way(authority, table))


def _on(authority: Authority, object: int) -> tuple[_Found, ...]:
    found: list[_Found] = []
    for label in authority.labels.get(object) or ():
        rule = authority.policies.get(label.label)
        if rule is None or label.field or not rule.enabled:
            continue
        policy = authority.objects[rule.id]
        standing = standing_of(authority, rule)
        try:
            read = parsed(rule.document)
        except LanguageError as error:
            found.append((rule, policy.name, object, None, str(error), standing, frozenset()))
        else:
            unknown = read.to.groups - known_groups(authority, policy.metalake)
            found.append((rule, policy.name, object, read, "", standing, unknown))
    return tuple(found)


def known_tags(authority: Authority, metalake: int) -> frozenset[str]:
    """The names of all tags of a metalake."""
    return authority.kept(
        ("tags", metalake),
        lambda: frozenset(n.name for n in authority.children_of(metalake, ObjectType.TAG)),
    )


def tags_of(authority: Authority, table: Node) -> tuple[TagItems, tuple[tuple[int, TagItems], ...]]:
    """The tags of a table, nearest assignment first, and those put on its columns themselves, by field id."""
    held: dict[str, str] = {}
    fields: dict[int, dict[str, str]] = {}
    for id, _ in table.chain:
        for label in authority.labels.get(id) or ():
            tag = authority.objects[label.label]
            if tag.type is ObjectType.TAG:
                at = fields.setdefault(label.field, {}) if label.field else held
                at[tag.name] = label.value or ""
    return (
        tuple(sorted(held.items())),
        tuple((id, tuple(sorted(tags.items()))) for id, tags in sorted(fields.items())),
    )


def _build(
    found: list[_Found],
    tags: TagItems,
    fields: tuple[tuple[int, TagItems], ...],
    known: frozenset[str],
    shape: Shape,
) -> TableRules:
    clauses: list[Clause] = []
    skipped: list[Skipped] = []
    groups = _by_tags(shape, tags, fields)
    astray = [{**dict(tags), **dict(own)} for id, own in fields if id in shape.unplaced]
    for rule, name, on, policy, wrong, standing, unknown in found:
        if policy is None:
            clauses.append(_unreadable(rule, name, on, shape, wrong, standing))
            continue
        outcome = _clause(rule, name, on, policy, shape, tags, groups, astray, known, standing)
        if isinstance(outcome, Clause):
            clauses.append(outcome)
            if unknown:
                clauses.append(_stray(rule, name, on, policy, shape, standing, unknown))
        else:
            skipped.append(Skipped(rule.id, name, on, outcome))
    return TableRules(shape, tuple(clauses), tuple(skipped))


def _unreadable(rule: Rule, name: str, on: int, shape: Shape, wrong: str, standing: Standing) -> Clause:
    everyone = parsed('{"deny":true,"to":["everyone"]}')
    return Clause(rule.id, name, on, everyone, shape, TRUE, (), (), standing, problem=wrong)


def _stray(
    rule: Rule,
    name: str,
    on: int,
    policy: Parsed,
    shape: Shape,
    standing: Standing,
    unknown: frozenset[str],
) -> Clause:
    why = f"nobody knows who is in group '{min(unknown)}', which the metalake does not keep"
    return Clause(rule.id, name, on, policy, shape, TRUE, (), (), standing, problem=why, stray=True)


def _clause(
    rule: Rule,
    name: str,
    on: int,
    policy: Parsed,
    shape: Shape,
    tags: TagItems,
    groups: list[tuple[dict[str, str], list[tuple[int, ...]]]],
    astray: list[dict[str, str]],
    known: frozenset[str],
    standing: Standing,
) -> Clause | str:
    """`astray` are tags of columns that were called as no column of the table is, since it was made again elsewhere."""
    unknown = sorted(policy.tags - known)
    if unknown:
        why = f"there is no tag '{unknown[0]}'"
        return Clause(rule.id, name, on, policy, shape, TRUE, (), tags, standing, problem=why)
    try:
        when = TRUE if policy.when is None else _answered(rule.document, "", policy.when, policy, dict(tags))
        if when is FALSE:
            return "its condition does not hold for the tags of the table"
        aliases = []
        for alias, condition in policy.columns:
            if any(_answered(rule.document, alias, condition, policy, held) is not FALSE for held in astray):
                raise LanguageError(
                    "the table was made again without a column that is tagged for it",
                    "take the tag off the former column, or bring the column back",
                )
            matching = _matching(rule.document, alias, condition, policy, groups)
            if not matching:
                return f"no column matches '{alias}'"
            aliases.append((alias, matching))
    except LanguageError as error:
        return Clause(rule.id, name, on, policy, shape, TRUE, (), tags, standing, problem=str(error))
    clause = Clause(rule.id, name, on, policy, shape, when, tuple(aliases), tags, standing)
    if all(expr is TRUE for _, matching in aliases for _, expr in matching):
        chosen = tuple((alias, tuple(id for id, _ in matching)) for alias, matching in aliases)
        if not clause.touches(chosen):
            return "the table never had the columns it names"
    return clause


def column_tags(
    shape: Shape, tags: TagItems, fields: tuple[tuple[int, TagItems], ...]
) -> Iterator[tuple[tuple[int, ...], tuple[dict[str, str], ...]]]:
    """The columns, and the fields of structs, as ways of field ids, each with the tags it goes by.

    INVARIANT: the nearest assignment wins: the field's own, then those of a former field of its name that is gone, then
    those of the structs around it, then the table's.
    INVARIANT: a column goes by its own tags alone as well, and by those alone of every other column that had its name: one
    that is renamed, dropped or added again sheds no policy that any of these tags would bring upon it.
    """
    own = {id: dict(items) for id, items in fields}
    for located in shape.schema.by_id.values():
        if located.inside:
            continue
        every = [dict(tags)]
        for id in located.ids:
            namesakes = [former for former in sorted(shape.namesakes.get(id, ())) if former in own]
            gone = shape.heirs.get(id, frozenset())
            if not namesakes:
                every = [{**held, **own[id]} for held in every] if id in own else every
                continue
            # Former ones that differ in the value of a tag: the youngest wins.
            taken: dict[str, str] = {}
            for former in namesakes:
                taken |= own[former] if former in gone else {}
            mine = own.get(id, {})
            options = [{**taken, **mine}, mine, *(own[former] for former in namesakes)]
            every = _distinct({**held, **option} for held in every for option in options)
        yield located.ids, tuple(every)


def _distinct(every: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    return list({tuple(sorted(held.items())): held for held in every}.values())


def _by_tags(
    shape: Shape, tags: TagItems, fields: tuple[tuple[int, TagItems], ...]
) -> list[tuple[dict[str, str], list[tuple[int, ...]]]]:
    """The ways of all columns, those with equal tags together; a column that goes by several tags is there several times."""
    groups: dict[TagItems, tuple[dict[str, str], list[tuple[int, ...]]]] = {}
    for way, every in column_tags(shape, tags, fields):
        for held in every:
            groups.setdefault(tuple(sorted(held.items())), (held, []))[1].append(way)
    return list(groups.values())


def _matching(
    document: str,
    alias: str,
    condition: Expr,
    policy: Parsed,
    groups: list[tuple[dict[str, str], list[tuple[int, ...]]]],
) -> tuple[tuple[int, Expr], ...]:
    """The columns that meet a condition about tags; one inside a column that does is part of it."""
    found: dict[int, tuple[tuple[int, ...], Expr]] = {}
    for tags, ways in groups:
        answer = _answered(document, alias, condition, policy, tags)
        if answer is FALSE:
            continue
        for way in ways:
            before = found.get(way[-1])
            found[way[-1]] = (way, answer if before is None else _either(before[1], answer))
    sure = {id for id, (_, answer) in found.items() if answer is TRUE}
    return tuple((id, answer) for id, (way, answer) in sorted(found.items()) if sure.isdisjoint(way[:-1]))


def _either(one: Expr, other: Expr) -> Expr:
    if one is TRUE or other is TRUE:
        return TRUE
    return one if one == other else Call("or", (one, other), BOOLEAN)


_answers: dict[tuple[str, str, tuple[str | None, ...]], Expr] = {}


def _answered(document: str, where: str, expr: Expr, policy: Parsed, tags: dict[str, str]) -> Expr:
    """`tagged`, kept by the document and those of the tags that it asks for."""
    key = (document, where, tuple(tags.get(tag) for tag in policy.tag_order))
    found = _answers.get(key)
    if found is None:
        if len(_answers) > 100_000:
            _answers.clear()
        found = _answers[key] = tagged(expr, tags)
    return found
