"""The Iceberg door: a REST catalog for every engine that speaks Iceberg's protocol.

One module per part of the specification. Names are translated here; everything else is the steward's.
"""

from headgate.doors.iceberg.door import IcebergDoor

__all__ = ["IcebergDoor"]
