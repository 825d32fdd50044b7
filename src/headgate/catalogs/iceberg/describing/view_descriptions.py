"""Views as the model describes them: made into updates of Iceberg documents, and told from documents."""

from typing import Any, Final

from pyiceberg.schema import Schema

from headgate.catalogs.iceberg.describing.descriptions import COMMENT, describe_columns, schema_of
from headgate.catalogs.iceberg.table_metadata import LAST_ADDED, find, now_ms
from headgate.model.objects import SCHEMA_SEPARATOR
from headgate.model.views import Representation, ViewBody

Json = dict[str, Any]

MAY_LOSE_DIALECTS: Final = "replace.drop-dialect.allowed"


def definition(view: ViewBody, comment: str | None, properties: dict[str, str]) -> Json:
    """The create request of a view."""
    kept = {**properties, COMMENT: comment} if comment else dict(properties)
    return {"schema": _schema(view), "view-version": _version(view), "properties": kept}


def replacement(view: ViewBody) -> list[Json]:
    """The updates that make a view into this."""
    return [
        {"action": "add-schema", "schema": _schema(view)},
        {"action": "add-view-version", "view-version": {**_version(view), "schema-id": LAST_ADDED}},
        {"action": "set-current-view-version", "view-version-id": LAST_ADDED},
    ]


def describe_view(document: Json) -> tuple[ViewBody, str | None, dict[str, str]]:
    """A view as clients see it, its comment and its properties."""
    version = find(document["versions"], "version-id", document["current-version-id"])
    schema = find(document["schemas"], "schema-id", version["schema-id"])
    properties = dict(document.get("properties", {}))
    comment = properties.pop(COMMENT, None)
    body = ViewBody(
        tuple(
            Representation(one["dialect"], one["sql"])
            for one in version["representations"]
            if one["type"] == "sql"
        ),
        describe_columns(Schema.model_validate(schema)),
        version.get("default-catalog"),
        SCHEMA_SEPARATOR.join(version["default-namespace"]) or None,
    )
    return body, comment, properties


def _schema(view: ViewBody) -> Json:
    dumped: Json = schema_of(view.columns or ()).model_dump(mode="json")
    return dumped


def _version(view: ViewBody) -> Json:
    version: Json = {
        "version-id": 1,
        "schema-id": 0,
        "timestamp-ms": now_ms(),
        "summary": {},
        "representations": [
            {"type": "sql", "sql": one.sql, "dialect": one.dialect} for one in view.representations
        ],
        "default-namespace": view.default_schema.split(SCHEMA_SEPARATOR) if view.default_schema else [],
    }
    return version if view.default_catalog is None else {**version, "default-catalog": view.default_catalog}
