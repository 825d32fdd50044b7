"""Policy documents: YAML in, frozen policies out, with file, line and column for whatever is wrong; `export` writes them."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from typing import Final, NoReturn

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from headgate.language import values
from headgate.language.ast import Name
from headgate.language.bind import REQUEST_ONLY, bind
from headgate.language.errors import DocumentError, LanguageError, Position
from headgate.language.masks.mask import parse_mask
from headgate.language.parse import parse
from headgate.language.policies.policy import EFFECTS, Policy
from headgate.language.tokens import tokenize
from headgate.model.schema import TIMESTAMPTZ

MAX_BYTES: Final = 4 * 1024 * 1024
MAX_NESTING: Final = 4
MAX_ITEMS: Final = 10_000
FIELDS: Final = (
    "policy", "on", "to", "except", "when", "columns", "rows", "mask", "hide", "deny", "priority", "from", "until",
    "purpose", "accept", "enabled", "comment",
)  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", re.ASCII)
_ALIAS: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_PRINCIPAL: Final = re.compile(r"everyone|(user|group|service|role):\S(?:.*\S)?")
_PRIORITY: Final = re.compile(r"-?\d{1,6}", re.ASCII)


def load(text: str, file: str | None = None) -> tuple[Policy, ...]:
    """The policies of one file; anything malformed refuses the whole file."""
    return load_all([(file, text)])


def load_all(files: Iterable[tuple[str | None, str]]) -> tuple[Policy, ...]:
    """The policies of several files; a name may be used once among all of them."""
    found: dict[str, Policy] = {}
    for file, text in files:
        for policy in _load_file(text, file):
            if first := found.get(policy.name):
                where = f"{first.file or 'this text'}:{first.at.line}"
                raise DocumentError(
                    f"the name {policy.name!r} is taken, at {where}", "rename one", policy.at, file
                )
            found[policy.name] = policy
    return tuple(found.values())


def _load_file(text: str, file: str | None) -> Iterator[Policy]:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise DocumentError(f"the file is larger than {MAX_BYTES} bytes", "split it", Position(1, 1), file)
    try:
        _check_events(text, file)
        for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
            if node is not None and not (isinstance(node, ScalarNode) and not node.value):
                yield _DocumentReader(text, file).policy(node)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark
        at = Position(mark.line + 1, mark.column + 1) if mark else Position(1, 1)
        raise DocumentError(
            f"not YAML: {e.problem}",
            "check the indentation; expressions with commas or colons inside {…} and […] need quotes",
            at,
            file,
        ) from e
    except yaml.YAMLError as e:
        raise DocumentError(
            "not YAML: a character that YAML does not allow", "remove it", Position(1, 1), file
        ) from e


def _check_events(text: str, file: str | None) -> None:
    """Refuse what could grow, hide or run before anything is built from it."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        at = Position(event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor):
            raise DocumentError("YAML anchors and aliases are not allowed", "write the value out", at, file)
        if getattr(event, "tag", None):
            raise DocumentError("YAML tags are not allowed", "leave the tag out", at, file)
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > MAX_NESTING or count > 40 * MAX_ITEMS:
            raise DocumentError("nested too deep, or too many values", "split the file", at, file)


class _DocumentReader:
    def __init__(self, text: str, file: str | None) -> None:
        self._lines = text.splitlines()
        self._file = file

    def policy(self, node: Node) -> Policy:
        fields = self._mapping(node, "a policy")
        at = _place(node)
        for name, (key, _) in fields.items():
            if name not in FIELDS:
                self._refuse(f"unknown field {name!r}", "fields are " + ", ".join(FIELDS), key)
        for needed in ("policy", "on", "to"):
            if needed not in fields:
                self._refuse(f"the field {needed!r} is missing", f"add {needed}: …", node)
        effects = [e for e in EFFECTS if e in fields]
        if len(effects) != 1:
            self._refuse("a policy does exactly one thing", "give one of rows, mask, hide or deny", node)
        nodes = {name: value for name, (_, value) in fields.items()}
        out = Policy(
            name=self._name(nodes["policy"]),
            on=self._object(nodes["on"]),
            to=self._principals(nodes["to"]),
            effect=effects[0],
            except_=self._principals(nodes["except"]) if "except" in nodes else (),
            when=self._condition(nodes["when"]) if "when" in nodes else None,
            columns=self._columns(nodes["columns"]) if "columns" in nodes else (),
            rows=self._rows(nodes["rows"]) if "rows" in nodes else None,
            mask=self._masks(nodes["mask"]) if "mask" in nodes else (),
            hide=self._hidden(nodes["hide"]) if "hide" in nodes else (),
            priority=self._priority(nodes["priority"]) if "priority" in nodes else 0,
            from_=self._moment(nodes["from"]) if "from" in nodes else None,
            until=self._moment(nodes["until"]) if "until" in nodes else None,
            purpose=self._texts(nodes["purpose"], "purpose") if "purpose" in nodes else (),
            accept=self._accepted(nodes["accept"]) if "accept" in nodes else (),
            enabled=self._boolean(nodes["enabled"]) if "enabled" in nodes else True,
            comment=self._text(nodes["comment"], "comment") if "comment" in nodes else None,
            file=self._file,
            at=at,
        )
        if "deny" in nodes and not self._boolean(nodes["deny"]):
            self._refuse("deny: false does nothing", "write deny: true, or enabled: false", nodes["deny"])
        if out.from_ and out.until and out.from_ >= out.until:
            self._refuse("the policy ends before it begins", "let until be later than from", nodes["until"])
        return out

    # -- parts ------------------------------------------------------------------------------------------------------

    def _refuse(self, message: str, fix: str, node: Node) -> NoReturn:
        raise DocumentError(message, fix, _place(node), self._file)

    def _mapping(self, node: Node, what: str) -> dict[str, tuple[Node, Node]]:
        if not isinstance(node, MappingNode):
            self._refuse(f"{what} is a mapping", "write name: value", node)
        out: dict[str, tuple[Node, Node]] = {}
        for key, value in node.value:
            name = self._text(key, "a key")
            if name in out:
                self._refuse(f"the key {name!r} occurs twice", "keep one", key)
            out[name] = (key, value)
        return out

    def _text(self, node: Node, what: str) -> str:
        if not isinstance(node, ScalarNode) or not node.value.strip():
            self._refuse(f"{what} is a text", "write one", node)
        return str(node.value).strip()

    def _texts(self, node: Node, what: str) -> tuple[str, ...]:
        if isinstance(node, ScalarNode):
            return (self._text(node, what),)
        if not isinstance(node, SequenceNode) or not node.value:
            self._refuse(f"{what} is a text or a list of texts", "write [one, two]", node)
        items = [self._text(item, what) for item in node.value]
        for index, item in enumerate(items):
            if item in items[:index]:
                self._refuse(f"{item!r} occurs twice", "keep one", node.value[index])
        return tuple(items)

    def _name(self, node: Node) -> str:
        name = self._text(node, "policy")
        if not _NAME.fullmatch(name):
            self._refuse(f"{name!r} is not a name", "letters, digits, _ . and -, at most 128", node)
        return name

    def _object(self, node: Node) -> tuple[str, ...]:
        text = self._text(node, "on")
        try:
            tokens = tokenize(text)[:-1]
        except LanguageError as e:
            self._moved(e, node)
        parts, between = tokens[::2], tokens[1::2]
        named = all(t.kind in ("word", "quoted") for t in parts) and all(t.text == "." for t in between)
        if not named or len(parts) != len(between) + 1 or len(parts) > 4:
            fix = 'write metalake.catalog.schema.table, other names than plain words as "…"'
            self._refuse(f"{text!r} names no object", fix, node)
        return tuple(t.text for t in parts)

    def _principals(self, node: Node) -> tuple[str, ...]:
        names = self._texts(node, "principals")
        for name in names:
            if not _PRINCIPAL.fullmatch(name):
                self._refuse(
                    f"{name!r} is no principal", "write everyone, user:…, group:…, service:… or role:…", node
                )
        return names

    def _condition(self, node: Node) -> str:
        source = self._text(node, "a condition")
        try:
            bind(parse(source), REQUEST_ONLY)
        except LanguageError as e:
            self._moved(e, node)
        return source

    def _columns(self, node: Node) -> tuple[tuple[str, str], ...]:
        entries = self._mapping(node, "columns")
        for alias, (key, _) in entries.items():
            if not _ALIAS.fullmatch(alias) or alias.lower() in ("principal", "context"):
                self._refuse(
                    f"{alias!r} cannot be an alias", "use a plain word, not principal or context", key
                )
        return tuple((alias, self._condition(value)) for alias, (_, value) in entries.items())

    def _rows(self, node: Node) -> str:
        source = self._text(node, "rows")
        try:
            parse(source)
        except LanguageError as e:
            self._moved(e, node)
        return source

    def _column(self, name: str, node: Node) -> str:
        try:
            if isinstance(parse(name), Name):
                return name
        except LanguageError as e:
            self._moved(e, node)
        return self._refuse(
            f"{name!r} names no column", 'write a column or alias, other names than plain words as "…"', node
        )

    def _masks(self, node: Node) -> tuple[tuple[str, str], ...]:
        out = []
        for target, (key, value) in self._mapping(node, "mask").items():
            source = self._text(value, "a mask")
            self._column(target, key)
            try:
                parse_mask(source)
            except LanguageError as e:
                self._moved(e, value)
            out.append((target, source))
        if not out:
            self._refuse("mask names no column", "write mask: {column: mask(column)}", node)
        return tuple(out)

    def _hidden(self, node: Node) -> tuple[str, ...]:
        return tuple(self._column(name, node) for name in self._texts(node, "hide"))

    def _accepted(self, node: Node) -> tuple[tuple[str, str], ...]:
        accepted = self._mapping(node, "accept")
        if not accepted:
            self._refuse("accept names no finding", "write accept: {rule: why it is meant so}", node)
        return tuple((rule, self._text(why, "a reason")) for rule, (_, why) in accepted.items())

    def _priority(self, node: Node) -> int:
        text = self._text(node, "priority")
        if not _PRIORITY.fullmatch(text):
            self._refuse(f"{text!r} is not a priority", "write a whole number of at most six digits", node)
        return int(text)

    def _boolean(self, node: Node) -> bool:
        text = self._text(node, "this")
        if text not in ("true", "false"):
            self._refuse(f"{text!r} is neither true nor false", "write true or false", node)
        return text == "true"

    def _moment(self, node: Node) -> dt.datetime:
        text = self._text(node, "a moment")
        try:
            whole = text if len(text) > 10 else f"{text} 00:00:00Z"
            moment: dt.datetime = values.from_text(TIMESTAMPTZ, whole)
        except ValueError:
            self._refuse(f"{text!r} is no moment", "write 2025-01-31, or 2025-01-31T08:00:00Z", node)
        return moment

    def _moved(self, error: LanguageError, node: Node) -> NoReturn:
        """Tell an expression's error at its place in the file."""
        error.at, error.file = self._inside(error.at, node), self._file
        raise error

    def _inside(self, at: Position, node: Node) -> Position:
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        style = node.style if isinstance(node, ScalarNode) else None
        if style == "|":
            first = self._lines[line] if line < len(self._lines) else ""
            return Position(line + at.line, len(first) - len(first.lstrip()) + at.column)
        if node.start_mark.line != node.end_mark.line or at.line != 1:
            return Position(line, column)
        return Position(line, column + at.column - 1 + (1 if style in ("'", '"') else 0))


def _place(node: Node) -> Position:
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)
