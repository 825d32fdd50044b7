"""What policies are on: the object of each, and the policies on an object and all that lies below it."""

from collections.abc import Iterator

from headgate.decide.authority import Authority, Node


def on_of(authority: Authority, policy: int) -> Node | None:
    """The object that a policy is on, or None if that is gone."""
    places = authority.kept("places", lambda: _places(authority))
    found = places.get(policy)
    return None if found is None else authority.objects.get(found)


def _places(authority: Authority) -> dict[int, int]:
    return {
        label.label: object
        for object in authority.labels
        for label in authority.labels[object]
        if label.label in authority.policies and not label.field
    }


def policies_below(authority: Authority, node: Node) -> Iterator[int]:
    """The policies on an object and on all that lies below it, enabled or not."""
    for policy in authority.policies:
        on = on_of(authority, policy)
        if on is not None and any(id == node.id for id, _ in on.chain):
            yield policy
