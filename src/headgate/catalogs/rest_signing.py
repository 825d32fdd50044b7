"""AWS's signatures on requests to an Iceberg REST catalog, which AWS Glue's and S3 Tables' own endpoints ask for."""

import re
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final

import httpx

from headgate.catalogs.aws_sessions import ELSEWHERE, AwsIdentity
from headgate.catalogs.openings import Openings
from headgate.catalogs.storage_settings import StorageSettings
from headgate.model.errors import ConnectionFailed, IllegalArgument
from headgate.model.extras import Extra, needs, require

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

ENABLED: Final = "rest.sigv4-enabled"
NAME: Final = "rest.signing-name"
REGION: Final = "rest.signing-region"
SIGNING: Final = (NAME, REGION, ENABLED)

_DEFAULT_NAME: Final = "execute-api"
"""As Iceberg's own clients have it. Glue's endpoint is called `glue`, and that of S3 Tables `s3tables`."""
_WORD: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)
_SECONDS: Final = 10


class NotSigned(ConnectionFailed):
    """A request was not sent, because nobody could sign it."""


class RequestSigner(httpx.Auth):
    """Signs every request with the catalog's own keys, with a role that it names, or with the server's identity."""

    requires_request_body = True

    def __init__(self, identity: AwsIdentity, name: str) -> None:
        self.identity = identity
        self.name = name
        self._credentials: Any = None

    @classmethod
    def of(cls, properties: Mapping[str, str], openings: Openings) -> "RequestSigner | None":
        """What the properties say; None if requests are not to be signed."""
        if not _enabled(properties):
            for key in (NAME, REGION):
                if properties.get(key):
                    raise IllegalArgument(f"property '{key}' does nothing", hint=f"set '{ENABLED}' to true")
            return None
        require(Extra.AWS)
        for key in ("credential", "token"):
            if properties.get(key):
                raise IllegalArgument(f"property '{key}' does nothing with '{ENABLED}'", hint="remove one")
        storage = StorageSettings.of(properties)
        words = {
            NAME: properties.get(NAME) or _DEFAULT_NAME,
            REGION: properties.get(REGION) or storage.region,
        }
        for key, word in words.items():
            if not _WORD.fullmatch(word):
                raise IllegalArgument(
                    f"property '{key}' is no name of AWS", hint="such as glue, or us-east-1"
                )
        sts = properties.get("s3-sts-endpoint") or properties.get("s3-token-service-endpoint")
        identity = AwsIdentity(
            words[REGION],
            storage.key_id,
            storage.secret_key,
            storage.session_token,
            storage.role,
            storage.external_id,
            sts or None,
        )
        if identity.role is not None:
            openings.check_url("the catalog's role", identity.sts_address)
        return cls(identity, words[NAME])

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        with needs(Extra.AWS):
            from botocore.auth import SigV4Auth
            from botocore.awsrequest import AWSRequest

        # Only these are signed: others may be changed on the way.
        signed = {key: request.headers[key] for key in ("content-type", "host") if key in request.headers}
        asked = AWSRequest(method=request.method, url=str(request.url), data=request.content, headers=signed)
        SigV4Auth(self._keys(), self.name, self.identity.region).add_auth(asked)
        request.headers.update(dict(asked.headers.items()))
        yield request

    def _keys(self) -> "ReadOnlyCredentials":
        """The keys of today. INVARIANT: nothing of what AWS says is repeated: its words name accounts and roles."""
        with needs(Extra.AWS):
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError, ClientError

        try:
            if self._credentials is None:
                quick = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, **ELSEWHERE)
                self._credentials = self.identity.session(quick, lambda client: client).get_credentials()
            if self._credentials is None:
                raise NotSigned("the catalog has no keys to sign with", hint="set 's3-access-key-id'")
            keys: ReadOnlyCredentials = self._credentials.get_frozen_credentials()
            return keys
        except (BotoCoreError, ClientError) as error:
            raise NotSigned("the catalog has no keys to sign with", hint=type(error).__name__) from None


def _enabled(properties: Mapping[str, str]) -> bool:
    word = properties.get(ENABLED, "false").lower()
    if word not in ("true", "false"):
        raise IllegalArgument(f"property '{ENABLED}' must be true or false")
    return word == "true"
