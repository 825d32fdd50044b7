"""Keys of masks: which policies name them, and who must not be shown what they hide.

The same plain text gives the same token wherever the key is the same. Whoever can write plain text under a key and read its
tokens can guess what the key hides elsewhere.
"""

from collections import defaultdict
from collections.abc import Mapping

from headgate.decide.authority import Authority, Caller, Node
from headgate.decide.operations import Op
from headgate.decide.rules import parsed
from headgate.decide.verdict import allowed
from headgate.language.errors import LanguageError


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


def is_shared(authority: Authority, table: Node, key: str) -> bool:
    """Whether a key may hide something besides this table: all but one that a single policy on the table itself names."""
    policies = naming(authority, table.metalake).get(key, ())
    on_table = {label.label for label in (authority.labels.get(table.id) or ()) if not label.field}
    return len(policies) != 1 or policies[0] not in on_table


def writes(authority: Authority, caller: Caller, table: Node) -> bool:
    """Whether somebody may put plain text into a table, were nothing of it restricted for them."""
    return allowed(authority, caller, Op.ALTER_TABLE, table)
