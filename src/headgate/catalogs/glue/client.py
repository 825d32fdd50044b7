"""A client of AWS Glue: credentials, time limits, pages, and its errors in the words of the house."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import botocore.exceptions as boto
from botocore.config import Config

from headgate.catalogs.aws_sessions import ELSEWHERE
from headgate.catalogs.glue.answers import CONNECTING, MOST_OPEN, READING, BoundedAnswers, fits
from headgate.catalogs.glue.settings import GlueSettings
from headgate.catalogs.outside import pages
from headgate.catalogs.outside.line import Line
from headgate.model import errors as e
from headgate.model.objects import ObjectType, clip

Json = dict[str, Any]

_MOST_EMPTY: Final = 1_000
"""Pages without any name, one after the other: AWS leaves out what the caller may not see, page by page."""
_QUICK: Final = Config(
    connect_timeout=CONNECTING,
    read_timeout=READING,
    retries={"total_max_attempts": 4, "mode": "standard"},
    max_pool_connections=MOST_OPEN,
    **ELSEWHERE,
)
_SILENT: Final = (boto.ConnectionError, boto.HTTPClientError)
_THROTTLED: Final = ("Throttling", "TooManyRequests", "RequestLimitExceeded", "ProvisionedThroughput")
_CREDENTIALS: Final = (
    "AccessDenied",
    "ExpiredToken",
    "InvalidClientTokenId",
    "InvalidSignature",
    "SignatureDoesNotMatch",
    "UnrecognizedClient",
    "MissingAuthentication",
    "IncompleteSignature",
)


class GlueClient:
    """Speaks to one account's Glue. Its secrets stay in here."""

    def __init__(self, settings: GlueSettings, catalog: str, largest: int) -> None:
        self.settings = settings
        self.line = Line("AWS Glue", catalog)
        self.answers = BoundedAnswers(self.line.named, largest)
        self._lock = threading.Lock()
        self._client: Any = None

    def __repr__(self) -> str:
        return f"GlueClient({self.settings.address!r})"

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None
            self.answers.close()

    def ask(self, operation: str, about: ObjectType, named: str, **arguments: Any) -> Json:
        """One call; `about` and `named` say what is missing or there already, if it is."""
        with self.line.ask(), self._translated(about, named):
            client = self._open()
            answer: Json = getattr(client, operation)(**self._with_catalog(arguments))
            known = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[operation])
            if known.output_shape is not None and not fits(answer, known.output_shape):
                raise self._no_answer("types")
            return answer

    def named(self, found: Json | None) -> Json:
        """A database or a table of an answer, if it is one: with a name."""
        if not found or not found.get("Name"):
            raise self._no_answer("names")
        return found

    def _no_answer(self, why: str) -> e.Damaged:
        return e.Damaged(f"{self.line.named} answers otherwise than AWS does", hint=why)

    def every(self, operation: str, key: str, about: ObjectType, named: str, **arguments: Any) -> list[Json]:
        """All pages of a list."""

        def page(token: str) -> tuple[list[Json], str | None]:
            more = {"NextToken": token} if token else {}
            answer = self.ask(operation, about, named, **arguments, **more)
            return answer.get(key) or [], answer.get("NextToken") or None

        return pages.every(page, self.line.named, self.answers.largest, most_empty=_MOST_EMPTY)

    def _with_catalog(self, arguments: Json) -> Json:
        return {**({"CatalogId": self.settings.catalog_id} if self.settings.catalog_id else {}), **arguments}

    def _open(self) -> Any:
        with self._lock:
            if self._client is None:
                client = self.settings.identity.session(_QUICK, self.answers.of).client(
                    "glue",
                    region_name=self.settings.region,
                    endpoint_url=self.settings.address,
                    config=_QUICK,
                )
                self._client = self.answers.of(client)
            return self._client

    @contextmanager
    def _translated(self, about: ObjectType, named: str) -> Iterator[None]:
        """INVARIANT: nothing of what AWS says is repeated: its words name accounts, roles and resources."""
        try:
            yield
        except _SILENT as error:
            raise self.line.silent(type(error).__name__) from None
        except boto.ClientError as error:
            raise self._error(str(error.response.get("Error", {}).get("Code", "")), about, named) from None
        except boto.ParamValidationError:
            raise e.IllegalArgument(f"AWS Glue cannot keep '{clip(named)}' like this") from None
        except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            # Its answer has another shape than those of AWS, for which boto has no error.
            raise self._no_answer(type(error).__name__) from None
        except boto.BotoCoreError as error:
            raise e.ConnectionFailed(
                f"{self.line.named} cannot be asked", hint=type(error).__name__
            ) from None

    def _error(self, code: str, about: ObjectType, named: str) -> e.HeadgateError:
        code = code.rpartition("#")[2]
        if code == "EntityNotFoundException":
            return e.NotFound(f"{about} '{clip(named)}' does not exist", about=about)
        if code == "AlreadyExistsException":
            return e.AlreadyExists(f"{about} '{clip(named)}' already exists", about=about)
        if code in ("ConcurrentModificationException", "VersionMismatchException"):
            return e.Conflict(
                "the table was changed by somebody else", hint="refresh it and commit again", about="commit"
            )
        if code in ("InvalidInputException", "ValidationException", "ResourceNumberLimitExceededException"):
            return e.IllegalArgument(f"AWS Glue refuses '{clip(named)}'", hint=code)
        if code.startswith(_THROTTLED):
            return e.ConnectionFailed(f"{self.line.named} has too much to do", hint="ask again later")
        if code.startswith(_CREDENTIALS):
            return e.ConnectionFailed(
                f"{self.line.named} refuses the credentials that it was declared with", hint=code
            )
        return e.ConnectionFailed(f"{self.line.named} failed to answer", hint=clip(code, 60))
