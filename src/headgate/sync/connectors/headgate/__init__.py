"""Headgate itself: one metalake of this server's store."""

from headgate.sync.connectors.headgate.capabilities import CAPABILITIES
from headgate.sync.systems import SystemKind, SystemRecord

SYSTEM = SystemRecord(
    title="Headgate",
    kinds=(SystemKind(kind="headgate", capabilities=CAPABILITIES, open=None),),
    address="headgate:NAME",
    options=(),
    local=True,
)
