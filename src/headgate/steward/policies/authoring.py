"""Policies of Headgate's own: read, checked against the tables they are on, and written all together or not at all."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from headgate.decide import Authority, Node, Op, allowed
from headgate.decide.changes.widening import Side, probes
from headgate.decide.lint import RULES
from headgate.decide.operations import LOADS
from headgate.decide.policies.clauses import known_tags, rules_of
from headgate.decide.policies.people import person
from headgate.decide.policies.rules import ready
from headgate.decide.policies.scopes import on_of
from headgate.decide.policies.standing import doubts
from headgate.language.bind import resolve
from headgate.language.errors import LanguageError
from headgate.language.policies.content import Content, content_of, trusted
from headgate.language.policies.content import read as read_content
from headgate.language.policies.documents import load_all
from headgate.language.policies.export import part
from headgate.language.policies.policy import Policy
from headgate.model.changes import Change as Journaled
from headgate.model.changes import LabelSet, ObjectPut, OwnerSet, PolicySet
from headgate.model.errors import AlreadyExists, Forbidden, HeadgateError, IllegalArgument, NotFound
from headgate.model.objects import ObjectRef, ObjectType, checked_name, clip
from headgate.model.principals import Identity
from headgate.model.privileges import Privilege
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.findings import Refused, as_known, examine
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.shapes import Shapes, tables_below
from headgate.steward.ownership import created
from headgate.steward.permits import Permit
from headgate.steward.policies.checks import (
    check_people,
    check_words,
    problem_of,
    seen_by_author,
    unlifted,
    unseen,
    wrong_policy,
)
from headgate.steward.policies.edits import Comparison, Edit, PolicyFiles, Stored
from headgate.steward.policies.mask_keys import take
from headgate.store import Write, labels, objects
from headgate.store import policies as kept
from headgate.store.policies import OWN, Version

_TYPES: Final = (ObjectType.METALAKE, ObjectType.CATALOG, ObjectType.SCHEMA, ObjectType.TABLE)


class Authoring:
    def __init__(self, kernel: Kernel, shapes: Shapes) -> None:
        self.kernel = kernel
        self.shapes = shapes

    # -- what is there --------------------------------------------------------------------------------------------

    def stored(self, authority: Authority, metalake: Node) -> dict[str, Stored]:
        """All policies of a metalake by name, in the order of their names."""
        nodes = [
            n for n in authority.children_of(metalake.id, ObjectType.POLICY) if n.id in authority.policies
        ]
        with self.kernel.store.read() as read:
            records = objects.many(read, sorted(node.id for node in nodes))
        found = [self._stored(authority, record) for record in records]
        return {one.policy.name: one for one in sorted(found, key=lambda one: one.policy.name)}

    def _stored(self, authority: Authority, record: ObjectRecord) -> Stored:
        node = authority.objects.get(record.id)
        on = on_of(authority, record.id)
        policy = _named(record, () if on is None else spelled(authority.ref(on)))
        return Stored(record.id, policy, None if node is None else node.owner)

    @act(Op.LOAD_POLICY)
    def history(self, permit: Permit) -> list[Version]:
        """All that a policy ever said, oldest first."""
        with self.kernel.store.read() as read:
            return kept.history(read, permit.node.id)

    # -- what is wanted -------------------------------------------------------------------------------------------

    def read(self, metalake: Node, files: PolicyFiles) -> tuple[Policy, ...]:
        """The policies of documents; whatever is malformed, or for another metalake, refuses all."""
        try:
            policies = load_all(files.files)
        except LanguageError as error:
            raise IllegalArgument(str(error)) from None
        for policy in policies:
            self.read_on(metalake, policy)
        return policies

    def read_on(self, metalake: Node, policy: Policy) -> None:
        """Refuse a policy that is for another metalake, or accepts what no rule finds."""
        if policy.on[:1] != (metalake.name,):
            raise wrong_policy(
                policy,
                f"is on '{clip(written(policy.on))}', not in '{metalake.name}'",
                "begin on: with the metalake",
            )
        for rule, _ in policy.accept:
            if rule not in RULES:
                near = get_close_matches(rule, RULES, n=1)
                raise wrong_policy(
                    policy,
                    f"accepts findings of '{clip(rule)}', which is no lint rule",
                    f"did you mean {near[0]}?" if near else f"use one of {', '.join(sorted(RULES))}",
                )

    def edits(
        self,
        authority: Authority,
        metalake: Node,
        wanted: Iterable[Policy],
        identity: Identity,
        *,
        whole: bool,
    ) -> list[Edit]:
        """What differs between the policies that are there and those that are wanted, by name."""
        present = self.stored(authority, metalake)
        named = {policy.name: policy for policy in wanted}
        found: list[Edit] = []
        for name, policy in named.items():
            before = present.get(name)
            if before is None:
                found.append(Edit("created", name, None, policy))
            elif before.policy != policy:
                found.append(Edit("changed", name, before, policy))
            elif self._renews(authority, metalake, before, identity):
                found.append(Edit("renewed", name, before, policy))
        if whole:
            found += [Edit("removed", name, one, None) for name, one in present.items() if name not in named]
        return sorted(found, key=lambda edit: edit.name)

    def _renews(self, authority: Authority, metalake: Node, before: Stored, identity: Identity) -> bool:
        """Whether a policy that is written again as it is comes to say it in words that fewer others doubt.

        Only for somebody who may change it and sees what it uses; for everybody else it stays as it is.
        """
        policy, rule = before.policy, authority.policies[before.id]
        if not policy.enabled or not policy.on or not (policy.rows or policy.mask):
            return False
        if not allowed(
            authority, authority.caller(identity, metalake.id), Op.ALTER_POLICY, authority.objects[rule.id]
        ):
            return False
        doubting = doubts(authority, rule)
        if not doubting:
            return False
        try:
            self._may_restrict(identity, authority, policy)
        except HeadgateError:
            return False
        edit = Edit("renewed", policy.name, before, policy)
        supposed = self.hypothetical(authority, metalake, [edit], identity)
        if not doubts(supposed, supposed.policies[rule.id]) < doubting:
            return False
        who, now = person(supposed, supposed.caller(identity, metalake.id)), dt.datetime.now(dt.UTC)
        for table in tables_below(supposed, self.target(supposed, policy)):
            shape = self.shapes.of(supposed, table)
            if shape is not None and probes(
                Side(rules_of(supposed, table, shape), who), frozenset({rule.id}), now
            ):
                return False
        return True

    def hypothetical(
        self, authority: Authority, metalake: Node, edits: Iterable[Edit], identity: Identity
    ) -> Authority:
        """The authority as it would be had this identity made these edits; new policies have ids below zero."""
        author = authority.caller(identity, metalake.id).member
        changes: list[Journaled] = []
        for number, edit in enumerate(edits, 1):
            id = edit.id or -number
            before = None if edit.id is None else on_of(authority, edit.id)
            if before is not None:
                changes.append(LabelSet(id, before.id, 0, None, False))
            if edit.after is None:
                changes.append(PolicySet(id, None))
                continue
            if edit.id is None:
                changes.append(ObjectPut(id, metalake.id, ObjectType.POLICY, edit.name))
                changes.append(OwnerSet(id, author))
            document = kept.document_of({"content": content_of(edit.after)})
            before_it = authority.policies.get(id)
            others = set(() if before_it is None else before_it.authors) - {identity.user}
            authors = (*sorted(others), identity.user)
            claimed = tuple(sorted(identity.groups)) if identity.groups_known else None
            changes.append(
                PolicySet(id, document, edit.after.enabled, authors, claimed, authority.revision + 1)
            )
            changes.append(LabelSet(id, self.target(authority, edit.after).id, 0, None, True))
        return authority.applied(changes, authority.revision)

    def target(self, authority: Authority, policy: Policy) -> Node:
        """The object that a policy is on."""
        found = authority.find(ref_of(policy.on))
        if found is None:
            raise _no_target(policy)
        return found

    # -- checking -------------------------------------------------------------------------------------------------

    def check(self, authority: Authority, metalake: Node, edits: Sequence[Edit], identity: Identity) -> None:
        """Refuse policies that could not be evaluated, or overrule others: on any table below, as it is now."""
        enabled = [
            msgspec.structs.replace(e, after=_enabled(e.after)) if e.after is not None else e for e in edits
        ]
        supposed = self.hypothetical(authority, metalake, enabled, identity)
        attributes = {
            name for m in authority.members.values() if m.metalake == metalake.id for name in m.attributes
        }
        for number, edit in enumerate(enabled, 1):
            if edit.after is None:
                continue
            check_words(edit.after, known_tags(authority, metalake.id), attributes)
            check_people(authority, metalake, edit.after)
            target = self.target(authority, edit.after)
            for table in tables_below(supposed, target):
                self._check_seen(authority, supposed, table, edit.id or -number, identity)
            if target.type is ObjectType.TABLE:
                self._check_names(authority, target, edit.after, identity)
            for table in tables_below(supposed, target):
                self._check_table(authority, supposed, table, edit.id or -number, edit.after, identity)

    def _check_seen(
        self, authority: Authority, supposed: Authority, table: Node, id: int, identity: Identity
    ) -> None:
        """Refuse masks and row filters on columns that their author does not see.

        INVARIANT: asked before anything is bound, so that neither words nor refusals tell what type a hidden column has.
        """
        shape = self.shapes.of(supposed, table)
        clauses = () if shape is None else rules_of(supposed, table, shape).clauses
        mine = [clause for clause in clauses if clause.id == id]
        if shape is None or not mine:
            return
        lens = seen_by_author(authority, identity, table, shape)
        hidden = frozenset(shape.schema.by_id) if lens is None else lens.hidden
        if hidden and any(clause.uses_any_of(hidden) for clause in mine):
            seen = allowed(supposed, supposed.caller(identity, table.metalake), Op.LOAD_TABLE, table)
            raise unseen(supposed, table, named=seen)

    def _check_names(self, authority: Authority, table: Node, policy: Policy, identity: Identity) -> None:
        """Refuse names that the table does not have, as far as its author sees its columns.

        INVARIANT: only columns that its author sees are named to them; whom others deny the table is told of none.
        """
        shape = self.shapes.of(authority, table)
        lens = None if shape is None else seen_by_author(authority, identity, table, shape)
        if shape is None or lens is None:
            return
        seen = lens.shown(shape.schema)
        for path in sorted(ready(policy).named):
            if shape.ids(path) == ():
                try:
                    resolve(path, seen, {})
                except LanguageError as error:
                    raise wrong_policy(policy, error.message, error.fix) from None

    def _check_table(
        self,
        authority: Authority,
        supposed: Authority,
        table: Node,
        id: int,
        policy: Policy,
        identity: Identity,
    ) -> None:
        shape = self.shapes.of(supposed, table)
        clauses = () if shape is None else rules_of(supposed, table, shape).clauses
        caller = supposed.caller(identity, table.metalake)
        known = allowed(supposed, caller, Op.LOAD_TABLE, table)
        where = f"table '{supposed.ref(table).full_name}'" if known else "a table below what it is on"
        # INVARIANT: whether a policy fits a table tells its columns and their types: only those are told who may load the table,
        # or may ask what others see. For everybody else it denies its readers, as on a table that comes later.
        judged = known or allowed(supposed, caller, Op.ASK, supposed.objects[table.metalake])
        for clause in clauses:
            problem = problem_of(clause) if judged and clause.id == id else None
            if problem is not None and shape is not None:
                lens = seen_by_author(authority, identity, table, shape) if known else None
                if lens is None or not lens.whole:
                    # What is wrong may tell names and types of columns that its author does not see.
                    problem = "you see only a part of its columns, or none; ask somebody who sees all of them"
                raise wrong_policy(policy, f"cannot be evaluated on {where}", problem)
        for upper, lower in unlifted(clauses):
            if id in (upper.id, lower.id):
                other = lower if upper.id == id else upper
                node = supposed.objects.get(other.id)
                seen = node is not None and allowed(supposed, caller, Op.LOAD_POLICY, node)
                named = f"policy '{clip(other.name)}'" if seen else "another policy"
                verb = "would overrule" if upper.id == id else "would yield to"
                raise Forbidden(
                    f"policy '{clip(policy.name)}' {verb} the mask of {named} on {where}",
                    hint="a mask yields only to a policy whose owner and writer may both change the one that yields",
                    about=ObjectType.POLICY,
                )

    # -- writing --------------------------------------------------------------------------------------------------

    def compared(
        self, identity: Identity, metalake: ObjectRef, files: PolicyFiles, *, at_least: int = 0
    ) -> Comparison:
        """What documents say and would change, for somebody who may make policies of them and see those they are compared with."""
        authority = self.kernel.authority(at_least)
        top = self._top(identity, metalake, authority)
        wanted = self.read(top, files)
        self._may_compare(identity, authority, top, wanted, whole=files.whole)
        edits = self.edits(authority, top, wanted, identity, whole=files.whole)
        return Comparison(authority, top, wanted, edits)

    def _top(self, identity: Identity, metalake: ObjectRef, authority: Authority) -> Node:
        """The metalake, for somebody who may make policies in it or change one that is there.

        INVARIANT: asked before anything is read or looked up, so the answer tells others nothing but that they may not.
        """
        node = self.kernel.permit(identity, Op.LOAD_METALAKE, metalake, at=authority).node
        caller = authority.caller(identity, node.id)
        mine = authority.children_of(node.id, ObjectType.POLICY)
        if any(allowed(authority, caller, Op.ALTER_POLICY, policy) for policy in mine):
            return node
        return self.kernel.permit(identity, Op.CREATE_POLICY, metalake, at=authority).node

    def _may_compare(
        self, identity: Identity, authority: Authority, top: Node, wanted: Iterable[Policy], *, whole: bool
    ) -> None:
        """Refuse, before anything is compared, what is about policies that the caller may not see."""
        caller = authority.caller(identity, top.id)
        named = {policy.name for policy in wanted}
        for policy in authority.children_of(top.id, ObjectType.POLICY):
            if policy.name in named or (whole and policy.id in authority.policies):
                if allowed(authority, caller, Op.LOAD_POLICY, policy):
                    continue
                what = "the documents name" if policy.name in named else "there are"
                raise Forbidden(
                    f"{what} policies that User '{clip(identity.user)}' may not see",
                    hint="send the policies that are yours, and not as the whole",
                    about=ObjectType.POLICY,
                )

    def write(
        self,
        identity: Identity,
        metalake: ObjectRef,
        authority: Authority,
        edits: Sequence[Edit],
        *,
        last: Callable[[], None] | None = None,
    ) -> None:
        """Make edits, each under the permit it takes, in one transaction; `last` may still refuse what is allowed."""
        if not edits:
            return
        permits = [self._permit(identity, metalake, authority, edit) for edit in edits]
        top = authority.find(metalake)
        assert top is not None
        for edit in edits:
            if edit.after is not None:
                self._may_restrict(identity, authority, edit.after)
        self.check(authority, top, edits, identity)
        with self.kernel.change(*permits, last=last) as tx:
            now = self.kernel.authority()
            for edit, permit in zip(edits, permits, strict=True):
                if edit.after is not None:
                    self._may_restrict(identity, now, edit.after)
                    take(tx, now, identity, top.id, ready(edit.after).keys, edit.id)
                self._make(tx, now, permit, edit)

    def _permit(self, identity: Identity, metalake: ObjectRef, authority: Authority, edit: Edit) -> Permit:
        if edit.kind == "created":
            return self.kernel.permit(identity, Op.CREATE_POLICY, metalake, at=authority)
        policy = ObjectRef(metalake.metalake, ObjectType.POLICY, (edit.name,))
        op = Op.DROP_POLICY if edit.after is None else Op.ALTER_POLICY
        return self.kernel.permit(identity, op, policy, at=authority)

    def _may_restrict(self, identity: Identity, authority: Authority, policy: Policy) -> None:
        """Who puts a policy on an object must see the object, and own it, something above it, or hold APPLY_POLICY."""
        ref = ref_of(policy.on)
        known = as_known(self.kernel.finding(authority, identity, LOADS[ref.type], ref))
        if known.hidden is not None:
            raise _no_target(policy) if known.holds else Refused(known)
        try:
            self.kernel.demand(authority, identity, LOADS[ref.type], ref)
        except NotFound:
            # Only who would see it if it were there is told that it is not.
            self.target(authority, policy)
            raise
        if examine(authority, identity, Privilege.APPLY_POLICY, ref).allowed:
            return
        if not examine(authority, identity, Op.SET_OWNER, ref).allowed:
            raise Forbidden(
                f"User '{clip(identity.user)}' may not put policies on {ref.type} '{clip(ref.full_name)}'",
                hint="own it or what is above it, or hold apply_policy on the metalake",
                about=ref.type,
            )

    def _make(self, tx: Write, authority: Authority, permit: Permit, edit: Edit) -> None:
        policy = edit.after
        if policy is None:
            assert edit.before is not None
            self.remove(tx, authority, objects.present(tx, edit.before.id))
            return
        target = self.target(authority, policy)
        body = {"policyType": OWN, "enabled": policy.enabled, "content": content_of(policy)}
        claimed = permit.identity.groups if permit.identity.groups_known else None
        on = authority.ref(target).full_name
        if edit.before is None:
            checked_name(policy.name, "policy")
            record = created(tx, permit, ObjectType.POLICY, policy.name, comment=policy.comment, body=body)
            labels.put(tx, record.id, target.id, 0, None)
            kept.say(tx, record, on, "create", claimed)
            return
        before = objects.present(tx, edit.before.id)
        objects.alter(tx, before, comment=policy.comment or "", body=body)
        was = on_of(authority, before.id)
        if was is not None and was.id != target.id:
            labels.take(tx, before.id, was.id, 0)
        if was is None or was.id != target.id:
            labels.put(tx, before.id, target.id, 0, None)
        action = kept.RENEWED if edit.kind == "renewed" else "change"
        kept.say(tx, objects.present(tx, before.id), on, action, claimed)

    # -- one at a time --------------------------------------------------------------------------------------------

    def define(self, permit: Permit, policy: Policy) -> ObjectRecord:
        """Add a policy to the metalake of a permit."""
        if permit.authority.child(permit.node.id, ObjectType.POLICY, policy.name) is not None:
            raise AlreadyExists(f"policy '{clip(policy.name)}' already exists", about=ObjectType.POLICY)
        self.read_on(permit.node, policy)
        edit = Edit("created", policy.name, None, policy)
        self.write(permit.identity, permit.ref, permit.authority, [edit])
        return self._record(ObjectRef(permit.ref.metalake, ObjectType.POLICY, (policy.name,)))

    def redefine(
        self, permit: Permit, name: str | None, comment: str | None, content: Content | None
    ) -> ObjectRecord:
        """Change what a policy says, its comment and its name."""
        with self.kernel.store.read() as read:
            record = objects.present(read, permit.node.id)
        before = self._stored(permit.authority, record)
        given = {**content_of(before.policy), "on": written(before.policy.on)} if content is None else content
        after = self.sent(
            name or record.name, given, record.body["enabled"], record.comment if comment is None else comment
        )
        top = permit.authority.objects[permit.node.metalake]
        self.read_on(top, after)
        metalake = ObjectRef(permit.ref.metalake, ObjectType.METALAKE)
        rewritten = replace(after, name=record.name)
        if rewritten != before.policy:
            edit = Edit("changed", record.name, before, rewritten)
            self.write(permit.identity, metalake, permit.authority, [edit])
        elif content is not None and self._renews(permit.authority, top, before, permit.identity):
            edit = Edit("renewed", record.name, before, rewritten)
            self.write(permit.identity, metalake, permit.authority, [edit])
        if after.name != record.name:
            with self.kernel.change(permit) as tx:
                objects.alter(tx, objects.present(tx, record.id), name=checked_name(after.name, "policy"))
                self._say(tx, record.id, "rename")
        return self._record(ObjectRef(permit.ref.metalake, ObjectType.POLICY, (after.name,)))

    def enable(self, permit: Permit, enabled: bool) -> None:
        """Enable or disable a policy."""
        with self.kernel.change(permit) as tx:
            before = objects.present(tx, permit.node.id)
            authority = self.kernel.authority()
            if enabled and on_of(authority, before.id) is not None:
                self._may_restrict(permit.identity, authority, self._stored(authority, before).policy)
            if before.body["enabled"] != enabled:
                objects.alter(tx, before, body={**before.body, "enabled": enabled})
                self._say(tx, before.id, "enable" if enabled else "disable")

    def drop(self, permit: Permit) -> ObjectRecord:
        with self.kernel.change(permit) as tx:
            before = objects.present(tx, permit.node.id)
            self.remove(tx, self.kernel.authority(), before)
            return before

    def sent(self, name: str, content: Mapping[str, Any], enabled: bool, comment: str | None) -> Policy:
        """The policy that somebody sent as JSON."""
        try:
            return read_content(name, content, enabled, comment)
        except LanguageError as error:
            raise IllegalArgument(f"policy '{clip(name)}': {error.message}", hint=error.fix or None) from None

    def with_place(self, authority: Authority, record: ObjectRecord) -> ObjectRecord:
        """A record whose content says as well what the policy is on now."""
        on = on_of(authority, record.id)
        content = dict(record.body["content"])
        if on is not None:
            content = {"on": written(spelled(authority.ref(on))), **content}
        return msgspec.structs.replace(record, body={**record.body, "content": content})

    def _say(self, tx: Write, id: int, action: str) -> None:
        authority = self.kernel.authority()
        on = on_of(authority, id)
        kept.say(tx, objects.present(tx, id), None if on is None else authority.ref(on).full_name, action)

    def _record(self, ref: ObjectRef) -> ObjectRecord:
        node = self.kernel.authority().find(ref)
        if node is None:
            raise NotFound(f"policy '{clip(ref.name)}' does not exist", about=ObjectType.POLICY)
        with self.kernel.store.read() as read:
            return objects.present(read, node.id)

    def remove(self, tx: Write, authority: Authority, record: ObjectRecord) -> None:
        """Drop a policy and keep what it said."""
        on = on_of(authority, record.id)
        kept.silence(tx, record, None if on is None else authority.ref(on).full_name)
        objects.drop(tx, record.id)


def ref_of(on: tuple[str, ...]) -> ObjectRef:
    """The object that the `on` of a policy names."""
    return ObjectRef(on[0], _TYPES[len(on) - 1], on[1:])


def spelled(ref: ObjectRef) -> tuple[str, ...]:
    """The `on` that names an object."""
    return (ref.metalake, *ref.path)


def written(on: tuple[str, ...]) -> str:
    """An `on` as documents write it."""
    return ".".join(part(name) for name in on)


def _named(record: ObjectRecord, on: tuple[str, ...]) -> Policy:
    content: Content = record.body["content"]
    policy = trusted(content, record.name, on)
    return replace(policy, enabled=record.body["enabled"], comment=record.comment or None)


def _enabled(policy: Policy) -> Policy:
    return replace(policy, enabled=True)


def _no_target(policy: Policy) -> IllegalArgument:
    return wrong_policy(
        policy, f"is on {'.'.join(policy.on)}, which does not exist", "name an object that is there"
    )
