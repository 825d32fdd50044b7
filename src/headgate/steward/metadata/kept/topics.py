"""Topics: kept in the store alone, or in a Kafka cluster, which then has their settings."""

from contextlib import suppress

import msgspec

from headgate.catalogs.interface import OutsideTopics, Staged, keeps_topics
from headgate.decide import Node, Op, visible
from headgate.model.changes import ObjectGone
from headgate.model.errors import ConnectionFailed, HeadgateError, NotFound, OutcomeUnknown
from headgate.model.objects import ObjectType, checked_name, clip
from headgate.model.properties import check_read
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.metadata.catalogs import Catalogs
from headgate.steward.metadata.kept.leaves import Leaves
from headgate.steward.metadata.tables import Abandoned
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import Write


class Topics(Leaves):
    """INVARIANT: a cluster is asked before the transaction of a change, never in it."""

    def __init__(self, catalogs: Catalogs) -> None:
        super().__init__(catalogs, ObjectType.TOPIC, Op.LIST_TOPICS)

    @act(Op.LIST_TOPICS)
    def nodes(self, permit: Permit) -> list[Node]:
        authority = self.catalogs.seen(permit)
        every = authority.children_of(permit.node.id, self.type)
        return sorted(visible(authority, permit.caller, self.lists, every), key=lambda node: node.name)

    @act(Op.CREATE_TOPIC)
    def add(self, permit: Permit, name: str, comment: str | None, properties: dict[str, str]) -> ObjectRecord:
        """Make a topic; who makes it owns it."""
        cluster = self._cluster(permit)
        if cluster is None:
            return self.create(permit, name, comment, properties)
        checked_name(name, "topic")
        check_read("kafka topic", properties)
        cluster.create_topic(name, properties)
        staged = Staged(None, abandon=lambda: cluster.drop_topic(name))
        with Abandoned(staged) as until:

            def settle(tx: Write, _: int) -> None:
                until.decided_by = tx

            made = self.create(permit, name, comment, {}, settle=settle)
        return _with(made, _settings(cluster, name, properties))

    @act(Op.LOAD_TOPIC)
    def load(self, permit: Permit) -> ObjectRecord:
        return self.present(permit)

    def present(self, permit: Permit) -> ObjectRecord:
        record = super().present(permit)
        cluster = self._cluster(permit)
        return record if cluster is None else _with(record, cluster.topic(permit.ref.name))

    @act(Op.ALTER_TOPIC)
    def change(self, permit: Permit, updates: Updates) -> ObjectRecord:
        """Change the comment or the settings of a topic."""
        cluster = self._cluster(permit)
        if cluster is None:
            return self.alter(permit, updates)
        check_read("kafka topic", updates.put)
        name = permit.ref.name
        if updates.properties:
            cluster.alter_topic(name, updates.properties)
        try:
            altered = self.alter(permit, msgspec.structs.replace(updates, properties=()))
        except HeadgateError as error:
            if updates.properties:
                raise _kept(name) from error
            raise
        return _with(altered, _settings(cluster, name, {}))

    @act(Op.DROP_TOPIC)
    def discard(self, permit: Permit) -> None:
        """Drop a topic, in its cluster with all of its messages."""
        cluster = self._cluster(permit)
        if cluster is None:
            self.drop(permit)
            return
        # Asked before the cluster drops it, and again by the change itself.
        self.kernel.foresee(permit, ObjectGone(permit.node.id))
        # Where somebody dropped it there, the row here is left to forget.
        with suppress(NotFound):
            cluster.drop_topic(permit.ref.name)
        try:
            self.drop(permit)
        except HeadgateError as error:
            raise _kept(permit.ref.name) from error

    def _cluster(self, permit: Permit) -> OutsideTopics | None:
        """The cluster behind the catalog of a permit, if there is one."""
        adapter = self.catalogs.adapter(permit)
        return adapter if keeps_topics(adapter) else None


def _settings(cluster: OutsideTopics, name: str, otherwise: dict[str, str]) -> dict[str, str]:
    """The settings of a topic after a change, which not every broker has heard of yet."""
    try:
        return cluster.topic(name)
    except (ConnectionFailed, NotFound):
        return otherwise


def _with(record: ObjectRecord, settings: dict[str, str]) -> ObjectRecord:
    return msgspec.structs.replace(record, properties=settings)


def _kept(name: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"topic '{clip(name)}' was changed in its cluster, but not here",
        hint="load it again: what is there is what holds",
    )
