"""Catalogs that cannot be used: the same test that each passed when it was declared."""

from headgate.catalogs.openings import Openings
from headgate.catalogs.registry import Registry
from headgate.model.errors import HeadgateError
from headgate.model.objects import ObjectType
from headgate.steward.doctor.finding import DoctorFinding
from headgate.steward.metadata.catalogs import definition_of
from headgate.store import Store, dropped, objects


def storage(store: Store, warehouse: str, openings: Openings) -> list[DoctorFinding]:
    """Test every catalog in use; those that do not answer, or whose storage cannot be written, are named."""
    with store.read() as read:
        found = [
            (dropped.name_of(read, record.id), record) for record in objects.in_use(read, ObjectType.CATALOG)
        ]
    registry = Registry(store, warehouse, openings)
    findings = []
    try:
        for name, record in found:
            try:
                registry.open(definition_of(record)).test()
            except HeadgateError as error:
                reason = f"{error.message} ({error.hint})" if error.hint else error.message
                findings.append(
                    DoctorFinding(
                        "storage",
                        f"catalog {name} does not work: {reason}",
                        "correct its properties by 'headgate catalog update', or see that the system behind it runs",
                    )
                )
    finally:
        registry.close()
    return findings
