"""Views as clients describe them: columns, and one SQL text for each dialect, in the words of Gravitino's wire."""

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip
from headgate.model.tables import TableColumn, checked_depth


class Representation(msgspec.Struct, frozen=True):
    """The text of a view in one dialect."""

    dialect: str
    sql: str
    type: str = "sql"


class ViewBody(msgspec.Struct, frozen=True, rename="camel"):
    """What a view is: replaced as a whole."""

    representations: tuple[Representation, ...]
    columns: tuple[TableColumn, ...] | None = None
    default_catalog: str | None = None
    default_schema: str | None = None

    def checked(self) -> None:
        """Refuse what cannot be a view."""
        if not self.representations:
            raise IllegalArgument("a view needs at least one representation")
        for representation in self.representations:
            if representation.type.lower() != "sql":
                raise IllegalArgument(
                    f"'{clip(representation.type)}' is not a kind of representation", hint="use sql"
                )
            if not representation.dialect.strip() or not representation.sql.strip():
                raise IllegalArgument("a representation needs a dialect and its SQL")
        dialects = [representation.dialect.lower() for representation in self.representations]
        names = [column.name for column in self.columns or ()]
        for what, words in (("dialect", dialects), ("column", names)):
            twice = next((word for word in words if words.count(word) > 1), None)
            if twice is not None:
                raise IllegalArgument(f"the view has the {what} '{clip(twice)}' twice")
        for column in self.columns or ():
            checked_depth(column.type)
