"""Views as Gravitino's clients see them; what a view is stands in its Iceberg document, whoever wrote it."""

import msgspec

from headgate.catalogs.iceberg.describing import view_descriptions
from headgate.catalogs.iceberg.describing.view_descriptions import MAY_LOSE_DIALECTS
from headgate.decide import Node, Op, visible
from headgate.model.objects import ObjectType
from headgate.model.principals import Audit
from headgate.model.views import ViewBody
from headgate.steward.acts import act
from headgate.steward.metadata.documents import Commit, Documents, Json
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import objects


class KeptView(msgspec.Struct, frozen=True):
    """A view as its document has it, with its makers as Headgate knows them."""

    name: str
    comment: str | None
    properties: dict[str, str]
    body: ViewBody
    audit: Audit


class Views:
    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.kernel = documents.kernel

    @act(Op.LIST_VIEWS)
    def nodes(self, permit: Permit) -> list[Node]:
        """Those in the schema that the caller may see, by name."""
        authority = self.documents.tables.catalogs.seen(permit)
        every = authority.children_of(permit.node.id, ObjectType.VIEW)
        seen = visible(authority, permit.caller, Op.LIST_VIEWS, every)
        return sorted(seen, key=lambda node: node.name)

    @act(Op.CREATE_VIEW)
    def define(
        self, permit: Permit, name: str, comment: str | None, properties: dict[str, str], view: ViewBody
    ) -> KeptView:
        """Make a view in the permit's schema; who makes it becomes its owner."""
        view.checked()
        definition = view_descriptions.definition(view, comment, properties)
        made = self.documents.create(permit, ObjectType.VIEW, name, definition)
        with self.kernel.store.read() as read:
            record = objects.find(read, permit.node.id, ObjectType.VIEW, name)
            assert record is not None, "it was just made"
        return _parse_view(name, made.metadata, record.audit)

    @act(Op.LOAD_VIEW)
    def load(self, permit: Permit) -> KeptView:
        with self.kernel.store.read() as read:
            record = objects.present(read, permit.node.id)
        return _parse_view(record.name, self.documents.load(permit).metadata, record.audit)

    @act(Op.ALTER_VIEW)
    def redefine(self, permit: Permit, updates: Updates, view: ViewBody | None) -> KeptView:
        """Rename a view, change its properties, or replace what it is."""
        if view is not None:
            view.checked()
        changes = _updates(self.documents.load(permit).metadata, updates, view)
        document = self.documents.commit(
            [Commit(permit, None, [], changes)], name=updates.name or permit.ref.name
        )[0]
        with self.kernel.store.read() as read:
            record = objects.present(read, permit.node.id)
        return _parse_view(record.name, document.metadata, record.audit)

    @act(Op.DROP_VIEW)
    def drop(self, permit: Permit) -> None:
        self.documents.drop_view(permit)


def _updates(document: Json, updates: Updates, view: ViewBody | None) -> list[Json]:
    properties = dict(updates.properties)
    if updates.comment is not None:
        properties["comment"] = updates.comment or None
    put = {key: value for key, value in properties.items() if value is not None}
    gone = [key for key, value in properties.items() if value is None]
    changes: list[Json] = []
    if view is not None:
        # Gravitino's clients replace a view as a whole, its dialects included.
        kept = document.get("properties", {}).get(MAY_LOSE_DIALECTS)
        changes.append({"action": "set-properties", "updates": {MAY_LOSE_DIALECTS: "true"}})
        changes += view_descriptions.replacement(view)
        if kept is None:
            changes.append({"action": "remove-properties", "removals": [MAY_LOSE_DIALECTS]})
        else:
            changes.append({"action": "set-properties", "updates": {MAY_LOSE_DIALECTS: kept}})
    if put:
        changes.append({"action": "set-properties", "updates": put})
    if gone:
        changes.append({"action": "remove-properties", "removals": gone})
    return changes


def _parse_view(name: str, document: Json, audit: Audit) -> KeptView:
    body, comment, properties = view_descriptions.describe_view(document)
    return KeptView(name, comment, properties, body, audit)
