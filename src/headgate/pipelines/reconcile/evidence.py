"""The audit trail as evidence: what each principal was given, from when to when, which plans were made, what engines reported."""

import base64
import datetime as dt
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from headgate.catalogs.locations import normal
from headgate.planning.fingerprints import BYTES, fingerprints

Event = Mapping[str, Any]

_PLACES: Final = ("given", "vended", "places")
"""What an event may say was given: a view's folder, the folders of a credential, the files of a signed request."""
_NO_PLAN: Final = frozenset({"task", "vended", "signed", "signs"})
"""What marks an event that is a part of a plan, or comes with one."""
_PLAN: Final = "plan:"


class SignedRead(msgspec.Struct, frozen=True):
    """Files that requests were signed for under a plan, which `signer` stands for, with keys that sign for nothing else."""

    user: str
    object: str
    at: dt.datetime
    signer: str
    keys: tuple[str, ...]
    places: tuple[str, ...]


class Terms(msgspec.Struct, frozen=True):
    """How evidence is read: from when on, how long a plan covers reads, and how far clocks may be apart."""

    since: dt.datetime
    window: dt.timedelta = dt.timedelta(hours=12)
    skew: dt.timedelta = dt.timedelta(minutes=2)


class GivenAccess(msgspec.Struct, frozen=True):
    """A folder, a file, or the originals of a view, that a user was given for a time."""

    user: str
    object: str
    place: str | None
    view: str | None
    start: dt.datetime
    end: dt.datetime


class PlannedRead(msgspec.Struct, frozen=True):
    """A plan that named files."""

    id: int
    user: str
    object: str
    at: dt.datetime
    files: int


class Reported(msgspec.Struct, frozen=True):
    """A scan that an engine says it did."""

    user: str
    object: str
    at: dt.datetime
    snapshot: int | None


class LostAccess(msgspec.Struct, frozen=True):
    """From when to when someone could not read a table any more; `until` is None if they still cannot."""

    user: str
    object: str
    at: dt.datetime
    until: dt.datetime | None = None


class Evidence(msgspec.Struct, frozen=True):
    """All that is known of what principals were given.

    `folders` are those of tables; `keys` whose an access key is, by its print; `plans` the files of the plan that an
    access key was given for, or that were signed for with it under plans, by its print; `prints` the fingerprints of the files of plans, by what `given` calls them.
    """

    given: tuple[GivenAccess, ...]
    planned: tuple[PlannedRead, ...]
    reported: tuple[Reported, ...]
    folders: Mapping[str, str]
    users: frozenset[str]
    keys: Mapping[str, str]
    plans: Mapping[str, tuple[str, ...]] = {}
    prints: Mapping[str, bytes] = {}

    @property
    def views(self) -> frozenset[str]:
        """The views whose originals were given."""
        return frozenset(
            given.view for given in self.given if given.view is not None and given.view not in self.prints
        )


def moment(text: str) -> dt.datetime:
    """A time as the store writes it."""
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC)


def gather(events: Iterable[Event], users: Iterable[str], terms: Terms) -> Evidence:
    """Read the events of loads and plans that were allowed.

    A reader who loads a table that they see whole is given its folders: an engine that plans by itself may read any file
    there. A restricted reader is given the folder of their copies, and the originals that readers with that copy id are
    given. A plan gives its own files, as far as the audit names them. A large plan gives what a load would give. A request
    that was signed under a plan gives the file that it is for, if that is one of the plan's.
    """
    spans: dict[tuple[str, str, str | None, str | None], list[dt.datetime]] = {}
    planned: list[PlannedRead] = []
    reported: list[Reported] = []
    folders: dict[str, str] = {}
    keys: dict[str, str] = {}
    plans: dict[str, tuple[str, ...]] = {}
    prints: dict[str, bytes] = {}
    signed: list[SignedRead] = []
    signers: dict[str, str] = {}
    known = set(users)
    for event in (each for each in events if each["allowed"] and each.get("type") == "table"):
        user, table, details = event["user"], event["object"], event["details"]
        at = moment(event["at"])
        known.add(user)
        if details.get("report"):
            if details["report"] == "scan-report":
                reported.append(Reported(user, table, at, (details.get("told") or {}).get("snapshot")))
            continue
        own = [normal(folder).rstrip("/") for folder in details.get("folders") or ()]
        folders.update((folder, table) for folder in own)
        keys.update((key, user) for key in details.get("keys") or ())
        if details.get("scope") == "plan":
            named = tuple(normal(place) for place in details.get("vended") or ())
            plans.update((key, named) for key in details.get("keys") or ())
        if details.get("planned") is not None:
            data = base64.b64decode(details["planned"])
            name = _PLAN + hashlib.sha256(data).hexdigest()
            prints[name] = data
            if details.get("signer"):
                signers[details["signer"]] = name
            spans.setdefault((user, table, None, name), []).append(at)
            if details.get("files"):
                planned.append(PlannedRead(event["id"], user, table, at, details["files"]))
            continue
        if "signed" in details and details.get("signer"):
            signed.append(_signed_read(user, table, at, details))
            continue
        for place, view in _places_of(details, own):
            spans.setdefault((user, table, place, view), []).append(at)
        if event["action"] == "read_table" and details.get("files") and details.keys().isdisjoint(_NO_PLAN):
            planned.append(PlannedRead(event["id"], user, table, at, details["files"]))
    by_key: dict[str, set[str]] = {}
    for read in signed:
        for file in _of_plan(read.places, prints.get(signers.get(read.signer, ""))):
            spans.setdefault((read.user, read.object, file, None), []).append(read.at)
            for key in read.keys:
                by_key.setdefault(key, set()).add(file)
    plans.update((key, tuple(sorted(by_key.get(key, ())))) for read in signed for key in read.keys)
    given = _in_spans(spans, terms)
    return Evidence(given, tuple(planned), tuple(reported), folders, frozenset(known), keys, plans, prints)


def _in_spans(
    spans: Mapping[tuple[str, str, str | None, str | None], Sequence[dt.datetime]], terms: Terms
) -> tuple[GivenAccess, ...]:
    """What was given at these moments, for as long as it holds."""
    return tuple(
        GivenAccess(*reader, start - terms.skew, end + terms.skew)
        for reader, times in spans.items()
        for start, end in _merged(sorted(times), terms.window)
    )


def _signed_read(user: str, table: str, at: dt.datetime, details: Mapping[str, Any]) -> SignedRead:
    places = tuple(normal(place) for place in details.get("places") or ())
    return SignedRead(user, table, at, details["signer"], tuple(details.get("keys") or ()), places)


def _places_of(details: Mapping[str, Any], own: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """The places that an event says were given, and the view whose folder was."""
    # A trusted engine is given the table itself.
    view = None if details.get("delegated") else details.get("view")
    more = [normal(place).rstrip("/") for key in _PLACES for place in details.get(key) or ()]
    for place in (*more, *(own if view is None else ())):
        yield place, None
    if view is not None:
        yield None, view


def _of_plan(files: Sequence[str], plan: bytes | None) -> tuple[str, ...]:
    """Those of the files that a plan names; all of them if it is too large for the audit trail to name its files."""
    if plan is None:
        return tuple(files)
    named = {plan[at : at + BYTES] for at in range(0, len(plan), BYTES)}
    return tuple(file for file in files if fingerprints([file]) in named)


def _merged(times: Sequence[dt.datetime], window: dt.timedelta) -> list[tuple[dt.datetime, dt.datetime]]:
    """The spans that moments cover, each for a while: a dashboard's thousand loads are one span."""
    spans: list[tuple[dt.datetime, dt.datetime]] = []
    for at in times:
        if spans and at <= spans[-1][1]:
            spans[-1] = spans[-1][0], at + window
        else:
            spans.append((at, at + window))
    return spans
