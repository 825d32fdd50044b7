"""Keys of masks: which policies name them, and who must not be shown what they hide.

The same plain text gives the same token wherever the key is the same. Whoever can write plain text under a key and read its
tokens can guess what the key hides elsewhere.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from headgate.decide.authority import Authority, Caller, Node
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
