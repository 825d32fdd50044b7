"""Sessions of AWS for what a catalog declares: nothing of this server's own AWS settings leads them elsewhere."""

import os
from typing import TYPE_CHECKING, Any, Final

from headgate.model.secrets import Secret

if TYPE_CHECKING:
    import boto3

_OWN: Final = {"profile": None, "config_file": os.devnull, "credentials_file": os.devnull}
"""Which profile and which files are read: none."""
ELSEWHERE: Final[dict[str, Any]] = {"ignore_configured_endpoint_urls": True, "proxies": {}}
"""For the configuration of every client: no address and no proxy of the environment."""


def aws_session(
    region: str, key_id: Secret | None, secret_key: Secret | None, token: Secret | None
) -> "boto3.session.Session":
    """A session with the keys of a catalog, or else with the identity of this server."""
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
    import boto3
    from botocore.session import Session

    core = Session()
    settings = core.get_component("config_store")
    for name, value in _OWN.items():
        settings.set_config_variable(name, value)
    core._credentials = credentials  # type: ignore[attr-defined]
    return boto3.session.Session(botocore_session=core, region_name=region)
