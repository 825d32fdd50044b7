"""Calls to AWS through boto3 clients: paged lists, the service's own errors, and waits when it is too busy."""

from collections.abc import Mapping
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from headgate.model.errors import ConnectionFailed, HeadgateError
from headgate.sync.transport.pacing import Busy, Pacing

_BUSY: Final = frozenset(
    {
        "ConcurrentModificationException", "OperationTimeoutException", "InternalServiceException",
        "Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException",
        "RequestLimitExceeded", "ServiceUnavailable",
    }
)  # fmt: skip


class AwsError(HeadgateError):
    """What a service refused, in its own words."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}", about="sync")
        self.code = code

    @classmethod
    def of(cls, detail: Mapping[str, Any]) -> "AwsError":
        code = detail.get("Code") or detail.get("ErrorCode") or "Unknown"
        return cls(str(code), str(detail.get("Message") or detail.get("ErrorMessage") or ""))

    @property
    def busy(self) -> bool:
        return self.code in _BUSY


class Aws:
    """The clients of one account and region by service name."""

    def __init__(self, clients: Mapping[str, Any], pacing: Pacing | None = None) -> None:
        self.clients = clients
        self.pacing = pacing or Pacing()

    @classmethod
    def of(cls, session: boto3.Session, pacing: Pacing | None = None, endpoint: str | None = None) -> "Aws":
        """The clients of a session, at the usual address or at one endpoint for all."""
        # One place waits and asks again; two of them would multiply.
        config = Config(retries={"total_max_attempts": 1})
        services = ("lakeformation", "glue", "iam")
        made: Any = session.client
        return cls({name: made(name, config=config, endpoint_url=endpoint) for name in services}, pacing)

    def __call__(self, service: str, operation: str, **arguments: Any) -> Any:
        return self.pacing(lambda: self.once(service, operation, **arguments))

    def once(self, service: str, operation: str, **arguments: Any) -> Any:
        """One request. Busy, if the service asks for patience."""
        try:
            return getattr(self.clients[service], operation)(**arguments)
        except ClientError as error:
            refusal = AwsError.of(error.response.get("Error", {}))
            if refusal.busy or error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") in (429, 503):
                raise Busy(str(refusal)) from error
            raise refusal from error
        except BotoCoreError as error:
            raise ConnectionFailed(f"{service} cannot be asked", hint=str(error), about="sync") from error

    def all(
        self,
        service: str,
        operation: str,
        field: str,
        *,
        token: tuple[str, str] = ("NextToken", "NextToken"),
        **arguments: Any,
    ) -> list[Any]:
        """A whole list, page by page. A page may be empty and still not be the last."""
        found: list[Any] = []
        more: dict[str, str] = {}
        while True:
            answer = self(service, operation, **arguments, **more)
            found += answer.get(field) or []
            if not answer.get(token[1]):
                return found
            more = {token[0]: answer[token[1]]}
