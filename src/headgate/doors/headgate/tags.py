"""The tags of a table and of all its columns in one answer: ``/api/headgate/tags``."""

from typing import Any

from headgate.decide import Op
from headgate.doors.headgate.lenses import table_of
from headgate.doors.routing import DoorCall, Routes

routes = Routes("/api/headgate")


@routes.on("GET", "/tags", Op.LOAD_TABLE, table_of, query=("metalake", "table"))
def tags_of_table(call: DoorCall) -> Any:
    """List the tags of a table, its own and inherited ones, and those of its columns, as far as the caller may see them."""
    tags = call.steward.tags
    return {
        "code": 0,
        "tags": [
            {"name": one.label.name, "value": one.value, "inherited": one.inherited}
            for one in tags.of(call.permit)
        ],
        "columns": {
            column: [{"name": name, "value": value} for name, value in on_it]
            for column, on_it in tags.of_columns(call.permit).items()
        },
    }
