"""Ranger's policies as documents: which objects one is about, who is granted what by its items, which rules it holds.

A policy is about exact names, ``*`` standing for everything below. Whatever else it may be about is read narrower: an item that
allows is left out, one that denies is taken to deny at the next object above, without its conditions and exceptions.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.snapshots.facts import GrantFact, Kind, Mask, Principal, RowFilter, Securable
from headgate.sync.translating.policy_text import NO_ROW, NOTHING

_T = ObjectType
Policy: TypeAlias = dict[str, Any]
Rule: TypeAlias = RowFilter | Mask

EVERYONE: Final = Principal(Kind.GROUP, "public")
KEYS: Final = ("database", "table", "column")
"""The resources of a service for Hive, from the outside to the inside."""
PARTS: Final = {Kind.USER: "users", Kind.GROUP: "groups", Kind.ROLE: "roles"}
ITEMS: Final = {Condition.ALLOW: "policyItems", Condition.DENY: "denyPolicyItems"}
MARK: Final = "headgate"
"""The label of the policies that a push made, and the option that keeps the rules as they were pushed."""
ACCESS, MASKS, ROWS = 0, 1, 2
NULL_MASK, NO_MASK, OWN_MASK = "MASK_NULL", "MASK_NONE", "CUSTOM"


# -- objects -----------------------------------------------------------------------------------------------------


def resources(object: Securable, type: int = ACCESS) -> dict[str, Any]:
    """The resources of a policy about one object and everything in it."""
    names = [*object.path[1:], *["*"] * (len(KEYS) + 1 - len(object.path))]
    for name in object.path[1:]:
        # INVARIANT: a name never turns into a pattern, a macro or nothing.
        if any(sign in name for sign in "*?{}$\\") or name != name.strip() or name != name.lower():
            raise IllegalArgument(
                f"'{name}' would be read as a pattern or as another name", hint="rename the object"
            )
    keys = KEYS[:2] if type == ROWS else KEYS
    return {
        key: {"values": [name], "isExcludes": False, "isRecursive": False}
        for key, name in zip(keys, names, strict=False)
    }


def _exact(value: str) -> bool:
    return not any(sign in value for sign in "*?{}$")


def objects(policy: Policy, leaves: Mapping[tuple[str, str], Securable], catalog: str) -> list[Securable]:
    """What a policy is about, if it says so by exact names or by everything of one container; else nothing."""
    found: list[Securable] = []
    for resource in [policy.get("resources") or {}, *(policy.get("additionalResources") or ())]:
        keys = KEYS[:2] if policy.get("policyType") == ROWS else KEYS
        if set(resource) != set(keys) or any(part.get("isExcludes") for part in resource.values()):
            return []
        named: list[tuple[str, ...]] = [()]
        for key in keys:
            named = [(*path, value.lower()) for path in named for value in resource[key]["values"]]
        for path in named:
            object = _object(path, leaves, catalog)
            if object is None:
                return []
            found.append(object)
    return found


def restricts(type: int, about: list[Securable]) -> bool:
    """Whether a policy of masks is about columns, or one of row filters about tables, each by its name."""
    fits = (_T.COLUMN,) if type == MASKS else (_T.TABLE, _T.VIEW)
    return bool(about) and all(object.type in fits for object in about)


def _object(
    path: tuple[str, ...], leaves: Mapping[tuple[str, str], Securable], catalog: str
) -> Securable | None:
    names = path
    while names and names[-1] == "*":
        names = names[:-1]
    if not all(map(_exact, names)):
        return None
    full = (catalog, *names)
    if len(names) < 2:
        return Securable((_T.CATALOG, _T.SCHEMA)[len(names)], full)
    leaf = leaves.get((names[0], names[1]), Securable(_T.TABLE, full[:3]))
    if len(names) == len(KEYS):
        return Securable(_T.COLUMN, full) if leaf.type is _T.TABLE else None
    return leaf


def around(policy: Policy, leaves: Mapping[tuple[str, str], Securable], catalog: str) -> list[Securable]:
    """The objects that surely hold everything a policy may be about."""
    found: list[Securable] = []
    for resource in [policy.get("resources") or {}, *(policy.get("additionalResources") or ())]:
        if KEYS[0] not in resource:
            continue
        named: list[tuple[str, ...]] = [()]
        for key in KEYS[:2]:
            part = resource.get(key)
            if part is None or part.get("isExcludes") or not all(map(_exact, part["values"])):
                break
            named = [(*path, value.lower()) for path in named for value in part["values"]]
        made = (_object((*path, *["*"] * (len(KEYS) - len(path))), leaves, catalog) for path in named)
        found += [object for object in made if object is not None]
    return found


# -- items -------------------------------------------------------------------------------------------------------


def holders(item: Policy) -> list[Principal]:
    return [Principal(kind, name) for kind, part in PARTS.items() for name in item.get(part) or ()]


def is_macro(principal: Principal) -> bool:
    """Whether a name stands for whoever asks or whoever owns."""
    return principal.kind is Kind.USER and principal.name.startswith("{")


def words(item: Policy, implied: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The accesses of an item, those that others imply written out."""
    allowed = [access["type"] for access in item.get("accesses") or () if access.get("isAllowed", True)]
    return frozenset().union(*(implied.get(word, frozenset({word})) for word in allowed))


def is_plain(policy: Policy) -> bool:
    """Whether a policy holds always, and for everyone alike."""
    return not policy.get("conditions") and not policy.get("validitySchedules")


def with_grant(
    policy: Policy, grant: GrantFact, implied: Mapping[str, frozenset[str]], holds: bool
) -> Policy:
    """The policy with a grant in it or without it; what others hold by it stays as it is."""
    part = ITEMS[grant.decision]
    items: list[Policy] = []
    own: dict[bool, set[str]] = {False: set(), True: set()}
    for item in policy.get(part) or ():
        if grant.holder not in holders(item) or item.get("conditions"):
            items.append(item)
            continue
        own[bool(item.get("delegateAdmin"))] |= words(item, implied)
        rest = [name for name in item.get(PARTS[grant.holder.kind]) or () if name != grant.holder.name]
        left = {**item, PARTS[grant.holder.kind]: rest}
        if holders(left):
            items.append(left)
    for accesses in own.values():
        accesses.discard(grant.privilege)
    if holds:
        own[grant.option].add(grant.privilege)
    for option, accesses in own.items():
        if accesses:
            items.append(_item([grant.holder], sorted(accesses), option))
    return {**policy, part: items}


def _item(people: Iterable[Principal], accesses: Iterable[str], option: bool = False) -> Policy:
    made: Policy = {part: [] for part in PARTS.values()}
    for principal in people:
        made[PARTS[principal.kind]].append(principal.name)
    entries = [{"type": word, "isAllowed": True} for word in accesses]
    return {**made, "accesses": entries, "conditions": [], "delegateAdmin": option}


def is_empty(policy: Policy) -> bool:
    return not any(policy.get(part) for part in (*ITEMS.values(), "allowExceptions", "denyExceptions"))


# -- rules -------------------------------------------------------------------------------------------------------

Line: TypeAlias = tuple[tuple[Principal, ...], str | None]
"""Whom an item is for, and its expression; none lets everything through. The first that meets a user counts."""


def lines(rules: Iterable[Rule]) -> list[Line]:
    """Rules as a list of which the first match counts, with the same meaning; refused where there is none."""
    todo = sorted(rules, key=lambda rule: (len(rule.exempt), rule.name))
    named = {principal for rule in todo for principal in (*rule.to, *rule.exempt)}
    if all(principal.kind is Kind.USER for principal in named):
        return _by_user(todo, sorted(named))
    return _in_turn(todo)


def _by_user(rules: list[Rule], users: list[Principal]) -> list[Line]:
    general = [rule for rule in rules if not rule.to]
    by_rules: dict[tuple[Rule, ...], list[Principal]] = {}
    for user in users:
        met = tuple(r for r in rules if (not r.to or user in r.to) and user not in r.exempt)
        by_rules.setdefault(met, []).append(user)
    found: list[Line] = [
        (tuple(people), _together(met)) for met, people in by_rules.items() if met or general
    ]
    return [*found, ((EVERYONE,), _together(general))] if general else found


def _in_turn(rules: list[Rule]) -> list[Line]:
    found: list[Line] = []
    passed: set[Principal] = set()
    rest = list(rules)
    while rest:
        for rule in rest:
            others = {p for other in rest if other is not rule for p in other.to}
            # INVARIANT: who is let go before a rule is exempt from it, and who is exempt is met by nothing later.
            if passed <= set(rule.exempt) and not (set(rule.exempt) - passed) & others:
                break
        else:
            raise IllegalArgument(
                "rules of several groups meet the same people", hint="say them as one rule, or for users"
            )
        rest.remove(rule)
        if rest and not rule.to:
            raise IllegalArgument(
                "a rule for everyone hides the rules after it", hint="exempt those they meet"
            )
        free = sorted(set(rule.exempt) - passed)
        if free:
            found.append((tuple(free), None))
        found.append((rule.to or (EVERYONE,), rule.sql))
        passed |= {*free, *rule.to}
    return found


def _together(rules: Iterable[Rule]) -> str | None:
    """One expression for all the rules that meet the same users."""
    listed = list(rules)
    if any(isinstance(rule, Mask) for rule in listed) and len({rule.sql for rule in listed}) > 1:
        raise IllegalArgument("two masks on one column meet the same user", hint="leave one of them out")
    if len({rule.sql for rule in listed}) <= 1:
        return listed[0].sql if listed else None
    return " AND ".join(f"({rule.sql})" for rule in listed)


class MaskTypes(msgspec.Struct, frozen=True):
    """The masks of a service by name, as expressions in which ``{col}`` stands for the column."""

    expressions: dict[str, str]

    @classmethod
    def of(cls, definition: Policy) -> "MaskTypes":
        types = (definition.get("dataMaskDef") or {}).get("maskTypes") or ()
        return cls({t["name"]: t["transformer"] for t in types if t.get("transformer")})

    def sql(self, info: Policy, column: str) -> str | None:
        type = info["dataMaskType"]
        if type == NO_MASK:
            return None
        if type == NULL_MASK:
            return "NULL"
        text = info.get("valueExpr") if type == OWN_MASK else self.expressions.get(type)
        # A mask that nobody knows shows nothing.
        return text.replace("{col}", column) if text else "NULL"

    def info(self, sql: str | None, column: str) -> Policy:
        if sql is None:
            return {"dataMaskType": NO_MASK}
        if sql == "NULL":
            return {"dataMaskType": NULL_MASK}
        for name, text in self.expressions.items():
            if text.replace("{col}", column) == sql:
                return {"dataMaskType": name}
        return {"dataMaskType": OWN_MASK, "valueExpr": sql}


def rule_items(found: Iterable[Line], object: Securable, masks: MaskTypes) -> Policy:
    """The part of a policy that holds these lines."""
    made = []
    for people, sql in found:
        item = _item(people, ["select"])
        if object.type is _T.COLUMN:
            item["dataMaskInfo"] = masks.info(sql, object.path[3])
        else:
            item["rowFilterInfo"] = {"filterExpr": sql or ""}
        made.append(item)
    return {"dataMaskPolicyItems" if object.type is _T.COLUMN else "rowFilterPolicyItems": made}


def rules(policy: Policy, object: Securable, masks: MaskTypes) -> list[Rule]:
    """The rules of a policy on one object: as they were pushed, or else as its items read."""
    kept = [rule for rule in _kept(policy) if rule.object == object]
    found = list(_lines(policy, object, masks))
    if kept and lines(kept) == found:
        return kept
    make = Mask if object.type is _T.COLUMN else RowFilter
    name = str(policy["name"])
    items = policy.get("dataMaskPolicyItems" if object.type is _T.COLUMN else "rowFilterPolicyItems") or ()
    if not is_plain(policy) or any(item.get("conditions") for item in items):
        # INVARIANT: what holds only sometimes is taken to hide everything always.
        return [make(object, name, NOTHING if make is Mask else NO_ROW)]
    read: list[Rule] = []
    before: list[Principal] = []
    for number, (people, sql) in enumerate(found, 1):
        everyone = EVERYONE in people
        if sql is not None:
            # INVARIANT: a macro stands for somebody who is not named, so a restriction of one is for everyone.
            to = () if everyone or any(map(is_macro, people)) else people
            read.append(make(object, f"{name} #{number}", sql, to, tuple(sorted(set(before)))))
        before += [principal for principal in people if not is_macro(principal)]
        if everyone:
            break
    return read


def _kept(policy: Policy) -> list[Rule]:
    text = (policy.get("options") or {}).get(MARK)
    try:
        return msgspec.json.decode(text, type=list[RowFilter | Mask]) if text else []
    except (msgspec.DecodeError, TypeError):
        return []


def kept(rules: Iterable[Rule]) -> str:
    """Rules in the form that a policy carries along."""
    return msgspec.json.encode(sorted(rules, key=str)).decode()


def _lines(policy: Policy, object: Securable, masks: MaskTypes) -> Iterator[Line]:
    if object.type is _T.COLUMN:
        for item in policy.get("dataMaskPolicyItems") or ():
            yield tuple(holders(item)), masks.sql(item["dataMaskInfo"], object.path[3])
    else:
        for item in policy.get("rowFilterPolicyItems") or ():
            yield tuple(holders(item)), (item.get("rowFilterInfo") or {}).get("filterExpr") or None
