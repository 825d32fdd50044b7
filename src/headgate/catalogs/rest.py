"""Another Iceberg REST catalog, federated: its namespaces, tables and views live there and are governed here."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from headgate.catalogs.iceberg.describing import descriptions
from headgate.catalogs.iceberg.schema import highest_id
from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.interface import Described, Document, Namespace, Staged, TablePlace
from headgate.catalogs.locations import GOVERNED, inside, more_places, normal
from headgate.catalogs.openings import Openings
from headgate.catalogs.outside import pages
from headgate.catalogs.outside.claims import Claims, kept_there, outside_folders, outside_identity
from headgate.catalogs.outside.hidden import check_shown
from headgate.catalogs.rest_client import RestClient, segment
from headgate.model import tables as t
from headgate.model.errors import (
    Damaged,
    HeadgateError,
    NotFound,
    Unsupported,
)
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.store import Store, places
from headgate.store.metadata.sources import server_of

Json = dict[str, Any]

_TRANSACTION: Final = "POST /v1/{prefix}/transactions/commit"


class RestIceberg:
    """A catalog that another server keeps.

    What is changed is changed there at once, so nothing here is staged: the object row follows. Names, documents and
    conflicts are the other server's; who may do what is decided here, before it is asked.
    """

    outside = True
    hive = False

    def __init__(
        self,
        store: Store,
        folder: str,
        properties: dict[str, str],
        openings: Openings,
        warehouse: str | None = None,
    ) -> None:
        self.folder = folder
        self.source = f"{properties.get('uri', '')} {properties.get('warehouse', '')}"
        self.claims = Claims(store, self.source, warehouse)
        self.client = RestClient(properties, openings)
        self.properties = properties
        self.storage = Storage(properties, openings)
        self.allowed = more_places(properties)

    def test(self) -> None:
        self.client.check()

    def close(self) -> None:
        self.client.close()

    # -- schemas ------------------------------------------------------------------------------------------------

    def schemas(self, parent_levels: Namespace) -> list[str]:
        query = {"parent": self.client.parent(parent_levels)} if parent_levels else {}
        found = self._every("/namespaces", "namespaces", ObjectType.SCHEMA, query)
        depth = len(parent_levels) + 1
        if not all(isinstance(levels, list) and all(isinstance(x, str) for x in levels) for levels in found):
            raise Damaged("the catalog's answer holds something else than namespaces")
        return sorted({levels[depth - 1] for levels in found if len(levels) >= depth})

    def schema_exists(self, name: Namespace) -> bool:
        return name[-1] in self.schemas(name[:-1])

    def create_schema(self, name: Namespace, comment: str | None, properties: dict[str, str]) -> None:
        kept = {**properties, "comment": comment} if comment else properties
        body = {"namespace": list(name), "properties": kept}
        self.client.ask("POST", "/namespaces", ObjectType.SCHEMA, body)

    def alter_schema(self, name: Namespace, properties: dict[str, str]) -> None:
        path = f"/namespaces/{self.client.namespace(name)}"
        before = self.client.ask("GET", path, ObjectType.SCHEMA).get("properties") or {}
        body = {
            "removals": sorted(key for key in before if key not in properties and key != "location"),
            "updates": {key: value for key, value in properties.items() if before.get(key) != value},
        }
        self.client.ask("POST", f"{path}/properties", ObjectType.SCHEMA, body)

    def drop_schema(self, name: Namespace, *, cascade: bool) -> None:
        if cascade:
            # INVARIANT: all that lies in it is looked through before any of it is dropped.
            self._check_shown(name)
            for inner in self.schemas(name):
                self.drop_schema((*name, inner), cascade=True)
            for type in (ObjectType.TABLE, ObjectType.VIEW):
                for entry in self.entries(name, type):
                    self.client.ask("DELETE", self._path(TablePlace(name, entry, type=type)), type)
        self.client.ask("DELETE", f"/namespaces/{self.client.namespace(name)}", ObjectType.SCHEMA)

    def _check_shown(self, name: Namespace) -> None:
        """Refuse to empty a schema of what cannot be shown under its name, so that nobody here judged it."""
        inner = self.schemas(name)
        entries = [
            entry for type in (ObjectType.TABLE, ObjectType.VIEW) for entry in self.entries(name, type)
        ]
        check_shown(name, (*inner, *entries))
        for each in inner:
            self._check_shown((*name, each))

    # -- tables as the model describes them ---------------------------------------------------------------------

    def tables(self, schema: Namespace) -> list[str]:
        return self.entries(schema, ObjectType.TABLE)

    def entries(self, schema: Namespace, type: ObjectType) -> list[str]:
        """The names of the tables or views in a schema."""
        kind = f"{type}s"
        found = self._every(
            f"/namespaces/{self.client.namespace(schema)}/{kind}", "identifiers", ObjectType.SCHEMA, {}
        )
        if not all(isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in found):
            raise Damaged("the catalog's answer holds something else than names")
        return sorted(entry["name"] for entry in found)

    def load_table(self, at: TablePlace) -> t.LoadedTable:
        return self.described(at).table

    def described(self, at: TablePlace) -> Described:
        now = self.document(at)
        return Described(descriptions.describe_table(at.name, now.metadata, now.location), now)

    def columns(self, at: TablePlace) -> Document:
        return self.document(at)

    def create_table(self, at: TablePlace, definition: t.TableDefinition) -> Staged[t.LoadedTable]:
        # The other server chooses the place; any will do to check the definition against.
        first = descriptions.made(definition, "s3://anywhere", uuid.uuid4())
        request = {
            "schema": first["schemas"][0],
            "partition-spec": first["partition-specs"][0],
            "write-order": first["sort-orders"][0],
            "properties": {**first["properties"], "format-version": str(first["format-version"])},
        }
        made = self.create_document(at, request)
        try:
            described = descriptions.describe_table(at.name, made.result.metadata, made.result.location)
        except HeadgateError:
            made.abandon()
            raise
        return Staged(described, made.commit, made.abandon)

    def alter_table(self, at: TablePlace, changes: tuple[t.TableChange, ...]) -> Staged[t.LoadedTable]:
        now = self.document(at)
        updates = descriptions.updates_for(now.metadata, now.location or "", self.storage.io, changes)
        if updates:
            requirements = [
                {"type": "assert-table-uuid", "uuid": now.metadata["table-uuid"]},
                {
                    "type": "assert-current-schema-id",
                    "current-schema-id": now.metadata["current-schema-id"],
                },
            ]
            now = self.commit_document(at, requirements, updates).result
        staged = self._changed(at, now) if updates else Staged(now, self.claims.claiming(at, now))
        renames = [change for change in changes if isinstance(change, t.RenameTable)]
        if renames:
            into = renames[-1].new_schema_name
            try:
                self.rename(
                    at,
                    TablePlace(
                        tuple(into.split(SCHEMA_SEPARATOR)) if into else at.schema, renames[-1].new_name
                    ),
                )
            except HeadgateError as error:
                if updates:
                    raise kept_there(at) from error
                raise
        described = descriptions.describe_table(at.name, now.metadata, now.location)
        return Staged(described, staged.commit, staged.abandon)

    def drop_table(self, at: TablePlace, *, purge: bool) -> Staged[None]:
        try:
            self.client.ask("DELETE", self._path(at), at.type, purgeRequested="true" if purge else "false")
        except NotFound:
            # Somebody dropped or renamed it there: what is left to forget is the row here.
            if not at.object:
                raise
        if not purge:
            return Staged(None)
        return Staged(None, places.purge, finish=lambda: self.claims.release(at.object, self.storage))

    # -- documents ----------------------------------------------------------------------------------------------

    def document(self, at: TablePlace) -> Document:
        found = _document(self.client.ask("GET", self._path(at), at.type))
        if at.object and at.type is ObjectType.TABLE:
            return self.claims.own(at.object, found)
        return found

    def document_at(self, at: TablePlace, location: str) -> Document:
        found = Document(location, self.storage.read(location))
        past = self.claims.past(at.object)
        if outside_identity(found).uuid != past.uuid:
            raise NotFound("the table was made again in the meantime", about=ObjectType.TABLE)
        return msgspec.structs.replace(found, past=past)

    def own_folders(self, document: Document) -> tuple[str, ...]:
        return outside_folders(document)

    def own_places(self) -> tuple[str, ...]:
        """None: copies lie beside their table, so what lies around them lies around the table's own place."""
        return ()

    def own_sources(self) -> tuple[str, ...]:
        """The server, whichever of its warehouses: under how many names it has one is not known here."""
        return (server_of(self.properties["uri"]),)

    def kept_folders(self) -> tuple[str, ...]:
        return tuple(self.allowed)

    def governed_folder(self, document: Document, object: int) -> str:
        above = normal(document.metadata["location"]).rstrip("/").rpartition("/")[0]
        return f"{above}/{GOVERNED}/{self.folder}/{object}"

    def schema_folder(self, schema: Namespace) -> None:
        """The other server decides where its tables lie."""

    def given_folders(self, document: Document) -> tuple[str, ...]:
        """The table's own place, if this catalog's owner vouches that the other server keeps tables apart there."""
        place = normal(document.metadata["location"]).rstrip("/")
        return (place,) if any(inside(place, folder) for folder in self.allowed) else ()

    def new_document(self, at: TablePlace, definition: Json) -> Document:
        body = {**_present(definition), "name": at.name, "stage-create": True}
        document = _document(self.client.ask("POST", self._kind(at), at.type, body))
        self.claims.check(self.own_folders(document))
        return document

    def create_document(self, at: TablePlace, definition: Json) -> Staged[Document]:
        body = {**_present(definition), "name": at.name}
        if at.type is ObjectType.TABLE:
            # May be left out, but not every server believes that.
            body["stage-create"] = False
        return self._made(at, _made_there(at, self.client.ask("POST", self._kind(at), at.type, body)))

    def register_document(self, at: TablePlace, location: str, check: Callable[[], None]) -> Staged[Document]:
        check()
        route = "register" if at.type is ObjectType.TABLE else "register-view"
        path = f"/namespaces/{self.client.namespace(at.schema)}/{route}"
        body = {"name": at.name, "metadata-location": location}
        return self._made(at, _made_there(at, self.client.register(path, at.type, body)))

    def commit_document(
        self, at: TablePlace, requirements: Sequence[Json], updates: Sequence[Json]
    ) -> Staged[Document]:
        self._check_own(at)
        body = self._commit(at, requirements, updates)
        answer = _made_there(at, self.client.ask("POST", self._path(at), at.type, body))
        return self._staged(at, answer)

    def commit_together(
        self, changes: Sequence[tuple[TablePlace, Sequence[Json], Sequence[Json]]]
    ) -> list[Staged[Document]]:
        """Commit to several tables, all or none of them: in one call, as only the other server can promise that."""
        if not self.client.offers(_TRANSACTION):
            raise Unsupported(
                "the catalog behind this one cannot change several tables together",
                hint="commit to them one by one",
            )
        for at, _, _ in changes:
            self._check_own(at)
        body = {"table-changes": [self._commit(*change) for change in changes]}
        self.client.ask("POST", "/transactions/commit", ObjectType.TABLE, body)
        staged: list[Staged[Document]] = []
        try:
            for at, _, _ in changes:
                staged.append(self._staged(at, self.document(at)))
        except HeadgateError as error:
            raise kept_there(at) from error
        return staged

    def rename(self, at: TablePlace, to: TablePlace) -> None:
        body = {"source": _identifier(at), "destination": _identifier(to)}
        self.client.ask("POST", f"/{at.type}s/rename", at.type, body)

    def drop_view(self, at: TablePlace) -> None:
        self.client.ask("DELETE", self._path(at), at.type)

    # -- places -------------------------------------------------------------------------------------------------

    def _check_own(self, at: TablePlace) -> None:
        """Refuse to change a table whose place is somebody else's, before the other server is asked to."""
        if at.object and at.type is ObjectType.TABLE:
            self.document(at)

    def _made(self, at: TablePlace, document: Document) -> Staged[Document]:
        """A table or view that was made there; taken back if it cannot be its own here."""

        def abandon() -> None:
            try:
                self.client.ask("DELETE", self._path(at), at.type, purgeRequested="false")
            except NotFound:
                return
            except HeadgateError as error:
                raise kept_there(at) from error

        return Staged(document, self.claims.claiming(at, document), abandon)

    def _changed(self, at: TablePlace, document: Document) -> Staged[Document]:
        """A table or view that was changed there, which nobody can take back."""

        def abandon() -> None:
            raise kept_there(at)

        return Staged(document, self.claims.claiming(at, document), abandon)

    def _staged(self, at: TablePlace, document: Document) -> Staged[Document]:
        return self._changed(at, document) if at.object else self._made(at, document)

    # -- inside -------------------------------------------------------------------------------------------------

    def _kind(self, at: TablePlace) -> str:
        return f"/namespaces/{self.client.namespace(at.schema)}/{at.type}s"

    def _path(self, at: TablePlace) -> str:
        return f"{self._kind(at)}/{segment(at.name)}"

    def _commit(self, at: TablePlace, requirements: Sequence[Json], updates: Sequence[Json]) -> Json:
        if at.type is not ObjectType.TABLE:
            return {"requirements": list(requirements), "updates": list(updates)}
        if any(_lacks_last_column(update) for update in updates):
            # Newer clients no longer send it, older servers still ask for it.
            before = self.document(at).metadata["last-column-id"] if at.object else 0
            updates = [_with_last_column(update, before) for update in updates]
        return {
            "identifier": _identifier(at),
            "requirements": list(requirements),
            "updates": list(updates),
        }

    def _every(self, path: str, key: str, about: ObjectType, query: dict[str, str]) -> list[Any]:
        """All pages of a list."""

        def ask(token: str) -> tuple[list[Any], str | None]:
            more = {"pageToken": token} if token else {}
            page = self.client.ask("GET", path, about, None, **query, **more)
            listed = (page.get(key) or []) if isinstance(page, dict) else None
            if not isinstance(listed, list):
                raise Damaged("the catalog's answer is no list of names")
            following = page.get("next-page-token")
            return listed, str(following) if following else None

        return pages.every(ask, "the catalog", self.storage.openings.largest_document)


def _lacks_last_column(update: Json) -> bool:
    return update.get("action") == "add-schema" and "last-column-id" not in update


def _with_last_column(update: Json, before: int) -> Json:
    if not _lacks_last_column(update):
        return update
    try:
        return {**update, "last-column-id": max(before, highest_id(update["schema"]))}
    except (KeyError, TypeError):
        # What is no schema is for the other server to refuse.
        return update


def _identifier(at: TablePlace) -> Json:
    return {"namespace": list(at.schema), "name": at.name}


def _present(definition: Json) -> Json:
    return {key: value for key, value in definition.items() if value is not None}


def _made_there(at: TablePlace, answer: Any) -> Document:
    """What the other server says that it made; if that cannot be used, it was made nevertheless."""
    try:
        return _document(answer)
    except Damaged as error:
        raise kept_there(at) from error


def _document(answer: Any) -> Document:
    if not isinstance(answer, dict) or not isinstance(answer.get("metadata"), dict):
        raise Damaged("the catalog's answer holds no metadata")
    metadata, file = answer["metadata"], answer.get("metadata-location")
    properties = metadata.get("properties", {})
    if (
        not (file is None or isinstance(file, str))
        or not isinstance(metadata.get("location"), str)
        or not isinstance(properties, dict)
        or not all(isinstance(value, str) for value in properties.values())
    ):
        raise Damaged("the catalog's answer does not say where the table lies")
    return Document(file, metadata)
