"""The same lake as policies of Cedar and of Casbin, and the same question put to each.

Neither has a notion of "use of the catalog and of the schema and one of these", so a question is what their users would
make of it: a request for each privilege, joined by the program that asks.
"""

import json
from collections.abc import Callable

import casbin
import cedarpy

from bench.lake import METALAKE, Lake
from headgate.model.privileges import Privilege

Ask = Callable[[str, int], bool]
"""Whether the user may load the table of this number."""

PRIVILEGES = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE")


def _privileges(lake: Lake) -> list[tuple[int, int, str, str]]:
    """Role, object, privilege, effect."""
    return [
        (role, object, name, effect)
        for role, object, allow, deny in lake.grants()
        for effect, mask in (("allow", allow), ("deny", deny))
        for name in PRIVILEGES
        if mask & Privilege[name].bit
    ]


def _parent(lake: Lake) -> dict[int, int]:
    return {id: parent for id, parent, type, _ in lake.objects() if parent and type.value != "role"}


def _roles_of(lake: Lake) -> dict[int, list[int]]:
    """User → roles, groups worked out."""
    held: dict[int, list[int]] = {}
    for role, principal in set(lake.held()):
        held.setdefault(principal, []).append(role)
    found = {lake.user(n): list(held.get(lake.user(n), [])) for n in range(lake.sizes.users)}
    for group, user in lake.members():
        found[user].extend(held.get(group, []))
    return found


def _joined(has: Callable[[str, int, str], bool]) -> Ask:
    return lambda user, table: (
        has(user, table, "USE_CATALOG")
        and has(user, table, "USE_SCHEMA")
        and (has(user, table, "SELECT_TABLE") or has(user, table, "MODIFY_TABLE"))
    )


def cedar(lake: Lake) -> Ask:
    policies = "\n".join(
        f'{"permit" if effect == "allow" else "forbid"}(principal in Role::"{role}", '
        f'action == Action::"{name}", resource in Object::"{object}");'
        for role, object, name, effect in _privileges(lake)
    )
    entities = [
        {
            "uid": {"type": "Object", "id": str(id)},
            "attrs": {},
            "parents": [{"type": "Object", "id": str(up)}],
        }
        for id, up in _parent(lake).items()
    ]
    entities += [{"uid": {"type": "Object", "id": str(METALAKE)}, "attrs": {}, "parents": []}]
    entities += [
        {
            "uid": {"type": "User", "id": f"u{user - 1}"},
            "attrs": {},
            "parents": [{"type": "Role", "id": str(role)} for role in sorted(set(roles))],
        }
        for user, roles in _roles_of(lake).items()
    ]
    known = cedarpy.PolicySet.from_str(policies)
    graph = cedarpy.Entities.from_json_str(json.dumps(entities))

    def has(user: str, table: int, privilege: str) -> bool:
        request = {
            "principal": f'User::"{user}"',
            "action": f'Action::"{privilege}"',
            "resource": f'Object::"{lake.table(table)}"',
            "context": {},
        }
        return bool(cedarpy.is_authorized(request, known, graph).allowed)

    return _joined(has)


_MODEL = """
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act, eft
[role_definition]
g = _, _
g2 = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.act == p.act && g(r.sub, p.sub) && g2(r.obj, p.obj)
"""


def casbin_(lake: Lake) -> Ask:
    model = casbin.Model()
    model.load_model_from_text(_MODEL)
    enforcer = casbin.Enforcer(model)
    enforcer.add_policies(
        [[f"r{role}", str(object), name, effect] for role, object, name, effect in _privileges(lake)]
    )
    enforcer.add_grouping_policies(
        [
            [f"u{user - 1}", f"r{role}"]
            for user, roles in _roles_of(lake).items()
            for role in sorted(set(roles))
        ]
    )
    enforcer.add_named_grouping_policies("g2", [[str(id), str(up)] for id, up in _parent(lake).items()])
    return _joined(lambda user, table, name: bool(enforcer.enforce(user, str(lake.table(table)), name)))
