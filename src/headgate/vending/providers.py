"""The ways to give out credentials that Gravitino's property `credential-providers` names."""

from collections.abc import Mapping
from typing import Final

from headgate.catalogs.storage_settings import StorageSettings
from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

PROPERTY: Final = "credential-providers"
S3_TOKEN: Final = "s3-token"  # noqa: S105 — a word of the protocol
"""Short-lived credentials of an assumed role, with a session policy for exactly the places of one object."""
S3_SECRET_KEY: Final = "s3-secret-key"  # noqa: S105 — a word of the protocol


def names_s3_token(text: str | None) -> bool:
    """Whether a list of providers names the one that is built."""
    return S3_TOKEN in _listed(text or "")


def check_providers(text: str, catalog: Mapping[str, str]) -> None:
    """Refuse providers that are not built, or that the settings of the catalog leave without anything to give.

    INVARIANT: the key of a catalog is given to nobody. It opens all that the catalog's owner can open, for ever: no
    grant, lens, expiry or revocation would hold for who once had it.
    """
    for name in _listed(text):
        if name == S3_SECRET_KEY:
            raise IllegalArgument(
                f"'{PROPERTY}' cannot be {S3_SECRET_KEY}: the catalog's key opens all of its storage, for ever",
                hint=f"use {S3_TOKEN} with s3-role-arn, which gives keys for one table or fileset and a short time",
            )
        if name != S3_TOKEN:
            raise IllegalArgument(f"'{PROPERTY}' cannot be '{clip(name)}' here", hint=f"use {S3_TOKEN}")
    if names_s3_token(text) and StorageSettings.of(catalog).role is None:
        raise IllegalArgument(
            f"'{PROPERTY}' {S3_TOKEN} needs a role to assume", hint="set s3-role-arn on the catalog"
        )


def _listed(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip().lower())]
