"""A Hive table as its metastore has it, in one value, whichever metastore that is."""

from typing import Any

import msgspec

from headgate.model.errors import Unsupported
from headgate.model.objects import clip

Json = dict[str, Any]


class HiveColumn(msgspec.Struct, frozen=True):
    """A column or partition key; the type as Hive writes it."""

    name: str
    type: str
    comment: str | None = None


class HiveTable(msgspec.Struct, frozen=True):
    """What a metastore says of a table that is no Iceberg table."""

    name: str
    made: str
    """Tells the table from one that is made again under its name."""
    columns: tuple[HiveColumn, ...] = ()
    keys: tuple[HiveColumn, ...] = ()
    """The columns that partition it; their values stand in the names of folders."""
    location: str | None = None
    table_type: str = "EXTERNAL_TABLE"
    input_format: str = ""
    output_format: str = ""
    serde: str = ""
    serde_parameters: dict[str, str] = {}
    parameters: dict[str, str] = {}
    comment: str | None = None
    buckets: int = 0
    bucket_columns: tuple[str, ...] = ()
    sort_columns: tuple[tuple[str, bool], ...] = ()
    """Names, and whether they ascend."""
    stored: bool = True
    """Whether it says how it is stored at all."""
    version: str = ""
    """What the metastore tells its states apart by."""

    @property
    def is_view(self) -> bool:
        return self.table_type.upper() == "VIRTUAL_VIEW"


class NotIceberg(Unsupported):
    """The table is a Hive table, which nothing reads as an Iceberg table yet."""

    def __init__(self, table: HiveTable) -> None:
        super().__init__(
            f"table '{clip(table.name)}' is a Hive table and cannot be read as an Iceberg table",
            hint="its description is at Gravitino's door; read its files with another client",
        )
        self.table = table
