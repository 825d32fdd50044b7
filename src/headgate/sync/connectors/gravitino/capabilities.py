"""What a Gravitino server can hold: what Headgate can, without its rows and masks."""

from typing import Final

import msgspec

from headgate.model.objects import OWNABLE, ObjectType
from headgate.sync.connectors.headgate.capabilities import CAPABILITIES as HEADGATE

_T = ObjectType

_OWNED: Final = OWNABLE - {_T.ROLE, _T.TAG, _T.POLICY, _T.JOB, _T.JOB_TEMPLATE}

CAPABILITIES: Final = msgspec.structs.replace(
    HEADGATE,
    system="gravitino",
    memberships=False,
    rows=False,
    masks=False,
    rules_stay=False,
    dialect=None,
    owners=_OWNED,
    versions=False,
)
