"""Random policies, each written together with the plain Python that says what it does."""

import datetime as dt
import decimal
import hashlib
import hmac
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.leaks.tables import Table
from tests.leaks.truth import (
    Check,
    Column,
    Masking,
    Path,
    Person,
    Policy,
    both,
    either,
    is_null,
    negated,
    on,
)

KEY: Final = "people"
"""The name of the key that tokens are made with; the server makes the key itself."""
TAG: Final = "kind"


class Author:
    """Writes policies for one table."""

    def __init__(self, rng: random.Random, table: Table, people: Sequence[Person], key: bytes) -> None:
        self.rng = rng
        self.table = table
        self.people = people
        self.key = key
        self.spared: list[str] = []
        """Those for whom no random policy is meant."""
        self._count = 0

    def some(self) -> list[Policy]:
        """Policies that bind different people to different things. One person sees just the rows of their region."""
        rng, one = self.rng, self.rng.choice(self.people).name
        self.spared = [one]
        made = [self.rows(f"to: [user:{one}]", lambda p: p.name == one, self.by_group())]
        made += [self.rows(*self.audience()) for _ in range(rng.randint(1, 3))]
        made += [self.mask(*self.audience()) for _ in range(rng.randint(2, 5))]
        made += [self.hide(*self.audience()) for _ in range(rng.randint(1, 2))]
        made += [self.tagged(*self.audience()) for _ in range(rng.randint(0, 2))]
        return made

    def audience(self) -> tuple[str, Callable[[Person], bool]]:
        """The lines that say whom a policy binds, and a function that says the same. It never binds the owner."""
        person = self.rng.choice(self.people)
        group = self.rng.choice(sorted({g for p in self.people for g in p.groups}))
        to, among, excepted, spared = self.rng.choice(
            [
                (f"user:{person.name}", lambda p: p.name == person.name, [], lambda p: False),
                (f"group:{group}", lambda p: group in p.groups, [], lambda p: False),
                ("everyone", lambda p: True, [f"user:{person.name}"], lambda p: p.name == person.name),
                ("everyone", lambda p: True, [f"group:{group}"], lambda p: group in p.groups),
            ]
        )
        names = ["admin", *self.spared]
        out = dict.fromkeys([*(f"user:{name}" for name in names), *excepted])
        lines = f"to: [{to}]\nexcept: [{', '.join(out)}]"
        return lines, lambda p: among(p) and not spared(p) and p.name not in names

    # -- kinds of policies --------------------------------------------------------------------------------------

    def rows(
        self, to: str, binds: Callable[[Person], bool], condition: tuple[str, Check] | None = None
    ) -> Policy:
        text, check = condition or self.condition()
        return Policy(self.document(to, f"rows: {text}"), binds, rows=check)

    def mask(self, to: str, binds: Callable[[Person], bool], path: Path | None = None) -> Policy:
        columns = {p: c for p, c in _paths(self.table.columns) if c.key != "id"}
        path = path or self.rng.choice(sorted(columns))
        masking = self.rng.choice(self.maskings(columns[path]))
        # No two priorities are equal, and a struct's own mask goes before those inside of it.
        priority = self._count + (0 if len(path) > 1 else 1000)
        name = self._name(path)
        line = f"mask:\n  {name}: {masking.text.format(name)}\npriority: {priority}"
        return Policy(self.document(to, line), binds, masks={path: masking}, priority=priority)

    def hide(self, to: str, binds: Callable[[Person], bool], path: Path | None = None) -> Policy:
        paths = [p for p, c in _paths(self.table.columns, inside_lists=True) if c.key != "id"]
        path = path or self.rng.choice(sorted(paths))
        return Policy(self.document(to, f"hide: [{self._name(path)}]"), binds, hides=frozenset({path}))

    def tagged(self, to: str, binds: Callable[[Person], bool]) -> Policy:
        """By tags: columns are found by the value of theirs, and a condition must hold for each of them."""
        value = self.rng.choice(["a", "b", "c"])
        paths: list[Path] = [(key,) for key, tag in sorted(self.table.tags.items()) if tag == value]
        columns = f"columns:\n  it: has_tag('{TAG}', '{value}')\n"
        kind = self.rng.choice(["mask", "hide", "rows"])
        if kind == "hide":
            return Policy(self.document(to, columns + "hide: [it]"), binds, hides=frozenset(paths))
        if kind == "mask":
            masking = self.rng.choice(self.maskings(Column("", "", "string")))
            priority = 5000 + self._count
            line = f"mask:\n  it: {masking.text.format('it')}\npriority: {priority}"
            return Policy(
                self.document(to, columns + line),
                binds,
                masks=dict.fromkeys(paths, masking),
                priority=priority,
            )
        check: Check = lambda row, person: True
        for path in paths:
            check = both(check, on(path, lambda v: v >= "zqc"))
        return Policy(self.document(to, columns + "rows: it >= 'zqc'"), binds, rows=check if paths else None)

    # -- conditions ---------------------------------------------------------------------------------------------

    def condition(self) -> tuple[str, Check]:
        one = self.rng.choice(self._conditions())
        if self.rng.random() < 0.5:
            return one
        two = self.rng.choice(self._conditions())
        word, join = self.rng.choice([("AND", both), ("OR", either)])
        text, check = f"({one[0]}) {word} ({two[0]})", join(one[1], two[1])
        return (f"NOT ({text})", negated(check)) if self.rng.random() < 0.25 else (text, check)

    def by_group(self) -> tuple[str, Check]:
        """A filter that whole files satisfy where rows are partitioned by group."""
        return (
            f"{self._name(('group',))} = principal.region",
            lambda row, person: None if row["group"] is None else row["group"] == person.attributes["region"],
        )

    def _conditions(self) -> list[tuple[str, Check]]:
        name, groups = self._name, self.table.groups
        g, a, b, t, i = (name((key,)) for key in ("group", "amount", "born", "text", "id"))
        day = dt.date(1990, 5, 17)
        found: list[tuple[str, Check]] = [
            self.by_group(),
            (f"{g} = '{groups[0]}'", on(("group",), lambda v: v == groups[0])),
            (f"{g} <> '{groups[1]}'", on(("group",), lambda v: v != groups[1])),
            (f"{g} IN ('{groups[0]}', '{groups[2]}')", on(("group",), lambda v: v in (groups[0], groups[2]))),
            (
                f"{g} IS NULL OR {g} = '{groups[2]}'",
                either(is_null(("group",)), on(("group",), lambda v: v == groups[2])),
            ),
            (
                f"{g} = '{groups[1]}' OR is_member('auditors')",
                either(on(("group",), lambda v: v == groups[1]), lambda row, p: "auditors" in p.groups),
            ),
            (f"{a} > 1550000000", on(("amount",), lambda v: v > 1_550_000_000)),
            (f"{a} + {a} < 3080000000", on(("amount",), lambda v: v + v < 3_080_000_000)),
            (
                f"{a} BETWEEN 1510000000 AND 1570000000",
                on(("amount",), lambda v: 1_510_000_000 <= v <= 1_570_000_000),
            ),
            (f"{i} % 3 <> 0", on(("id",), lambda v: v % 3 != 0)),
            (f"{b} >= DATE '{day}'", on(("born",), lambda v: v >= day)),
            (f"year({b}) < 2000", on(("born",), lambda v: v.year < 2000)),
            (
                f"starts_with({t}, 'zqa') OR {t} > 'zqf'",
                on(("text",), lambda v: v.startswith("zqa") or v > "zqf"),
            ),
            (f"{t} LIKE 'zq%'", on(("text",), lambda v: v.startswith("zq"))),
        ]
        keys = {c.key for c in self.table.columns}
        if "flag" in keys:
            f = name(("flag",))
            found.append((f"{f} IS NOT TRUE", lambda row, person: row["flag"] is not True))
        if "price" in keys:
            limit = decimal.Decimal("7525946746000000.50")
            found.append((f"{name(('price',))} >= {limit}", on(("price",), lambda v: v >= limit)))
        if "home" in keys:
            found.append((f"{name(('home', 'zip'))} >= 'zqe'", on(("home", "zip"), lambda v: v >= "zqe")))
        return found

    # -- masks --------------------------------------------------------------------------------------------------

    def maskings(self, column: Column) -> list[Masking]:
        kind = column.type
        null = Masking("replace_with_null({})", lambda v: None)
        fixed = Masking("mask_to_fixed_value({})", lambda v: _fixed(column))
        if kind == "string":
            return [
                null,
                fixed,
                _kept("mask_alphanum({})", _alphanum),
                _kept("show_first_4({})", lambda v: v[:4] + _alphanum(v[4:])),
                _kept("show_last_4({})", lambda v: _alphanum(v[:-4]) + v[-4:]),
                _kept("show_last_4_strict({})", lambda v: _alphanum(v[:-4]) + v[-4:]),
                _kept("sha256({})", lambda v: hashlib.sha256(v.encode()).hexdigest()),
                _kept(f"token({{}}, '{KEY}')", lambda v: hmac.digest(self.key, v.encode(), "sha256").hex()),
                _kept("prefix({}, 3)", lambda v: v[:3] + "*"),
                _kept("upper(left({}, 5))", lambda v: v[:5].upper()),
                Masking("constant('gone')", lambda v: "gone"),
                Masking(
                    "CASE WHEN {0} IS NULL THEN 'none' ELSE concat('has ', CAST(length({0}) AS STRING)) END",
                    lambda v: "none" if v is None else f"has {len(v)}",
                ),
                *(
                    [Masking("k_anonymous({}, 3)", least=3)]
                    if column.key in ("common", "group", "text")
                    else []
                ),
            ]
        if kind in ("int", "bigint"):
            width = 4 if kind == "int" else 8
            digest: Callable[[bytes], int] = lambda d: int.from_bytes(d[:width], "little", signed=True)
            raw: Callable[[int], bytes] = lambda v: v.to_bytes(width, "little", signed=True)
            return [
                null,
                fixed,
                _kept("sha256({})", lambda v: digest(hashlib.sha256(raw(v)).digest())),
                _kept(f"token({{}}, '{KEY}')", lambda v: digest(hmac.digest(self.key, raw(v), "sha256"))),
                _kept("bucket({}, 100000000)", lambda v: v - v % 100_000_000),
            ]
        if kind.startswith("decimal"):
            hundred = decimal.Decimal("1000000.00")
            return [null, fixed, _kept("bucket({}, 1000000)", lambda v: v - v % hundred)]
        if kind == "double":
            return [null, fixed, _kept("bucket({}, 1024.0)", lambda v: v - v % 1024.0)]
        if kind == "date":
            return [
                null,
                fixed,
                _kept("truncate_to_year({})", lambda v: v.replace(month=1, day=1)),
                _kept("truncate_to_month({})", lambda v: v.replace(day=1)),
                _kept("date_range({}, 'week')", lambda v: v - dt.timedelta(days=v.weekday())),
            ]
        if kind.startswith("timestamp"):
            midnight = {"hour": 0, "minute": 0, "second": 0, "microsecond": 0}
            return [
                null,
                fixed,
                _kept("truncate_to_year({})", lambda v: v.replace(month=1, day=1, **midnight)),
                _kept("date_range({}, 'day')", lambda v: v.replace(**midnight)),
            ]
        if kind == "binary":
            return [null, fixed, _kept("sha256({})", lambda v: hashlib.sha256(v).digest())]
        return [null, fixed]

    # -- inside -------------------------------------------------------------------------------------------------

    def document(self, to: str, what: str) -> str:
        self._count += 1
        schema, _, table = self.table.name.partition(".")
        scope = self.rng.choice([f"lake.cat.{schema}", f"lake.cat.{schema}.{table}"])
        return f"policy: {table}-{self._count}\non: {scope}\n{to}\n{what}\n"

    def _name(self, path: Path) -> str:
        """A path in the words of today's names."""
        columns: Sequence[Column] = self.table.columns
        words = []
        for key in path:
            if key == "element":
                words.append(key)
                continue
            found = next(c for c in columns if c.key == key)
            words.append(found.name)
            columns = found.fields
        return ".".join(words)


def _paths(
    columns: Sequence[Column], before: Path = (), *, inside_lists: bool = False
) -> list[tuple[Path, Column]]:
    found: list[tuple[Path, Column]] = []
    for column in columns:
        path = (*before, column.key)
        found.append((path, column))
        if column.type.startswith("struct"):
            found += _paths(column.fields, path, inside_lists=inside_lists)
        elif column.fields and inside_lists:
            found += _paths(column.fields, (*path, "element"), inside_lists=True)
    return found


def _kept(text: str, of: Callable[[Any], Any]) -> Masking:
    """A mask that leaves NULL as it is."""
    return Masking(text, lambda value: None if value is None else of(value))


def _alphanum(text: str) -> str:
    return "".join("n" if c in "0123456789" else c if c in "(),.-@" else "x" for c in text)


def _fixed(column: Column) -> Any:
    if column.type.startswith("struct"):
        return {f.key: _fixed(f) for f in column.fields}
    epoch = dt.datetime(1970, 1, 1)
    return {
        "string": "XXXXXXXX",
        "int": 0,
        "bigint": 0,
        "double": 0.0,
        "decimal(18,2)": decimal.Decimal("0.00"),
        "date": epoch.date(),
        "timestamp_ntz": epoch,
        "timestamp": epoch.replace(tzinfo=dt.UTC),
        "boolean": False,
        "binary": b"",
        "map<string, string>": {},
    }.get(column.type, [])
