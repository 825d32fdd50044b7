"""Keys of masks: which policies name them, which tables share them, and who must not be shown what they hide.

The same plain text gives the same token wherever the key is the same. Whoever knows plain text under a key, because they
wrote it, and reads its tokens can guess what the key hides elsewhere. So each table has tokens of its own, unless tables
were joined, and who writes a table, or ever wrote it, is shown none of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from headgate.decide.authority import Authority, Caller, KeyPool, Node
from headgate.decide.operations import Op
from headgate.decide.policies.rules import parsed
from headgate.decide.verdict import allowed
from headgate.language.errors import LanguageError
from headgate.model.principals import ActiveRoles, Identity, PrincipalKind


def naming(authority: Authority, metalake: int) -> Mapping[str, tuple[int, ...]]:
    """The policies of a metalake that name each key, oldest first, enabled or not."""
    return authority.kept(("mask keys", metalake), lambda: _naming(authority, metalake))


def _naming(authority: Authority, metalake: int) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = defaultdict(list)
    for id, rule in sorted(authority.policies.items()):
        node = authority.objects.get(id)
        if node is None or node.metalake != metalake:
            continue
        try:
            keys = parsed(rule.document).keys
        except LanguageError:
            # What cannot be read denies every read, and shows no token.
            continue
        for key in keys:
            found[key].append(id)
    return {key: tuple(ids) for key, ids in found.items()}


def pools(authority: Authority, table: Node, names: Iterable[str]) -> dict[str, str]:
    """What names the key of a table, for each of these keys: equal for tables that give the same tokens."""
    found = {}
    for name in sorted(names):
        pool = _joined(authority, table, name)
        found[name] = f"table {table.id}" if pool is None else pool.name
    return found


def fills(authority: Authority, caller: Caller, table: Node, key: str | None) -> bool:
    """Whether somebody may write a table, or ever wrote it, or one that shares its tokens of this key.

    INVARIANT: having written is never undone: neither giving the right away nor another account of the same name brings
    the tokens back.
    """
    pool = None if key is None else _joined(authority, table, key)
    return authority.kept(
        ("fills", caller.identity, table.id if pool is None else pool.name),
        lambda: _fills(authority, caller, frozenset({table.id}) if pool is None else pool.tables),
    )


def _fills(authority: Authority, caller: Caller, tables: Iterable[int]) -> bool:
    return any(
        caller.identity.user in (authority.writers.get(id) or ())
        or writes(authority, caller, authority.objects[id])
        for id in tables
    )


def _joined(authority: Authority, table: Node, key: str) -> KeyPool | None:
    pool = authority.key_pools.get((table.metalake, key))
    return pool if pool is not None and table.id in pool.tables else None


def writes(authority: Authority, caller: Caller, table: Node) -> bool:
    """Whether somebody may put plain text into a table, were nothing of it restricted for them.

    INVARIANT: roles that are held and not active count, and so does every group where the token does not tell any: the
    next request may name the one and bring the other.
    """
    return any(
        allowed(authority, authority.caller(identity, caller.metalake), Op.ALTER_TABLE, table)
        for identity in _as_they_may_come(authority, caller)
    )


def _as_they_may_come(authority: Authority, caller: Caller) -> Iterator[Identity]:
    """The caller with all roles active; without knowing their groups, also in each that the metalake keeps."""
    known = msgspec.structs.replace(caller.identity, active_roles=ActiveRoles())
    yield known
    if known.groups_known:
        return
    for member in authority.members.values():
        if member.metalake == caller.metalake and member.kind is PrincipalKind.GROUP:
            yield msgspec.structs.replace(known, groups=known.groups | {member.name}, groups_known=True)
