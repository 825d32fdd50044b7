"""Properties that were accepted before they were refused: Gravitino gives them a meaning, and nothing here reads them."""

from headgate.catalogs.registry import kind_of
from headgate.model.objects import ObjectType, clip
from headgate.model.properties import DEFINED
from headgate.model.records import ObjectRecord
from headgate.steward.doctor.finding import DoctorFinding
from headgate.store import Read, Store, dropped, objects


def unread(store: Store) -> list[DoctorFinding]:
    """Name every object with such a property."""
    with store.read() as read:
        return [
            _finding(read, record, keys)
            for record in objects.with_properties(read)
            if (defined := DEFINED.get(_kind(read, record)))
            and (keys := defined.unread_in(record.properties))
        ]


def _kind(read: Read, record: ObjectRecord) -> str:
    if record.type is ObjectType.CATALOG:
        return kind_of(record.body["provider"], record.properties)
    if record.type is not ObjectType.SCHEMA:
        return record.type.value
    above = record
    while above.type is ObjectType.SCHEMA:
        above = objects.present(read, above.parent)
    return f"{above.body['type']} schema"


def _finding(read: Read, record: ObjectRecord, keys: list[str]) -> DoctorFinding:
    named = f"{record.type} {dropped.name_of(read, record.id)}"
    listed = ", ".join(f"'{clip(key)}'" for key in keys)
    return DoctorFinding(
        "properties",
        f"{named} has properties that nothing reads: {listed}",
        "what they promise is not done: remove them from the object",
    )
