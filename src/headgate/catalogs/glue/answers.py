"""How answers of AWS are read: no further than they may be kept, and no longer than they may take."""

import os
import re
import time
from typing import Any, Final

import botocore.exceptions as boto
from botocore.httpsession import URLLib3Session
from urllib3.exceptions import HTTPError

from headgate.catalogs.openings import RAISE_LARGEST
from headgate.catalogs.outside.line import NoAnswer
from headgate.model.errors import Damaged

CONNECTING: Final = 3
READING: Final = 8
MOST_OPEN: Final = 16
_PART: Final = 64 * 1024
_HALF: Final = re.compile("[\ud800-\udfff]")
_LONGEST: Final = 60.0
"""Seconds that an answer may take from its first byte to its last."""


class BoundedAnswers:
    """Sends the requests of boto's clients, which by themselves read whatever comes, to its end."""

    def __init__(self, named: str, largest: int) -> None:
        self.named = named
        self.largest = largest
        # Whom this server trusts is its operator's to say. A proxy would lead where nobody looked.
        trusted = os.environ.get("AWS_CA_BUNDLE") or os.environ.get("REQUESTS_CA_BUNDLE") or True
        self._http = URLLib3Session(
            verify=trusted,  # type: ignore[arg-type]
            timeout=(CONNECTING, READING),  # type: ignore[arg-type]
            max_pool_connections=MOST_OPEN,
            proxies={},
        )

    def close(self) -> None:
        self._http.close()

    def of(self, client: Any) -> Any:
        """The client, its answers bounded."""
        client.meta.events.register("before-send", self._send)
        return client

    def _send(self, request: Any, **_: Any) -> Any:
        request.stream_output = True
        answer: Any = self._http.send(request)
        try:
            # Where boto keeps what it has read: nothing is left for it to read.
            answer._content = self._read(answer.raw)
        except (HTTPError, OSError) as error:
            raise boto.HTTPClientError(error=error) from None
        finally:
            answer.raw.close()
        return answer

    def _read(self, raw: Any) -> bytes:
        data, ends = bytearray(), time.monotonic() + _LONGEST
        # What has come, without waiting until a part is full.
        while part := raw.read1(_PART):
            data += part
            if len(data) > self.largest:
                size = self.largest // (1024 * 1024)
                raise Damaged(f"an answer of {self.named} is larger than {size} MiB", hint=RAISE_LARGEST)
            if time.monotonic() > ends:
                raise NoAnswer(f"an answer of {self.named} does not come to an end")
        return bytes(data)


def fits(value: Any, shape: Any) -> bool:
    """Whether an answer has the types that AWS's own description of it names: boto takes texts and numbers as they come."""
    match shape.type_name:
        case "structure":
            known = shape.members
            return isinstance(value, dict) and all(
                fits(value[k], known[k]) for k in value.keys() & known.keys()
            )
        case "list":
            return isinstance(value, list) and all(fits(each, shape.member) for each in value)
        case "map":
            return isinstance(value, dict) and all(
                fits(k, shape.key) and fits(each, shape.value) for k, each in value.items()
            )
        case "string":
            return isinstance(value, str) and _is_text(value)
        case "integer" | "long":
            return isinstance(value, int)
        case _:
            return True


def _is_text(value: str) -> bool:
    """Whether a text can be said again: JSON has words for half of a character, and no answer or store can hold it."""
    return value.isascii() or not _HALF.search(value)
