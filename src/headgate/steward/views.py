"""Views: columns, and one SQL text for each dialect."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.model.errors import AlreadyExists, IllegalArgument
from headgate.model.objects import ObjectType, clip
from headgate.model.tables import Column, checked_depth
from headgate.steward.catalogs import Catalogs
from headgate.steward.leaves import Leaves
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import Write, objects
from headgate.store.records import ObjectRecord


class Representation(msgspec.Struct, frozen=True):
    """The text of a view in one dialect."""

    dialect: str
    sql: str
    type: str = "sql"


class ViewBody(msgspec.Struct, frozen=True, rename="camel"):
    """What a view is: replaced as a whole."""

    representations: tuple[Representation, ...]
    columns: tuple[Column, ...] | None = None
    default_catalog: str | None = None
    default_schema: str | None = None

    def checked(self) -> dict[str, Any]:
        """The body as it is kept, or a refusal."""
        if not self.representations:
            raise IllegalArgument("a view needs at least one representation")
        for representation in self.representations:
            if representation.type.lower() != "sql":
                raise IllegalArgument(
                    f"'{clip(representation.type)}' is not a kind of representation", hint="use sql"
                )
            if not representation.dialect.strip() or not representation.sql.strip():
                raise IllegalArgument("a representation needs a dialect and its SQL")
        dialects = [representation.dialect for representation in self.representations]
        names = [column.name for column in self.columns or ()]
        for what, words in (("dialect", dialects), ("column", names)):
            twice = next((word for word in words if words.count(word) > 1), None)
            if twice is not None:
                raise IllegalArgument(f"the view has the {what} '{clip(twice)}' twice")
        for column in self.columns or ():
            checked_depth(column.type)
        kept: dict[str, Any] = msgspec.to_builtins(self)
        return {**kept, "columns": kept["columns"] or []}


class Views(Leaves):
    def __init__(self, catalogs: Catalogs) -> None:
        super().__init__(catalogs, ObjectType.VIEW, Op.LIST_VIEWS)

    def define(
        self, permit: Permit, name: str, comment: str | None, properties: dict[str, str], view: ViewBody
    ) -> ObjectRecord:
        kept = view.checked()

        def body(tx: Write) -> dict[str, Any]:
            # Engines look tables and views up by the same name.
            if objects.find(tx, permit.node.id, ObjectType.TABLE, name) is not None:
                raise AlreadyExists(f"a table '{clip(name)}' already exists", about=ObjectType.VIEW)
            return kept

        return self.create(permit, name, comment, properties, body)

    def redefine(self, permit: Permit, updates: Updates, view: ViewBody | None) -> ObjectRecord:
        """Rename a view, change its properties, or replace what it is."""
        kept = None if view is None else view.checked()
        return self.alter(permit, updates, None if kept is None else lambda body: kept)
