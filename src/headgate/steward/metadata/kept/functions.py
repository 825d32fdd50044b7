"""Functions: registered with their definitions, changed definition by definition."""

from typing import Any

from headgate.decide import Op
from headgate.model import functions as f
from headgate.model.objects import ObjectType
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.metadata.catalogs import Catalogs
from headgate.steward.metadata.kept.leaves import Leaves
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates


class Functions(Leaves):
    def __init__(self, catalogs: Catalogs) -> None:
        super().__init__(catalogs, ObjectType.FUNCTION, Op.LIST_FUNCTIONS)

    @act(Op.REGISTER_FUNCTION)
    def register(
        self,
        permit: Permit,
        name: str,
        comment: str | None,
        type: str,
        deterministic: bool,
        definitions: tuple[f.Definition, ...],
    ) -> ObjectRecord:
        kind = f.checked_type(type)
        body = {
            "functionType": kind,
            "deterministic": deterministic,
            "definitions": f.stored(f.checked_definitions(kind, definitions)),
        }
        return self.create(permit, name, comment, {}, body)

    @act(Op.ALTER_FUNCTION)
    def redefine(
        self, permit: Permit, updates: Updates, changes: tuple[f.FunctionChange, ...]
    ) -> ObjectRecord:
        """Change comment and definitions, all or nothing. After each change it must still be a function."""

        def after(body: dict[str, Any]) -> dict[str, Any]:
            definitions = f.read(body["definitions"])
            for change in changes:
                definitions = f.checked_definitions(body["functionType"], f.changed(definitions, change))
            return {**body, "definitions": f.stored(definitions)}

        return self.alter(permit, updates, after)
