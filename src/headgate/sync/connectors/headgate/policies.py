"""Rules that pushes put into a metalake: one policy of Headgate each, on exactly its table and marked with the rule.

INVARIANT: a policy is a push's own only while it says just what its mark says, on the table that the mark names. What people
made or changed is theirs: it is never altered or dropped, and no mask is put beside another of theirs on the same column.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from headgate.decide.authority import Authority, Node
from headgate.decide.policies.clauses import rules_of
from headgate.decide.policies.shape import Shape
from headgate.language.ast import Name
from headgate.language.bind import shown
from headgate.language.errors import LanguageError
from headgate.language.masks.mask import bind_mask, parse_mask
from headgate.language.parse import parse
from headgate.language.policies.content import Content, content_of
from headgate.language.policies.content import read as read_content
from headgate.language.policies.export import part
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.records import ObjectRecord
from headgate.store import labels, objects, policies
from headgate.store.database import Write
from headgate.sync.connectors.headgate.rules import Shapes
from headgate.sync.pushing.results import Applied, Outcome
from headgate.sync.snapshots.facts import Facts, Mask, RowFilter, Securable
from headgate.sync.translating.dialects import understood
from headgate.sync.translating.policy_text import NOTHING
from headgate.sync.translating.restrictions import Rule, table_of

MARK: Final = "rule"
"""Where the body of a policy keeps the rule that it was made for."""
_MARKED: TypeAlias = RowFilter | Mask
_DONE: Final = Applied(Outcome.APPLIED)


def policy_name(rule: Rule) -> str:
    """The name of a rule's policy: its own as far as policies have such names, and a mark of the table and the name."""
    whole = msgspec.json.encode((type(rule).__name__, rule.object, rule.name))
    plain = re.sub(r"[^A-Za-z0-9_]", "_", rule.name)[:80] or "rule"
    return f"{plain}-{hashlib.sha256(whole).hexdigest()[:12]}"


def content(rule: Rule, hidden: bool) -> Content:
    """What the policy of a rule says. A column that cannot be NULL is hidden where nothing is to be shown of it."""
    body: Content = {"to": [str(who) for who in rule.to] or ["everyone"]}
    if rule.exempt:
        body["except"] = [str(who) for who in rule.exempt]
    if isinstance(rule, RowFilter):
        body["rows"] = rule.sql
    elif hidden:
        body["hide"] = [_word(rule.object.path[3])]
    else:
        body["mask"] = {_word(rule.object.path[3]): rule.sql}
    return body


@lru_cache(16_384)
def _readable(rule: Rule, metalake: str, hidden: bool) -> bool:
    """Whether the reader of policies takes a rule's policy, and as it is."""
    on = ".".join(part(name) for name in (metalake, *rule.object.path[:3]))
    written = content(rule, hidden)
    try:
        return content_of(read_content(policy_name(rule), {"on": on, **written})) == written
    except LanguageError:
        return False


def _word(column: str) -> str:
    plain = shown((column,))
    try:
        if parse(plain) == Name((column,)):
            return plain
    except LanguageError:
        pass
    return '"' + column.replace('"', '""') + '"'


def pushed(record: ObjectRecord, on: Securable | None) -> Rule | None:
    """The rule that a policy was made for, if it still says that and nothing else."""
    try:
        rule: Rule = msgspec.convert(record.body.get(MARK), _MARKED)
        written = content(rule, hidden="hide" in record.body["content"])
    except (msgspec.ValidationError, IndexError):
        return None
    same = record.name == policy_name(rule) and record.body["content"] == written and on == table_of(rule)
    return rule if same and record.body["enabled"] else None


class Lake:
    """A metalake as it was read: what is asked about rules while a push is planned and made."""

    def __init__(
        self,
        compiled: Callable[[], Authority],
        metalake: str,
        tables: Mapping[Securable, int],
        shapes: Shapes,
    ) -> None:
        self.compiled, self.metalake, self.tables, self.shapes = compiled, metalake, tables, shapes
        self.known: dict[int, Shape | None] = {}
        self.own: dict[int, Rule] = {}
        """The rules of pushes, by policy."""
        self.facts = Facts()

    @cached_property
    def authority(self) -> Authority:
        """Compiled when something is first asked that only it can tell."""
        return self.compiled()

    def shape(self, table: Securable) -> Shape | None:
        id = self.tables.get(table)
        node = None if id is None else self.authority.objects.get(id)
        return None if node is None else self.shape_of(self.authority, node)

    def shape_of(self, authority: Authority, table: Node) -> Shape | None:
        """The columns of a table, read once."""
        if table.id not in self.known:
            self.known[table.id] = self.shapes(authority, table)
        return self.known[table.id]

    def again(self) -> "Lake":
        """The same, for which the columns of tables are read anew."""
        self.known.clear()
        return self

    def meant(self, rule: Rule) -> Rule | None:
        """A rule in the policy language over the columns of its table, if the language expresses it exactly."""
        shape = self.shape(table_of(rule))
        lifted = None if shape is None else understood(rule, shape.schema)
        if shape is None or lifted is None:
            return None
        named = {name for name, _ in lifted.columns} | set(rule.object.path[3:])
        # INVARIANT: in a policy a name means as well the columns that once had it, and a rule means none but today's.
        return lifted if all(len(shape.ids((name,)) or ()) == 1 for name in named) else None

    def render(self, rule: Rule) -> Rule | None:
        """The same, if a policy can say just that."""
        lifted = self.meant(rule)
        return lifted if lifted is not None and _readable(lifted, self.metalake, self.hides(lifted)) else None

    def hides(self, rule: Rule) -> bool:
        """Whether a rule hides a column, because it cannot be shown as NULL."""
        shape = self.shape(table_of(rule))
        if shape is None or not isinstance(rule, Mask) or rule.sql != NOTHING:
            return False
        try:
            bind_mask(parse_mask(NOTHING), shape.schema, shape.schema.by_path[rule.object.path[3:]].field.id)
        except LanguageError:
            return True
        return False

    def takes(self, rule: Rule) -> bool:
        """Whether a rule can stand beside the policies of people: which of two masks counts is theirs to say."""
        shape = self.shape(table_of(rule))
        if rule in self.facts or not isinstance(rule, Mask) or shape is None or self.hides(rule):
            return True
        column = shape.schema.by_path[rule.object.path[3:]].field.id
        mask = bind_mask(parse_mask(rule.sql), shape.schema, column)
        node = self.authority.objects[self.tables[table_of(rule)]]
        for clause in rules_of(self.authority, node, shape).clauses:
            if clause.id not in self.own:
                every = tuple((alias, tuple(id for id, _ in found)) for alias, found in clause.aliases)
                theirs = (m for m in clause.bound(every).masks if column in m.column.ids)
                if any(other.text != mask.text for other in theirs):
                    return False
        return True


class PolicyWriter:
    """Puts rules into a metalake as policies and takes them away, in one transaction."""

    def __init__(self, tx: Write, root: int, lake: Lake) -> None:
        self.tx, self.root, self.lake = tx, root, lake

    def put(self, rule: Rule, table: int) -> Applied:
        if self.lake.tables.get(table_of(rule)) != table or self.lake.render(rule) != rule:
            return Applied(Outcome.FAILED, f"{rule.object} is not what it was: plan again")
        name = policy_name(rule)
        record = objects.find(self.tx, self.root, ObjectType.POLICY, name)
        if record is not None and MARK not in record.body:
            return Applied(Outcome.FAILED, f"policy '{name}' is there, and somebody else's")
        body: dict[str, Any] = {
            "policyType": policies.OWN,
            "enabled": True,
            "content": content(rule, self.lake.hides(rule)),
            MARK: msgspec.to_builtins(rule),
        }
        comment = f"put here by a push, for the rule '{rule.name}'"
        if record is None:
            id = objects.create(
                self.tx, self.root, self.root, ObjectType.POLICY, name, comment=comment, body=body
            )
        else:
            id = record.id
            objects.alter(self.tx, record, comment=comment, body=body)
            for object, field, _ in labels.places(self.tx, id):
                labels.take(self.tx, id, object, field)
        labels.put(self.tx, id, table, 0, None)
        made = objects.present(self.tx, id)
        policies.say(self.tx, made, self._on(rule), "create" if record is None else "change")
        return _DONE

    def take(self, rule: Rule) -> Applied:
        record = objects.find(self.tx, self.root, ObjectType.POLICY, policy_name(rule))
        if record is None and rule not in self.lake.facts:
            return _DONE
        if record is None or MARK not in record.body:
            return Applied(Outcome.UNSUPPORTED, "a policy of people's is theirs to change")
        policies.silence(self.tx, record, self._on(rule))
        objects.drop(self.tx, record.id)
        return _DONE

    def _on(self, rule: Rule) -> str:
        table = table_of(rule)
        return ObjectRef(self.lake.metalake, table.type, table.path).full_name
