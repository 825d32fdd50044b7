"""Storage credentials and request signatures, no wider than what their holder may see.

Comes in: a catalog's storage settings and a scope (folders and files of S3, decided above). Goes out: short-lived
credentials whose session policy names exactly these, or the signature of one request that was checked key by key. Knows
S3 and STS; nothing of principals, tables or HTTP servers.
"""

from headgate.catalogs.storage_settings import StorageSettings
from headgate.vending.credentials import StorageCredential, prefixes
from headgate.vending.errors import NoVending, TooManyFiles, Unscopable
from headgate.vending.requests import Signed, SignRequest
from headgate.vending.scope import LocationAccess, Scope
from headgate.vending.vendor import Vendor, Vendors

__all__ = [
    "LocationAccess",
    "NoVending",
    "Scope",
    "SignRequest",
    "Signed",
    "StorageCredential",
    "StorageSettings",
    "TooManyFiles",
    "Unscopable",
    "Vendor",
    "Vendors",
    "prefixes",
]
