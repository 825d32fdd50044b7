"""Who is calling: the schemes that turn headers into an identity. Without a proof there is no identity.

One module per scheme: tokens of trusted issuers (`oidc`, with their keys in `keys`), Headgate's own tokens (`own`) and
Gravitino's `simple`, for development. Comes in: the request's headers and address. Goes out: an identity or a refusal.
"""

from headgate.doors.authentication.schemes import Authentication, Proven, Scheme, checked_user
from headgate.doors.authentication.simple import SimpleScheme, anonymous

__all__ = ["Authentication", "Proven", "Scheme", "SimpleScheme", "anonymous", "checked_user"]
