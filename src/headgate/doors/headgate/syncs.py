"""Policies of other systems: ``/api/headgate/sync``. Which systems a caller may use is decided by the steward, name by name."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Open, Routes
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectRef
from headgate.steward.access.tokens import SERVER
from headgate.steward.syncs import Source
from headgate.sync.comparing.merge import Prefer
from headgate.sync.pushing.plan import PushPlan
from headgate.sync.pushing.results import Change, Mode, SyncResult
from headgate.sync.rendering import (
    render_clash,
    render_difference,
    render_fact,
    render_open,
    render_shifts,
)
from headgate.sync.snapshots.facts import Fact
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.snapshots.snapshot import PolicySnapshot
from headgate.sync.translating.losses import Loss
from headgate.sync.translating.options import Options

routes = Routes("/api/headgate/sync")

MOST = 100


class Fetch(msgspec.Struct, frozen=True):
    source: str


class Pair(msgspec.Struct, frozen=True):
    """A source, a target, and who of the one is who in the other; without a map everyone keeps their name.

    The source is a system by name, or a snapshot that comes along.
    """

    target: str
    source: str | None = None
    snapshot: dict[str, Any] | None = None
    names: dict[str, str] | None = None

    @property
    def origin(self) -> Source:
        if (self.source is None) is (self.snapshot is None):
            raise IllegalArgument("there is no one source", hint="give either 'source' or 'snapshot'")
        if self.source is not None:
            return self.source
        return PolicySnapshot.read(msgspec.json.encode(self.snapshot))

    @property
    def map(self) -> PrincipalMap:
        return PrincipalMap.same_names() if self.names is None else PrincipalMap(self.names)


class Push(Pair, frozen=True):
    mode: Mode = Mode.MERGE
    owners: bool = False
    grantOption: bool = False  # noqa: N815
    createPrincipals: bool = False  # noqa: N815
    tags: bool = False
    plan: str | None = None
    """The digest of the plan that was agreed to."""

    @property
    def options(self) -> Options:
        return Options(self.owners, self.grantOption, self.createPrincipals, self.tags)


class KeepInStep(Push, frozen=True):
    prefer: Prefer = Prefer.NEITHER


class Resume(msgspec.Struct, frozen=True):
    target: str


class Undo(msgspec.Struct, frozen=True):
    target: str | None = None
    push: int | None = None


def _server(_call: DoorCall) -> ObjectRef:
    return SERVER


@routes.on("GET", "/connections", Op.SYNC_SYSTEMS, _server)
def list_connections(call: DoorCall) -> Any:
    """List the systems that are configured, without their addresses."""
    found = call.steward.syncs.listed(call.permit)
    render_difference = [{"name": name, "kind": at.kind, "metalakes": at.metalakes} for name, at in found]
    return wire.ok(connections=render_difference)


@routes.on("POST", "/fetch", Open.AUTHENTICATED, body=Fetch)
def fetch(call: DoorCall) -> Any:
    """Read the policies of a system as a canonical snapshot, and keep it."""
    snapshot = call.steward.syncs.fetch(call.caller, call.body.source)
    return wire.ok(snapshot=msgspec.Raw(snapshot.to_json()))


@routes.on("POST", "/diff", Open.AUTHENTICATED, body=Pair)
def diff(call: DoorCall) -> Any:
    """Say what differs between two systems, and who would gain or lose what if the target became as the source."""
    body: Pair = call.body
    found = call.steward.syncs.compare(call.caller, body.origin, body.target, body.map)
    return wire.ok(difference=render_difference(found))


@routes.on("POST", "/plan", Open.AUTHENTICATED, body=Push)
def plan(call: DoorCall) -> Any:
    """Say what a push would do, without doing any of it."""
    body: Push = call.body
    source, found = call.steward.syncs.plan(
        call.caller, body.origin, body.target, body.mode, body.map, body.options
    )
    return wire.ok(plan=_plan(body.target, source, found))


@routes.on("POST", "/push", Open.AUTHENTICATED, body=Push)
def push(call: DoorCall) -> Any:
    """Push the policies of one system to another."""
    body: Push = call.body
    done = call.steward.syncs.push(
        call.caller, body.origin, body.target, body.mode, body.map, body.options, body.plan
    )
    return wire.ok(result=_result(done))


@routes.on("POST", "/resume", Open.AUTHENTICATED, body=Resume)
def resume(call: DoorCall) -> Any:
    """Bring a push that died to its end."""
    return wire.ok(result=_result(call.steward.syncs.resume(call.caller, call.body.target)))


@routes.on("POST", "/undo", Open.AUTHENTICATED, body=Undo)
def undo(call: DoorCall) -> Any:
    """Take back the last push to a target."""
    body: Undo = call.body
    return wire.ok(result=_result(call.steward.syncs.undo(call.caller, body.target, body.push)))


@routes.on("POST", "/in-step", Open.AUTHENTICATED, body=KeepInStep)
def in_step(call: DoorCall) -> Any:
    """Take to each of two systems what only the other changed since they were last in step."""
    body: KeepInStep = call.body
    if body.source is None:
        raise IllegalArgument("only systems are kept in step", hint="name the source")
    done = call.steward.syncs.in_step(
        call.caller, body.source, body.target, body.map, body.prefer, body.options
    )
    clashes = [render_clash(clash) for clash in done.clashes]
    return wire.ok(source=_result(done.source), target=_result(done.target), clashes=clashes)


@routes.on("GET", "/pushes", Open.AUTHENTICATED, query=("target",))
def list_pushes(call: DoorCall) -> Any:
    """List the latest pushes to a target, newest first, with how far each came."""
    target = call.query.get("target")
    if not target:
        raise IllegalArgument("'target' says whose pushes are asked for", hint="add ?target=…")
    found = call.steward.syncs.pushes(call.caller, target, MOST)
    return wire.ok(
        pushes=[
            wire.present(
                {
                    "id": each.push.id,
                    "target": each.push.target,
                    "source": each.push.source,
                    "mode": each.push.mode,
                    "state": each.push.state,
                    "actor": each.push.actor,
                    "startTime": each.push.started_at,
                    "endTime": each.push.ended_at,
                    "settled": each.settled,
                    "steps": each.steps,
                }
            )
            for each in found
        ]
    )


# -- how it is said ---------------------------------------------------------------------------------------------


def _facts(facts: tuple[Fact, ...]) -> list[str]:
    return [render_fact(fact) for fact in facts]


def _losses(losses: tuple[Loss, ...]) -> list[str]:
    return [str(loss) for loss in losses]


def _change(change: Change) -> dict[str, str]:
    verb = "remove" if change.after is None else "add" if change.before is None else "replace"
    return {"change": verb, "what": render_fact(change.fact)}


def _plan(target: str, source: PolicySnapshot, plan: PushPlan) -> dict[str, Any]:
    return {
        "target": target,
        "version": source.version_id,
        "content": source.content_hash,
        "digest": plan.digest,
        "changes": [_change(change) for change in plan.changes],
        "already": len(plan.already),
        "refused": [{"what": render_fact(fact), "why": why} for fact, why in plan.refused],
        "foreign": _facts(plan.foreign),
        "losses": _losses(plan.losses),
        "gains": render_shifts(plan.gains),
        "loses": render_shifts(plan.loses),
        "unlisted": plan.unlisted,
        "open": render_open(plan.open),
    }


def _result(result: SyncResult) -> dict[str, Any]:
    return {
        "target": result.target,
        "mode": result.mode,
        "push": result.push,
        "ok": result.complete,
        "items": [
            {**_change(item.change), "outcome": item.outcome, "detail": item.detail} for item in result.items
        ],
        "losses": _losses(result.losses),
        "gains": render_shifts(result.gains),
        "loses": render_shifts(result.loses),
        "unlisted": result.unlisted,
        "notes": list(result.notes),
        "open": render_open(result.open),
    }
