"""Two objects with one place, from before there was a registry: the younger is refused until somebody decides."""

from headgate.steward.doctor.finding import DoctorFinding
from headgate.store import Read, Store, dropped, places
from headgate.store.metadata.places import PlaceRecord


def overlaps(store: Store) -> list[DoctorFinding]:
    """Name both objects of every place that two of them have."""
    with store.read() as read:
        return [_finding(read, younger, older) for younger, older in places.contested(read)]


def _finding(read: Read, younger: PlaceRecord, older: PlaceRecord) -> DoctorFinding:
    if older.object == older.catalog:
        # A catalog keeps its own places for ever.
        decide = ""
    elif older.state == places.DROPPED:
        decide = (
            f", or if nothing of the older is in the way any more: headgate doctor --release {older.object}"
        )
    else:
        decide = ", or drop the older with purge"
    return DoctorFinding(
        "places",
        f"{_name(read, younger)} lies in {younger.place}, which overlaps {older.place} of {_name(read, older)}",
        f"{_name(read, younger)} is refused: drop it{decide}",
    )


def _name(read: Read, place: PlaceRecord) -> str:
    name = dropped.name_of(read, place.object)
    return f"{name} (object {place.object}{', dropped' if place.state == places.DROPPED else ''})"
