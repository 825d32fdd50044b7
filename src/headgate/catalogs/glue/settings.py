"""What a catalog says of its AWS Glue: region, account, address and how to get in."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from headgate.catalogs.aws_sessions import AwsIdentity
from headgate.catalogs.openings import Openings
from headgate.model.errors import IllegalArgument
from headgate.model.secrets import Secret

_REGION: Final = re.compile(r"[a-z]{2}(-[a-z]{2,4})?-[a-z]+-\d{1,2}", re.ASCII)
_CATALOG: Final = re.compile(r"\d{12}(:[\w/-]{1,200})?", re.ASCII)
_ROLE: Final = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]{1,512}", re.ASCII)
FORMATS: Final = ("all", "hive", "iceberg", "delta", "parquet")


class GlueSettings(msgspec.Struct, frozen=True):
    """The settings of one catalog. Without keys, the server's own AWS identity is used."""

    region: str
    endpoint: str | None
    catalog_id: str | None
    identity: AwsIdentity

    @classmethod
    def of(cls, properties: Mapping[str, str], *, own_keys: bool) -> "GlueSettings":
        """What the properties say; `own_keys` if AWS's keys have names of their own, as with `provider=glue`."""
        prefix = "aws" if own_keys else "s3"
        id_key, secret_key = f"{prefix}-access-key-id", f"{prefix}-secret-access-key"
        region = properties.get("aws-region") or ("" if own_keys else properties.get("s3-region", ""))
        if not region:
            keys = "'aws-region'" if own_keys else "'s3-region' or 'aws-region'"
            raise IllegalArgument(f"the catalog has no {keys}", hint="such as us-east-1")
        for key in ("aws-region", "s3-region"):
            if properties.get(key) and not _REGION.fullmatch(properties[key]):
                raise IllegalArgument(f"property '{key}' is no AWS region", hint="such as us-east-1")
        id, secret = properties.get(id_key), properties.get(secret_key)
        for one, other, key in ((id, secret, secret_key), (secret, id, id_key)):
            if one and not other:
                raise IllegalArgument(f"the catalog has no '{key}'", hint="keys come in pairs")
        token = properties.get(f"{prefix}-session-token")
        if token and not id:
            raise IllegalArgument(
                f"property '{prefix}-session-token' is without '{id_key}'", hint="it comes with keys"
            )
        role, external = properties.get("s3-role-arn") or None, properties.get("s3-external-id") or None
        if role is not None and not _ROLE.fullmatch(role):
            raise IllegalArgument(
                "property 's3-role-arn' is no role", hint="arn:aws:iam::123456789012:role/lake"
            )
        if external is not None and role is None:
            raise IllegalArgument(
                "property 's3-external-id' is without 's3-role-arn'", hint="name the role too"
            )
        catalog = properties.get("aws-glue-catalog-id") or None
        if catalog is not None and not _CATALOG.fullmatch(catalog):
            raise IllegalArgument(
                "property 'aws-glue-catalog-id' is no catalog", hint="an account of 12 digits"
            )
        return cls(
            region,
            properties.get("aws-glue-endpoint") or None,
            catalog,
            AwsIdentity(
                region,
                Secret(id) if id else None,
                Secret(secret) if secret else None,
                Secret(token) if token else None,
                role,
                external,
                properties.get("s3-sts-endpoint") or properties.get("s3-token-service-endpoint") or None,
            ),
        )

    @property
    def address(self) -> str:
        """Where Glue is asked."""
        return self.endpoint or f"https://glue.{self.region}.{self.identity.suffix}"

    def check(self, openings: Openings) -> None:
        """Refuse hosts that the operator has not opened, AWS's own included: the server's identity may reach far there."""
        openings.check_url("property 'aws-glue-endpoint'" if self.endpoint else "the catalog", self.address)
        identity = self.identity
        if identity.role is not None or identity.sts_endpoint:
            named = "property 's3-token-service-endpoint'" if identity.sts_endpoint else "the catalog's role"
            openings.check_url(named, identity.sts_address)


def storage_properties(properties: Mapping[str, str], *, own_keys: bool) -> dict[str, str]:
    """The same for the files of tables, under the names that storage knows."""
    known = dict(properties)
    region = properties.get("s3-region") or properties.get("aws-region", "")
    if region:
        known["s3-region"] = region
    if own_keys and properties.get("aws-access-key-id"):
        known["s3-access-key-id"] = properties["aws-access-key-id"]
        known["s3-secret-access-key"] = properties.get("aws-secret-access-key", "")
        known["s3-session-token"] = properties.get("aws-session-token", "")
    return known
