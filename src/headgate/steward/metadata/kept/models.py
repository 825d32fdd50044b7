"""Models, their versions, and the aliases and URIs of these."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.model.errors import IllegalArgument, NotFound
from headgate.model.objects import ObjectType, checked_name, clip
from headgate.model.records import ObjectRecord, VersionRecord
from headgate.steward.acts import act
from headgate.steward.metadata.catalogs import Catalogs
from headgate.steward.metadata.kept.leaves import Leaves
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import Read, models, objects

UNKNOWN: Final = "unknown"
"""The name of a URI that was given none."""

DEFAULT_URI: Final = "default-uri-name"


class VersionUpdates(msgspec.Struct, frozen=True):
    """What a list of updates of a version comes to. URIs are added, replaced and removed in order."""

    common: Updates = Updates()
    uris: tuple[tuple[str, str, str | None], ...] = ()
    """``("add" | "update" | "remove", name, uri)``."""
    aliases_added: tuple[str, ...] = ()
    aliases_removed: tuple[str, ...] = ()


class Models(Leaves):
    """Models. `next` in the body counts the versions ever linked, so no number is used twice."""

    def __init__(self, catalogs: Catalogs) -> None:
        super().__init__(catalogs, ObjectType.MODEL, Op.LIST_MODELS)

    @act(Op.REGISTER_MODEL)
    def register(
        self, permit: Permit, name: str, comment: str | None, properties: dict[str, str]
    ) -> ObjectRecord:
        return self.create(permit, name, comment, properties, {"next": 0})

    # -- versions -----------------------------------------------------------------------------------------------

    @act(Op.READ_MODEL_VERSIONS)
    def versions(self, permit: Permit) -> list[VersionRecord]:
        with self.kernel.store.read() as read:
            return models.versions(read, permit.node.id)

    @act(Op.READ_MODEL_VERSIONS)
    def version(self, permit: Permit, which: int | str) -> VersionRecord:
        """A version by number or alias."""
        with self.kernel.store.read() as read:
            return _present(read, permit, which)

    @act(Op.LINK_MODEL_VERSION)
    def link(
        self,
        permit: Permit,
        uris: Mapping[str, str],
        aliases: Sequence[str],
        comment: str | None,
        properties: dict[str, str],
    ) -> VersionRecord:
        """Add a version under the next number."""
        body = {"comment": comment, "uris": _checked_uris(uris), "properties": properties}
        with self.kernel.change(permit) as tx:
            model = objects.present(tx, permit.node.id)
            number: int = model.body["next"]
            models.add(tx, model.id, number, body)
            for alias in dict.fromkeys(aliases):
                models.name(tx, model.id, number, checked_name(alias, "alias"))
            objects.alter(tx, model, body={**model.body, "next": number + 1})
            return _present(tx, permit, number)

    @act(Op.ALTER_MODEL_VERSION)
    def alter_version(self, permit: Permit, which: int | str, updates: VersionUpdates) -> VersionRecord:
        with self.kernel.change(permit) as tx:
            before = _present(tx, permit, which)
            model, number = permit.node.id, before.version
            body = dict(before.body)
            if updates.common.comment is not None:
                body["comment"] = updates.common.comment or None
            changed = updates.common.applied_to(body["properties"])
            body["properties"] = body["properties"] if changed is None else changed
            body["uris"] = _checked_uris(_moved(body["uris"], updates.uris))
            models.alter(tx, model, number, body)
            both = set(updates.aliases_added) & set(updates.aliases_removed)
            for alias in updates.aliases_removed:
                if alias not in both:
                    models.unname(tx, model, number, alias)
            for alias in updates.aliases_added:
                if alias not in both:
                    models.name(tx, model, number, checked_name(alias, "alias"))
            return _present(tx, permit, number)

    @act(Op.DELETE_MODEL_VERSION)
    def delete_version(self, permit: Permit, which: int | str) -> bool:
        """Remove a version with its aliases; tell whether it was there."""
        with self.kernel.change(permit) as tx:
            found = models.version(tx, permit.node.id, which)
            if found is not None:
                models.remove(tx, permit.node.id, found.version)
            return found is not None

    @act(Op.READ_MODEL_VERSIONS)
    def uri(self, permit: Permit, which: int | str, name: str | None) -> str:
        """A URI of a version: the one named, the only one, or the one that its or the model's property names."""
        with self.kernel.store.read() as read:
            version = _present(read, permit, which)
            model = objects.present(read, permit.node.id)
        uris: dict[str, str] = version.body["uris"]
        if name is None and len(uris) == 1:
            return next(iter(uris.values()))
        chosen = name or version.body["properties"].get(DEFAULT_URI) or model.properties.get(DEFAULT_URI)
        if chosen is None:
            raise IllegalArgument(
                f"version {version.version} has several URIs",
                hint=f"name one, or set the property {DEFAULT_URI}",
            )
        if chosen not in uris:
            raise NotFound(
                f"version {version.version} has no URI '{clip(chosen)}'", about="model-version-uri-name"
            )
        return uris[chosen]


def _present(read: Read, permit: Permit, which: int | str) -> VersionRecord:
    found = models.version(read, permit.node.id, which)
    if found is None:
        named = f"alias '{clip(which)}'" if isinstance(which, str) else f"version {which}"
        raise NotFound(f"model '{clip(permit.ref.full_name)}' has no {named}", about="model-version")
    return found


def _checked_uris(uris: Mapping[str, str]) -> dict[str, str]:
    if not uris:
        raise IllegalArgument("a model version needs a URI")
    if not all(name.strip() and uri.strip() for name, uri in uris.items()):
        raise IllegalArgument("a URI of a model version and its name must not be blank")
    return dict(uris)


def _moved(uris: dict[str, str], moves: Sequence[tuple[str, str, str | None]]) -> dict[str, Any]:
    """Adding keeps what is there, updating leaves alone what is not, as the API has it."""
    after: dict[str, Any] = dict(uris)
    for how, name, uri in moves:
        if how == "remove":
            after.pop(name, None)
        elif (how == "add") != (name in after):
            after[name] = uri
    return after
