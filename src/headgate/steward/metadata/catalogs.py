"""Catalogs: declared, tested, enabled, altered and dropped."""

import datetime as dt
from collections.abc import Iterable
from typing import Final

import msgspec

from headgate.catalogs.destinations import kept_secrets
from headgate.catalogs.interface import Catalog
from headgate.catalogs.locations import checked_warehouse, more_places
from headgate.catalogs.registry import CatalogDefinition, Registry, new_folder
from headgate.decide import Authority, Node, Op, visible
from headgate.decide.changes.waiting import may_come_to_bind
from headgate.decide.verdict import allowed
from headgate.model.errors import AlreadyExists, Forbidden, IllegalArgument
from headgate.model.objects import CatalogType, ObjectRef, ObjectType, checked_container_name, clip
from headgate.model.places import overlap, within
from headgate.model.properties import check_read
from headgate.model.records import ObjectRecord
from headgate.model.secrets import without_access, without_secrets
from headgate.steward.acts import act
from headgate.steward.findings import Refused, examine
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.containers import Containers
from headgate.steward.metadata.outside import Outside
from headgate.steward.ownership import created
from headgate.steward.permits import Permit
from headgate.steward.reads.modes import check_mode, tells_more
from headgate.steward.updates import Updates
from headgate.store import Read, Write, objects, places
from headgate.store.metadata import catalog_folders, sources
from headgate.vending import StorageSettings
from headgate.vending.providers import PROPERTY, check_providers

_MOST_OPEN: Final = 1_000
_SERVER: Final = "server"
_FOLDER: Final = "warehouse or one of the folders"
NOTHING: Final[dict[str, str]] = {}


def catalog_type(record: ObjectRecord) -> CatalogType:
    return CatalogType(record.body["type"])


class Catalogs(Containers):
    type = ObjectType.CATALOG
    holds = ObjectType.SCHEMA

    def __init__(self, kernel: Kernel, registry: Registry) -> None:
        super().__init__(kernel)
        self.registry = registry
        self.outside = Outside(kernel, self.opened)
        self._adapters: dict[int, tuple[int, Catalog]] = {}

    @act(Op.LIST_CATALOGS)
    def list(self, permit: Permit) -> list[ObjectRecord]:
        """Those the caller may load, by name."""
        nodes = permit.authority.children_of(permit.node.id, ObjectType.CATALOG)
        seen = [node.id for node in visible(permit.authority, permit.caller, Op.LIST_CATALOGS, nodes)]
        with self.kernel.store.read() as read:
            return sorted(objects.many(read, seen), key=lambda record: record.name)

    @act(Op.CREATE_CATALOG)
    def create(
        self,
        permit: Permit,
        name: str,
        type: CatalogType,
        provider: str | None,
        comment: str | None,
        properties: dict[str, str],
    ) -> ObjectRecord:
        """Declare a catalog; who declares it becomes its owner."""
        body, adapter = self._checked(permit, name, type, provider, properties)
        with self.kernel.change(permit) as tx:
            made = created(
                tx, permit, ObjectType.CATALOG, name, comment=comment, properties=properties, body=body
            )
            self._claim(tx, permit, made.id, adapter, properties)
            # INVARIANT: they stay the catalog's when it is dropped, as what it kept there may outlive it.
            places.claim(tx, made.id, adapter.own_places())
            return made

    @act(Op.TEST_CONNECTION)
    def test(
        self, permit: Permit, name: str, type: CatalogType, provider: str | None, properties: dict[str, str]
    ) -> None:
        """See whether a catalog declared like this would work, without declaring it."""
        self.registry.open(self.declared(permit, name, type, provider, properties)).test()

    def declared(
        self, permit: Permit, name: str, type: CatalogType, provider: str | None, properties: dict[str, str]
    ) -> CatalogDefinition:
        """A catalog that could be made, checked as if it were."""
        body, adapter = self._checked(permit, name, type, provider, properties)
        with self.kernel.store.read() as read:
            self._check_shared(permit, sources.holders(read, adapter.own_sources()), _SERVER)
            # INVARIANT: whatever is tried writes nothing where it could not be declared.
            folders = self._folders(adapter)
            self._check_shared(permit, catalog_folders.holders(read, folders), _FOLDER)
            self._check_kept(permit, read, folders, {}, properties)
        if permit.authority.child(permit.node.id, ObjectType.CATALOG, name) is not None:
            raise AlreadyExists(f"catalog '{clip(name)}' already exists", about=ObjectType.CATALOG)
        return CatalogDefinition(body["folder"], type, body["provider"], properties, name)

    @act(Op.TEST_CATALOG_CONNECTION)
    def test_altered(self, permit: Permit, updates: Updates) -> None:
        """See whether a catalog works, as it would be after these updates."""
        record = self.present(permit)
        properties = updates.applied_to(record.properties)
        self._check_changed(record, updates, properties)
        self.registry.check(_definition(record, properties or record.properties))
        self._open(record, properties or record.properties).test()

    @act(Op.ALTER_CATALOG)
    def alter(self, permit: Permit, updates: Updates) -> ObjectRecord:
        if updates.name is not None:
            checked_container_name(updates.name, "catalog")
        with self.kernel.change(permit) as tx:
            before = objects.present(tx, permit.node.id)
            properties = updates.applied_to(before.properties)
            self._check_changed(before, updates, properties)
            renamed = updates.name not in (None, before.name)
            more = False
            if properties is not None:
                self.registry.check(_definition(before, properties))
                adapter = self._open(before, properties)
                more = (
                    tells_more(before.properties, properties)
                    or self._asks_elsewhere(before, properties)
                    or catalog_folders.lets_go(tx, before.id, self._folders(adapter))
                )
            if renamed or (more and not self._changes_all_policies(permit)):
                # A catalog that goes by another name is gone by its own, one that asks another server for its tables has
                # others under the names that policies are for, and what lies in a folder that it lets go of is anybody's to
                # register: who sees a part of it, or may come to, does none of it.
                self._check_sees_all(permit, lasting=more)
            if properties is not None:
                self._claim(tx, permit, before.id, adapter, properties, before.properties)
                self._check_storage(catalog_type(before), properties, before.properties)
            objects.alter(tx, before, name=updates.name, comment=updates.comment, properties=properties)
            return objects.present(tx, before.id)

    @act(Op.ALTER_CATALOG, Op.CREATE_CATALOG, Op.LIST_CATALOGS, Op.LOAD_CATALOG)
    def shown(self, permit: Permit, record: ObjectRecord) -> dict[str, str]:
        """The properties of a catalog that the caller may see: how it is got into only if they could change it.

        The caller who has just made it is its owner, though the authority of their permit does not know of it yet.
        """
        node = permit.authority.objects.get(record.id)
        if node is None or allowed(permit.authority, permit.caller, Op.ALTER_CATALOG, node):
            return without_secrets(record.properties)
        return without_access(record.properties)

    # -- for the parts that work inside a catalog ---------------------------------------------------------------

    def of(self, permit: Permit) -> ObjectRecord:
        """The catalog that the object of a permit is or lies in."""
        with self.kernel.store.read() as read:
            return objects.present(read, catalog_node(permit).id)

    def adapter(self, permit: Permit) -> Catalog:
        """The adapter of the catalog that the object of a permit is or lies in.

        INVARIANT: kept for one revision only, so a catalog that was altered is opened anew before the next answer.
        """
        id, revision = catalog_node(permit).id, permit.revision
        known = self._adapters.get(id)
        if known is not None and known[0] == revision:
            return known[1]
        record = self.of(permit)
        adapter = self._open(record, record.properties)
        if len(self._adapters) >= _MOST_OPEN:
            self._adapters.clear()
        self._adapters[id] = (revision, adapter)
        return adapter

    def opened(self, node: Node) -> Catalog:
        """The adapter of a catalog."""
        with self.kernel.store.read() as read:
            record = objects.present(read, node.id)
        return self._open(record, record.properties)

    def seen(self, permit: Permit, *, all: bool = False) -> Authority:
        """The authority once what another system holds in the permit's catalog or schema has a row here.

        Only what the caller would be shown, unless `all` says otherwise.
        """
        if self.outside.refresh(permit.authority, permit.ref, None if all else permit.caller):
            return self.kernel.authority()
        return permit.authority

    # -- inside -------------------------------------------------------------------------------------------------

    def _changes_all_policies(self, permit: Permit) -> bool:
        """Whether the caller owns the metalake: who may change what restricts them may choose how it is enforced."""
        lake = ObjectRef(permit.ref.metalake, ObjectType.METALAKE)
        return examine(self.kernel.authority(), permit.identity, Op.ALTER_METALAKE, lake).allowed

    def _asks_elsewhere(self, record: ObjectRecord, properties: dict[str, str]) -> bool:
        """Whether the tables of a catalog would be looked for elsewhere, or as somebody else."""
        provider = self.registry.provider(catalog_type(record), record.body["provider"], record.properties)
        return provider.asks_elsewhere(record.properties, properties)

    def _check_sees_all(self, permit: Permit, *, lasting: bool) -> None:
        """Refuse callers who see only a part of what a catalog holds; of what is `lasting`, those too who may come to."""
        authority = self.kernel.authority()
        asked = self.kernel.demand(authority, permit.identity, Op.DROP_CATALOG, permit.ref)
        if lasting and may_come_to_bind(authority, asked.caller, asked.node, dt.datetime.now(dt.UTC)):
            found = self.kernel.finding(authority, permit.identity, Op.DROP_CATALOG, permit.ref)
            raise Refused(msgspec.structs.replace(found, partly=asked.node))

    def _claim(
        self,
        tx: Write,
        permit: Permit,
        catalog: int,
        adapter: Catalog,
        properties: dict[str, str],
        before: dict[str, str] = NOTHING,
    ) -> None:
        """Let a catalog have the servers and the folders that it takes its tables from."""
        self._check_shared(permit, sources.claim(tx, catalog, adapter.own_sources()), _SERVER)
        folders = self._folders(adapter)
        new = catalog_folders.new(tx, catalog, folders)
        self._check_shared(permit, catalog_folders.claim(tx, catalog, folders), _FOLDER)
        self._check_kept(permit, tx, new, before, properties, catalog)

    def _check_kept(
        self,
        permit: Permit,
        read: Read,
        folders: Iterable[str],
        before: dict[str, str],
        properties: dict[str, str],
        catalog: int = 0,
    ) -> None:
        """Refuse folders in which objects of other catalogs lie already, and those that the server divides by itself."""
        there = self.kernel.authority().objects
        holders = (id for folder in folders for id in places.catalogs_near(read, folder))
        self._check_shared(permit, sorted({id for id in holders if id != catalog and id in there}), _FOLDER)
        known, own = more_places(before), self._divided
        if own is None or self._changes_all_policies(permit):
            return
        for place in more_places(properties):
            if place not in known and overlap(places.canonical(place), own):
                raise IllegalArgument(
                    f"property 'allowed-locations' names this server's own warehouse, or what lies around it: '{clip(place)}'",
                    hint="tables are placed there without it: leave it out",
                )

    @property
    def _divided(self) -> str | None:
        """The server's own warehouse, which it divides by itself."""
        own = self.registry.warehouse
        return None if own is None else places.canonical(checked_warehouse(own))

    def _folders(self, adapter: Catalog) -> tuple[str, ...]:
        """The folders that are a catalog's own. What lies around the server's warehouse is nobody's: it would shut others out."""
        folders, own = map(places.canonical, adapter.kept_folders()), self._divided
        return tuple(folder for folder in folders if own is None or not within(own, folder))

    def _check_shared(self, permit: Permit, holders: Iterable[int], what: str) -> None:
        """Refuse a source or a folder that these catalogs have, in the same words whichever they are.

        INVARIANT: either belongs to the first catalog that names it, for as long as that is there. Only owners of its
        metalake, who may change every policy, declare another over it: nobody else reads past the policies of the first.
        """
        authority = self.kernel.authority()
        for id in holders:
            lake = authority.ref(authority.objects[authority.objects[id].metalake])
            if not examine(authority, permit.identity, Op.ALTER_METALAKE, lake).allowed:
                raise Forbidden(
                    f"the {what} that the catalog names is taken by another catalog",
                    hint="ask the owner of the metalake to declare this one and give it to you",
                    about=ObjectType.CATALOG,
                )

    def _checked(
        self, permit: Permit, name: str, type: CatalogType, provider: str | None, properties: dict[str, str]
    ) -> tuple[dict[str, str], Catalog]:
        checked_container_name(name, "catalog")
        check_mode(properties)
        chosen = self.registry.provider(type, provider, properties)
        check_read(chosen.kind, properties)
        # Opening checks the properties before anything is kept.
        folder = new_folder(permit.ref.metalake, name)
        definition = CatalogDefinition(folder, type, chosen.name, properties, name)
        self.registry.check(definition)
        adapter = chosen.open(definition)
        self._check_storage(type, properties, {})
        return {"type": type.value, "provider": chosen.name, "folder": folder}, adapter

    def _check_changed(
        self, record: ObjectRecord, updates: Updates, properties: dict[str, str] | None
    ) -> None:
        provider = self.registry.provider(catalog_type(record), record.body["provider"], record.properties)
        check_read(provider.kind, updates.put)
        if properties is None:
            return
        check_mode(properties)
        for key in sorted(provider.fixed):
            if properties.get(key) != record.properties.get(key):
                raise IllegalArgument(
                    f"property '{key}' of catalog '{clip(record.name)}' cannot change once it is made",
                    hint="create another catalog",
                )
        moved = kept_secrets(record.properties, properties, updates.put)
        if moved is not None:
            address, kept = moved
            raise IllegalArgument(
                f"property '{clip(address)}' of catalog '{clip(record.name)}' cannot change by itself: "
                "secrets that were given for another address would go there",
                hint=f"set or remove in the same request: {clip(', '.join(kept))}",
            )

    def _check_storage(self, type: CatalogType, properties: dict[str, str], before: dict[str, str]) -> None:
        """What a catalog says of giving out access to its storage must make sense before it is kept."""
        if type not in (CatalogType.RELATIONAL, CatalogType.FILESET):
            return
        self.registry.openings.check_addresses(properties)
        StorageSettings.of(properties)
        if any(properties.get(key) != before.get(key) for key in (PROPERTY, "s3-role-arn", "s3.role-arn")):
            check_providers(properties.get(PROPERTY, ""), properties)

    def _open(self, record: ObjectRecord, properties: dict[str, str]) -> Catalog:
        return self.registry.open(_definition(record, properties))


def _definition(record: ObjectRecord, properties: dict[str, str]) -> CatalogDefinition:
    return CatalogDefinition(
        record.body["folder"], catalog_type(record), record.body["provider"], properties, record.name
    )


def definition_of(record: ObjectRecord) -> CatalogDefinition:
    """A catalog as it is declared now."""
    return _definition(record, record.properties)


def catalog_node(permit: Permit) -> Node:
    """The catalog on the way to the object of a permit."""
    for id, _ in permit.node.chain:
        node = permit.authority.objects[id]
        if node.type is ObjectType.CATALOG:
            return node
    raise AssertionError(f"{permit.ref.full_name} does not lie in a catalog")
