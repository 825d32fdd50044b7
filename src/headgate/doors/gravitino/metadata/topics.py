"""Topics: ``…/schemas/{schema}/topics``."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model.objects import ObjectType
from headgate.model.records import ObjectRecord
from headgate.model.secrets import without_secrets
from headgate.steward.updates import checked_properties

routes = Routes("/api/metalakes/{metalake}/catalogs/{catalog}/schemas/{schema}/topics")

_topic = wire.leaf(ObjectType.TOPIC)


class CreateTopic(msgspec.Struct, frozen=True):
    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


class AlterTopic(msgspec.Struct, frozen=True):
    updates: list[wire.UpdateComment | wire.SetProperty | wire.RemoveProperty]


def shown(record: ObjectRecord) -> dict[str, Any]:
    return wire.present(
        {
            "name": record.name,
            "comment": record.comment,
            "properties": without_secrets(record.properties),
            "audit": wire.audit(record.audit),
        }
    )


@routes.on("GET", "", Op.LIST_TOPICS, wire.schema, query=wire.PAGE)
def list_topics(call: DoorCall) -> Any:
    """List the topics of a schema."""
    return wire.identifiers(call, call.steward.topics.nodes(call.permit))


@routes.on("POST", "", Op.CREATE_TOPIC, wire.schema, body=CreateTopic)
def create_topic(call: DoorCall) -> Any:
    """Create a topic."""
    body: CreateTopic = call.body
    made = call.steward.topics.add(call.permit, body.name, body.comment, checked_properties(body.properties))
    return wire.ok(topic=shown(made))


@routes.on("GET", "/{topic}", Op.LOAD_TOPIC, _topic)
def load_topic(call: DoorCall) -> Any:
    """Load a topic."""
    return wire.ok(topic=shown(call.steward.topics.load(call.permit)))


@routes.on("PUT", "/{topic}", Op.ALTER_TOPIC, _topic, body=AlterTopic)
def alter_topic(call: DoorCall) -> Any:
    """Change the comment or the properties of a topic."""
    return wire.ok(topic=shown(call.steward.topics.change(call.permit, wire.updates(call.body.updates))))


@routes.on("DELETE", "/{topic}", Op.DROP_TOPIC, _topic, absent=wire.ok(dropped=False))
def drop_topic(call: DoorCall) -> Any:
    """Drop a topic."""
    call.steward.topics.discard(call.permit)
    return wire.ok(dropped=True)
