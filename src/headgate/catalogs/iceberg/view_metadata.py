"""View metadata: made from a create request, and taken from one version to the next by the updates of a commit."""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Final

from headgate.catalogs.iceberg import schema as schemas
from headgate.catalogs.iceberg import validity
from headgate.catalogs.iceberg.table_metadata import LAST_ADDED, find, now_ms
from headgate.catalogs.iceberg.validity import entries, number, text, texts
from headgate.model.errors import Conflict, IllegalArgument
from headgate.model.objects import clip

Json = dict[str, Any]

_UNREADABLE: Final = (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)

VERSION_HISTORY: Final = 10
"""How many versions a view keeps, unless its property version.history.num-entries says otherwise."""


def create(location: str, definition: Json, id: uuid.UUID) -> Json:
    """The first metadata of a view that a create request defines."""
    version = definition.get("view-version")
    if not isinstance(version, dict):
        raise IllegalArgument("the view has no view-version")
    base: Json = {
        "view-uuid": str(id),
        "format-version": 1,
        "location": location,
        "properties": {},
        "schemas": [],
        "versions": [],
        "version-log": [],
    }
    return applied(
        base,
        [
            {"action": "set-properties", "updates": definition.get("properties") or {}},
            {"action": "add-schema", "schema": definition.get("schema")},
            {"action": "add-view-version", "view-version": {**version, "schema-id": LAST_ADDED}},
            {"action": "set-current-view-version", "view-version-id": LAST_ADDED},
        ],
    )


def checked(document: Json) -> None:
    """Refuse a document that is not the metadata of a view."""
    validity.plain(document)
    try:
        uuid.UUID(document["view-uuid"])
        if document["format-version"] != 1:
            raise IllegalArgument("Unsupported view format version")
        for schema in document["schemas"]:
            _checked_schema(schema)
        current = find(document["versions"], "version-id", document["current-version-id"])
        find(document["schemas"], "schema-id", current["schema-id"])
        for version in document["versions"]:
            _checked_version(version)
        if not isinstance(document["version-log"], list):
            raise TypeError("version-log")
        texts(document.get("properties", {}))
    except _UNREADABLE:
        # INVARIANT: never what stands there: a document that is only claimed to be one may hold anything.
        raise IllegalArgument("the view's metadata cannot be read: a part of it is missing") from None


def _checked_schema(sent: Any) -> Json:
    schema = schemas.checked(sent)
    validity.schema(schema, 3)
    return schema


def _checked_version(version: Any) -> None:
    validity.entry(version, "a view version")
    namespace = version["default-namespace"]
    if not isinstance(namespace, list) or not all(isinstance(level, str) for level in namespace):
        raise IllegalArgument("default-namespace is a list of names")
    for key in ("version-id", "timestamp-ms"):
        if version.get(key) is not None:
            number(version[key], f"{key} of a view version")
    if version.get("default-catalog") is not None:
        text(version["default-catalog"], "default-catalog of a view version")
    if version.get("summary") is not None:
        texts(version["summary"], "the summary of a view version")
    for representation in entries(version["representations"], "representations"):
        text(representation.get("type"), "the type of a representation")
        if representation["type"] == "sql":
            text(representation.get("sql"), "the SQL of a representation")
            text(representation.get("dialect"), "the dialect of a representation")


def applied(base: Json, updates: Sequence[Json]) -> Json:
    """The metadata after the updates of a commit. `base` is left as it is."""
    validity.plain(updates)
    draft = _ViewDraft(base)
    for update in updates:
        draft.apply(update)
    return draft.done()


def require(view: Json | None, requirements: Iterable[Json]) -> None:
    """Make sure that the view still is what the client believes; None is a view that does not exist."""
    for requirement in requirements:
        match requirement.get("type"):
            case "assert-create":
                if view is not None:
                    raise Conflict("Requirement failed: view already exists", about="commit")
            case "assert-view-uuid":
                actual = None if view is None else view["view-uuid"].lower()
                if str(requirement.get("uuid")).lower() != actual:
                    raise Conflict("Requirement failed: view UUID does not match", about="commit")
            case other:
                raise IllegalArgument(f"requirement '{str(other)[:40]}' is not known")


class _ViewDraft:
    """Metadata while the updates of one commit are applied to it."""

    def __init__(self, base: Json) -> None:
        self.view = dict(base)
        self.added: dict[str, int] = {}
        self.added_versions: set[int] = set()

    def apply(self, update: Json) -> None:
        try:
            self._apply(update)
        except _UNREADABLE as error:
            raise IllegalArgument(
                f"update '{str(update.get('action'))[:40]}' cannot be read: {clip(str(error), 200)}"
            ) from None

    def _apply(self, update: Json) -> None:
        match update.get("action"):
            case "assign-uuid":
                self.view["view-uuid"] = str(uuid.UUID(update["uuid"]))
            case "upgrade-format-version":
                if update["format-version"] != 1:
                    raise IllegalArgument(
                        f"Unsupported view format version: {clip(str(update['format-version']), 20)}",
                        hint="use 1",
                    )
            case "set-location":
                self.view["location"] = text(update["location"], "location").rstrip("/")
            case "set-properties":
                self.view["properties"] = {**self.view["properties"], **texts(update["updates"])}
            case "remove-properties":
                gone = set(update["removals"])
                self.view["properties"] = {k: v for k, v in self.view["properties"].items() if k not in gone}
            case "add-schema":
                self._add_schema(_checked_schema(update["schema"]))
            case "add-view-version":
                self._add_version(update["view-version"])
            case "set-current-view-version":
                self._set_current(update["view-version-id"])
            case other:
                raise IllegalArgument(f"update '{str(other)[:40]}' is not known for a view")

    def _add_schema(self, schema: Json) -> None:
        known = self.view["schemas"]
        alike = next((s["schema-id"] for s in known if schemas.same(s, schema)), None)
        if alike is None:
            alike = max((s["schema-id"] for s in known), default=-1) + 1
            self.view["schemas"] = [*known, {**schema, "schema-id": alike}]
        self.added["schema"] = alike

    def _add_version(self, version: Json) -> None:
        _checked_version(version)
        schema = version["schema-id"]
        if schema == LAST_ADDED:
            if "schema" not in self.added:
                raise IllegalArgument("Cannot set last added schema: no schema has been added")
            schema = self.added["schema"]
        find(self.view["schemas"], "schema-id", schema)
        dialects = [r["dialect"].lower() for r in version["representations"] if r.get("type") == "sql"]
        twice = next((dialect for dialect in dialects if dialects.count(dialect) > 1), None)
        if twice is not None:
            raise IllegalArgument(f"Invalid view version: Cannot add multiple queries for dialect {twice}")
        version = {**version, "schema-id": schema}
        known = self.view["versions"]
        bare = {k: v for k, v in version.items() if k not in ("version-id", "timestamp-ms")}
        alike = next(
            (
                v["version-id"]
                for v in known
                if {key: v[key] for key in v if key not in ("version-id", "timestamp-ms")} == bare
            ),
            None,
        )
        if alike is None:
            alike = max((v["version-id"] for v in known), default=0) + 1
            stamped = {"timestamp-ms": now_ms(), **version, "version-id": alike}
            self._keep_dialects(stamped)
            self.view["versions"] = [*known, stamped]
            self.added_versions.add(alike)
        self.added["version"] = alike

    def _keep_dialects(self, version: Json) -> None:
        """A new version may not silently lose a dialect that engines read, unless the view allows it."""
        if self.view["properties"].get("replace.drop-dialect.allowed", "false") == "true":
            return
        current = self.view.get("current-version-id")
        if current is None:
            return
        before = find(self.view["versions"], "version-id", current)
        had = {r["dialect"].lower() for r in before["representations"] if r.get("type") == "sql"}
        has = {r["dialect"].lower() for r in version["representations"] if r.get("type") == "sql"}
        if had - has:
            raise IllegalArgument(
                f"Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false): "
                f"previous dialects {sorted(had)}, new dialects {sorted(has)}"
            )

    def _set_current(self, id: int) -> None:
        if id == LAST_ADDED:
            if "version" not in self.added:
                raise IllegalArgument("Cannot set last added version: no version has been added")
            id = self.added["version"]
        version = find(self.view["versions"], "version-id", id)
        if self.view.get("current-version-id") == id:
            return
        at = version["timestamp-ms"] if id in self.added_versions else now_ms()
        self.view["current-version-id"] = id
        self.view["version-log"] = [*self.view["version-log"], {"timestamp-ms": at, "version-id": id}]

    def done(self) -> Json:
        """Forget the oldest versions beyond what the view keeps."""
        view = self.view
        if "current-version-id" not in view:
            raise IllegalArgument(
                "the view would have no current version", hint="add one and make it current"
            )
        text = view["properties"].get("version.history.num-entries", str(VERSION_HISTORY))
        if not text.isdigit() or int(text) < 1:
            raise IllegalArgument(f"version.history.num-entries must be positive but was {text[:20]}")
        keep = max(int(text), len(self.added_versions))
        if len(view["versions"]) > keep:
            newest = sorted((v["version-id"] for v in view["versions"]), reverse=True)[:keep]
            kept = (
                {*newest[: keep - 1], view["current-version-id"]}
                if view["current-version-id"] not in newest
                else set(newest)
            )
            view["versions"] = [v for v in view["versions"] if v["version-id"] in kept]
            log = view["version-log"]
            last_gone = max((i for i, e in enumerate(log) if e["version-id"] not in kept), default=-1)
            view["version-log"] = log[last_gone + 1 :]
        return view
