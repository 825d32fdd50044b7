"""Sessions of AWS for what a catalog declares: nothing of this server's own AWS settings leads them elsewhere."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from headgate.model.extras import Extra, needs
from headgate.model.secrets import Secret

if TYPE_CHECKING:
    import boto3

_OWN: Final = {"profile": None, "config_file": os.devnull, "credentials_file": os.devnull}
"""Which profile and which files are read: none."""
ELSEWHERE: Final[dict[str, Any]] = {"ignore_configured_endpoint_urls": True, "proxies": {}}
"""For the configuration of every client: no address and no proxy of the environment."""


class AwsIdentity(msgspec.Struct, frozen=True):
    """Who a catalog asks AWS as: its own keys, a role that is assumed with these or with the server's identity, or that
    identity."""

    region: str
    key_id: Secret | None
    secret_key: Secret | None
    session_token: Secret | None
    role: str | None
    external_id: str | None
    sts_endpoint: str | None

    @property
    def suffix(self) -> str:
        return "amazonaws.com.cn" if self.region.startswith("cn-") else "amazonaws.com"

    @property
    def sts_address(self) -> str:
        """Where a role is assumed. INVARIANT: said here, so that nothing of the server's environment says another."""
        return self.sts_endpoint or f"https://sts.{self.region}.{self.suffix}"

    def session(self, config: Any, bounded: Callable[[Any], Any]) -> "boto3.session.Session":
        """A session; `config` and `bounded` are for the client of STS that it may need."""
        with needs(Extra.AWS):
            from botocore.credentials import DeferredRefreshableCredentials

        base = aws_session(self.region, self.key_id, self.secret_key, self.session_token)
        if self.role is None:
            return base

        def assumed() -> dict[str, str]:
            sts = base.client("sts", region_name=self.region, endpoint_url=self.sts_address, config=config)
            external = {"ExternalId": self.external_id} if self.external_id else {}
            answer = bounded(sts).assume_role(RoleArn=self.role, RoleSessionName="headgate", **external)
            got = answer["Credentials"]
            return {
                "access_key": got["AccessKeyId"],
                "secret_key": got["SecretAccessKey"],
                "token": got["SessionToken"],
                "expiry_time": got["Expiration"].isoformat(),
            }

        return session_of(DeferredRefreshableCredentials(assumed, "assume-role"), self.region)


def aws_session(
    region: str, key_id: Secret | None, secret_key: Secret | None, token: Secret | None
) -> "boto3.session.Session":
    """A session with the keys of a catalog, or else with the identity of this server."""
    with needs(Extra.AWS):
        import boto3
        from botocore.credentials import Credentials

    if key_id is None or secret_key is None:
        # Who this server is may well be said by its profile and its environment. Where it goes then is not.
        return session_of(boto3.session.Session(region_name=region).get_credentials(), region)
    return session_of(
        Credentials(key_id.hidden, secret_key.hidden, None if token is None else token.hidden), region
    )


def session_of(credentials: Any, region: str) -> "boto3.session.Session":
    """A session that knows credentials and a region, and nothing else."""
    with needs(Extra.AWS):
        import boto3
        from botocore.session import Session

    core = Session()
    settings = core.get_component("config_store")
    for name, value in _OWN.items():
        settings.set_config_variable(name, value)
    core._credentials = credentials  # type: ignore[attr-defined]
    return boto3.session.Session(botocore_session=core, region_name=region)
